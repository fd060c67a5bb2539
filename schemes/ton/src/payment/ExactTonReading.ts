/**
 * Reads payments of `exact` on TON: what was signed, in the words all schemes share, from the signed cells alone.
 */
import { type Asset, invalid, type Payment, type PaymentRequirements, refuse } from "@pontage/core"
import * as Effect from "effect/Effect"

import type { ExactTonChain } from "../exact/ExactTonChain.ts"
import * as TonAddress from "../primitives/TonAddress.ts"
import * as TonNetwork from "../primitives/TonNetwork.ts"
import * as TonAsset from "../transfer/TonAsset.ts"
import * as ExactTon from "./ExactTon.ts"
import * as TonAuthorization from "./TonAuthorization.ts"

/** A payment as the settling half holds it: what was signed, and its token. */
export interface Held extends TonAuthorization.TonAuthorization {
  readonly master: TonAddress.Address
  readonly token: Asset
}

/** What is needed to read. */
export type Reader = Pick<
  ExactTonChain,
  "network" | "assets" | "kinds" | "maxInnerTon" | "responseDestinations" | "relayers"
>

/**
 * Reads a payment. No token is read that is not in the table, and no offer whose rest of TON would go to a stranger; the
 * binding, if there is one, is proven.
 */
export const read = Effect.fnUntraced(function* (
  reader: Reader,
  requirements: PaymentRequirements.PaymentRequirements,
  json: unknown
) {
  const payload = yield* ExactTon.decodePayload(json)
  const { master, token } = yield* tokenOf(reader, requirements)
  yield* recipientOf(reader, requirements)
  const terms = yield* termsOf(reader, requirements)
  const authorization = yield* Effect.fromResult(TonAuthorization.read(payload, terms))
  const { binding } = payload
  const { nonce, payer, request, transfer } = authorization
  if (reader.relayers.has(payer))
    return yield* invalid("malformed", "payer", `${payer} is the facilitator's own wallet`)
  if (binding !== undefined && transfer.queryId !== (yield* ExactTon.boundQueryId(binding))) {
    const message = "the transfer's query id is not the one that its challenge and salt give"
    return yield* invalid("binding_mismatch", "query_id_not_bound", message)
  }
  const payment: Payment<Held> = {
    requirements,
    payload: { ...authorization, master, token },
    authorization: {
      payer,
      payTo: transfer.to,
      asset: token.address,
      amount: transfer.amount,
      nonce,
      validAfter: 0,
      validBefore: request.validUntil,
      binding
    }
  }
  return payment
})

/**
 * Reads a payment that was taken in under earlier settings: the terms are those of its offer alone, whatever Jettons, kinds, limits
 * and relayers are configured by now.
 */
export const recall = (
  { network }: Reader,
  requirements: PaymentRequirements.PaymentRequirements,
  json: unknown
): ReturnType<typeof read> => {
  const { asset } = requirements
  const terms = ExactTon.termsOf(requirements)
  const token = asset === undefined ? undefined : TonAsset.retired(network, asset)
  return read(
    {
      network,
      assets: { find: () => token, names: () => [], of: () => [] },
      kinds: terms?.kinds ?? [],
      maxInnerTon: terms?.maxInnerTon ?? 0n,
      responseDestinations: terms?.responseDestination === undefined ? [] : [terms.responseDestination],
      relayers: new Map()
    },
    requirements,
    json
  )
}

const tokenOf = ({ assets, network }: Reader, { asset }: PaymentRequirements.PaymentRequirements) => {
  const token = asset === undefined ? undefined : assets.find(network, asset)
  const master = token && TonAddress.fromText(token.address)
  if (token !== undefined && master !== undefined) return Effect.succeed({ token, master })
  const message = `payments in ${asset ?? "an unnamed asset"} on ${network} are not settled here`
  return Effect.fail(invalid("asset_mismatch", "asset_not_settled", message))
}

const recipientOf = ({ network }: Reader, { payTo }: PaymentRequirements.PaymentRequirements) => {
  const parsed = TonAddress.parse(payTo)
  if (parsed === undefined) return Effect.fail(refuse("INVALID_RECIPIENT", "no_address", `${payTo} is no TON address`))
  return parsed.testOnly && network === TonNetwork.mainnet
    ? Effect.fail(refuse("NETWORK_MISMATCH", "test_only", `the address ${payTo} is marked for test networks`))
    : Effect.void
}

/** The offer's own terms, as far as this facilitator takes part in them. */
const termsOf = (reader: Reader, requirements: PaymentRequirements.PaymentRequirements) => {
  const terms = ExactTon.termsOf(requirements)
  if (terms === undefined) return Effect.fail(invalid("malformed", "extra", "the offer's extra is not of exact on TON"))
  const { kinds, maxInnerTon, responseDestination } = terms
  if (responseDestination !== undefined && !reader.responseDestinations.includes(responseDestination)) {
    const message = `the rest of the TON would go to ${responseDestination}, which is not this facilitator's`
    return Effect.fail(refuse("INVALID_RECIPIENT", "foreign_response_destination", message))
  }
  return Effect.succeed({
    kinds: kinds.filter((kind) => reader.kinds.includes(kind)),
    responseDestination,
    maxInnerTon: maxInnerTon < reader.maxInnerTon ? maxInnerTon : reader.maxInnerTon
  })
}
