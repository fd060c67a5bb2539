/**
 * Inspects a payment on TON without the chain: the terms from the signed cells, and for a wallet that is not deployed yet, whose
 * key is in the request, the signature. The key of a deployed wallet is on the chain only.
 */
import { type AssetTable, type Network, type PaymentRequirements, refuse } from "@pontage/core"
import * as Effect from "effect/Effect"

import { Ed25519 } from "../crypto/Ed25519.ts"
import * as ExactTon from "../payment/ExactTon.ts"
import * as ExactTonReading from "../payment/ExactTonReading.ts"
import * as TonWallet from "../wallet/TonWallet.ts"

/** Reads a payment by the offer's own terms: a facilitator may accept fewer of them. */
export const inspect = Effect.fnUntraced(function* (
  network: Network.Network,
  assets: AssetTable.AssetTable,
  requirements: PaymentRequirements.PaymentRequirements,
  json: unknown
) {
  const offered = ExactTon.termsOf(requirements)
  const context: ExactTonReading.Context = {
    network,
    assets,
    kinds: ["w5-internal", "external"],
    maxInnerTon: offered?.maxInnerTon ?? 0n,
    responseDestinations: offered?.responseDestination === undefined ? [] : [offered.responseDestination],
    relayers: new Map()
  }
  const { authorization, payload } = yield* ExactTonReading.read(context, requirements, json)
  const wallet = payload.init && TonWallet.fromInit(payload.init, payload.payer)
  if (wallet === undefined) return authorization
  const ed25519 = yield* Ed25519
  if (ed25519.verify(wallet.publicKey, payload.request.signedHash, payload.request.signature)) return authorization
  return yield* refuse("INVALID_SIGNATURE", "not_signed", `the signature is not by the key of ${payload.payer}`)
})
