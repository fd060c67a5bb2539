/**
 * The state of a signed top-up, by the payer's own nodes: whether its authorization is used, by which transaction the router has sent
 * the message, and whether that message was delivered. The facilitator's record only says where to look first.
 */
import { ChainUnavailable, type PaymentRequirements, type Settlement, type TopUps } from "@pontage/core"
import * as Effect from "effect/Effect"

import * as EvmAuthorizationSearch from "../evidence/EvmAuthorizationSearch.ts"
import * as EvmTokenState from "../evidence/EvmTokenState.ts"
import * as EvmTransferEvidence from "../evidence/EvmTransferEvidence.ts"
import * as ExactEvm from "../payment/ExactEvm.ts"
import * as RouteTerms from "../payment/RouteTerms.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import * as BridgeRoute from "../route/BridgeRoute.ts"
import * as TopUpArrival from "./TopUpArrival.ts"
import type { TopUpNodes } from "./TopUpNodes.ts"

/** Seconds after its end from which an unused authorization counts as dead: a reorganised block may be followed by an earlier one. */
const deathMargin = 60n

/** Seconds that a search for the departure begins before the authorization's end. */
const searchSeconds = 600n

/** A signed top-up, read. */
interface SignedTopUp extends TopUpArrival.Departed {
  readonly expected: EvmTransferEvidence.ExpectedTransfer
}

/** Looks at both networks. `record` is the facilitator's; a record that is wrong, or none, costs a search. */
export const observe = Effect.fnUntraced(function* (
  nodes: TopUpNodes,
  record: Settlement.PaymentRecord | undefined,
  payload: unknown,
  requirements: PaymentRequirements.PaymentRequirements
): Effect.fn.Return<TopUps.TopUpObservation, ChainUnavailable> {
  const signed = yield* read(nodes, payload, requirements)
  const { authorization, expected, near } = signed
  const head = yield* near.getBlock("latest")
  if (head === undefined) return yield* TopUpArrival.silent(near, "its newest block")
  // Of that block: a node may show the head of another one of its machines.
  if (!(yield* EvmTokenState.hasEnded(near, expected, { hash: head.hash }))) {
    const isOver = head.timestamp > authorization.validBefore + deathMargin
    return isOver ? dead("its authorization ended unused") : { _tag: "Unsent" }
  }
  const receipt = yield* departure(signed, record, head.number)
  const bridged = receipt && BridgeRoute.messageIn(authorization, receipt.logs)
  if (receipt === undefined || bridged === undefined) {
    return receipt === undefined
      ? yield* TopUpArrival.silent(near, "by which transaction the authorization was used")
      : dead(`its authorization was ended by ${receipt.transactionHash}, which sends nothing over the bridge`)
  }
  return yield* TopUpArrival.find(signed, receipt, bridged.guid)
})

const dead = (reason: string): TopUps.TopUpObservation => ({ _tag: "Dead", reason })

const read = Effect.fnUntraced(function* (
  nodes: TopUpNodes,
  payload: unknown,
  { extra, network }: PaymentRequirements.PaymentRequirements
): Effect.fn.Return<SignedTopUp, ChainUnavailable> {
  const terms = RouteTerms.read(extra?.["route"])
  const wrong = (message: string) => new ChainUnavailable({ network, message })
  if (typeof terms === "string") return yield* wrong(`the ${terms} of the top-up's route is not usable`)
  const signed = yield* Effect.mapError(ExactEvm.decodeRoutedPayload(payload), ({ message }) => wrong(message))
  const [near, far] = [yield* nodes.of(network), yield* nodes.of(terms.network)]
  if (near === undefined || far === undefined) {
    return yield* wrong(`the top-up goes from ${network} to ${terms.network}; give both as nodes`)
  }
  const { authorization, route } = signed
  const expected = { token: route.token, authorization, isRouted: true }
  return { ...signed, terms, near, far, blockBefore: nodes.blockBefore, expected }
})

/** The receipt of the transaction that ended the authorization: the one that the record names if it shows it, or the one that a search finds. */
const departure = Effect.fnUntraced(function* (
  { authorization, expected, near }: SignedTopUp,
  record: Settlement.PaymentRecord | undefined,
  through: bigint
): Effect.fn.Return<EvmTransferEvidence.TimedReceipt | undefined, ChainUnavailable> {
  const named = record?.transaction.toLowerCase() ?? ""
  if (EvmHex.isBytes32(named)) {
    const receipt = yield* EvmTransferEvidence.canonicalReceipt(near, named)
    if (receipt !== undefined && BridgeRoute.messageIn(authorization, receipt.logs) !== undefined) return receipt
  }
  const earliest = Number(authorization.validBefore - searchSeconds)
  const end = yield* EvmAuthorizationSearch.fromTime(near, { expected, since: 0n }, earliest, through)
  return end && (yield* EvmTransferEvidence.canonicalReceipt(near, end.transactionHash))
})
