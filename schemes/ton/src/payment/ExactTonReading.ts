/**
 * Reads payments of `exact` on TON: the common terms of all schemes, from the signed cells alone.
 */
import { type Asset, type AssetTable, invalid, type Payment, type PaymentRequirements, refuse } from "@pontage/core"
import type { Network } from "@pontage/core/Network"
import * as Effect from "effect/Effect"

import * as TonAddress from "../primitives/TonAddress.ts"
import * as TonNetwork from "../primitives/TonNetwork.ts"
import * as TonAsset from "../transfer/TonAsset.ts"
import * as ExactTon from "./ExactTon.ts"
import * as TonAuthorization from "./TonAuthorization.ts"

/** A signed Jetton transfer, with the token that it moves: the payload of a payment at the facilitator. */
export interface SignedJettonTransfer extends TonAuthorization.TonAuthorization {
  readonly master: TonAddress.Address
  readonly token: Asset
}

/** The settings that payments are read by. */
export interface Context {
  readonly network: Network
  readonly assets: AssetTable.AssetTable
  readonly kinds: ReadonlyArray<ExactTon.Kind>
  /** The most TON that a request may hand on, in nanotons. */
  readonly maxInnerTon: bigint
  /** Accounts that the unused TON may go to. */
  readonly responseDestinations: ReadonlyArray<TonAddress.Address>
  /** The relayers by address: none of them may pay. */
  readonly relayers: ReadonlyMap<string, unknown>
}

/**
 * Reads a payment. It refuses a token that is not in the table, and an offer that would return the unused TON to a stranger;
 * it proves the binding, if the payment has one.
 */
export const read = Effect.fnUntraced(function* (
  context: Context,
  requirements: PaymentRequirements.PaymentRequirements,
  json: unknown
) {
  const payload = yield* ExactTon.decodePayload(json)
  const { master, token } = yield* tokenOf(context, requirements)
  yield* recipientOf(context, requirements)
  const terms = yield* termsOf(context, requirements)
  const authorization = yield* Effect.fromResult(TonAuthorization.read(payload, terms))
  yield* statedAsset(payload, master)
  const { binding } = payload
  const { nonce, payer, request, transfer } = authorization
  if (authorization.kind === "w5-internal" && transfer.responseTo === undefined) return yield* unreturned
  if (context.relayers.has(payer))
    return yield* invalid("malformed", "payer", `${payer} is the facilitator's own wallet`)
  if (binding !== undefined && transfer.queryId !== (yield* ExactTon.boundQueryId(binding))) {
    const message = "the transfer's query id is not the one that its challenge and salt give"
    return yield* invalid("binding_mismatch", "query_id_not_bound", message)
  }
  const payment: Payment<SignedJettonTransfer> = {
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
 * Reads a payment that was accepted under earlier settings, by the terms of its offer alone: today's Jettons, kinds, limits and
 * relayers do not matter.
 */
export const recall = (
  { network }: Pick<Context, "network">,
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

/** x402's payload names the Jetton too, which no signed cell holds. */
const statedAsset = ({ asset }: ExactTon.SignedMessage, master: TonAddress.Address) =>
  asset === undefined || TonAddress.fromText(asset) === master
    ? Effect.void
    : Effect.fail(invalid("asset_mismatch", "payload_asset", `the payload is in ${asset}, the offer asks ${master}`))

/** Without the account the TON that a transfer does not use would stay in the recipient's Jetton wallet, each time. */
const unreturned = refuse(
  "INVALID_RECIPIENT",
  "other_response_destination",
  "the unused TON would go to no account, so the payment is not relayed; name the facilitator's account in the offer: extra.responseDestination, as GET /supported states it"
)

const tokenOf = ({ assets, network }: Context, { asset }: PaymentRequirements.PaymentRequirements) => {
  const token = asset === undefined ? undefined : assets.find(network, asset)
  const master = token && TonAddress.fromText(token.address)
  if (token !== undefined && master !== undefined) return Effect.succeed({ token, master })
  const message = `payments in ${asset ?? "an unnamed asset"} on ${network} are not settled here`
  return Effect.fail(invalid("asset_mismatch", "asset_not_settled", message))
}

const recipientOf = ({ network }: Context, { payTo }: PaymentRequirements.PaymentRequirements) => {
  const parsed = TonAddress.parse(payTo)
  if (parsed === undefined)
    return Effect.fail(refuse("INVALID_RECIPIENT", "no_address", `${payTo} is not a TON address`))
  return parsed.testOnly && network === TonNetwork.mainnet
    ? Effect.fail(refuse("NETWORK_MISMATCH", "test_only", `the address ${payTo} is marked for test networks`))
    : Effect.void
}

/** The offer's terms, limited to this facilitator's. */
const termsOf = (context: Context, requirements: PaymentRequirements.PaymentRequirements) => {
  const terms = ExactTon.termsOf(requirements)
  if (terms === undefined)
    return Effect.fail(invalid("malformed", "extra", "the offer's extra is not valid for exact on TON"))
  const { kinds, maxInnerTon, obstacle, responseDestination } = terms
  if (obstacle !== undefined)
    return Effect.fail(
      invalid("unsupported_authorization", "forwarding", `the offer ${obstacle}, which is not settled here`)
    )
  if (responseDestination !== undefined && !context.responseDestinations.includes(responseDestination)) {
    const message = `the unused TON would go to ${responseDestination}, which is not this facilitator's`
    return Effect.fail(refuse("INVALID_RECIPIENT", "foreign_response_destination", message))
  }
  return Effect.succeed({
    kinds: kinds.filter((kind) => context.kinds.includes(kind)),
    responseDestination,
    maxInnerTon: maxInnerTon < context.maxInnerTon ? maxInnerTon : context.maxInnerTon
  })
}
