/** The arrival of a departed top-up, by the payer's own node of the other network. */
import { ChainUnavailable, type TopUps } from "@pontage/core"
import * as Effect from "effect/Effect"

import * as CctpCalls from "../bridge/CctpCalls.ts"
import * as CctpDelivery from "../bridge/CctpDelivery.ts"
import * as CctpSent from "../bridge/CctpSent.ts"
import * as DeliveryEvidence from "../bridge/DeliveryEvidence.ts"
import * as OftCalls from "../bridge/OftCalls.ts"
import type * as EvmTransferEvidence from "../evidence/EvmTransferEvidence.ts"
import type * as EvmRpc from "../node/EvmRpc.ts"
import type * as ExactEvm from "../payment/ExactEvm.ts"
import type * as RouteTerms from "../payment/RouteTerms.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import type * as EvmHex from "../primitives/EvmHex.ts"
import type { TopUpNodes } from "./TopUpNodes.ts"

/** A top-up whose authorization is used, and both nodes. */
export interface Departed extends ExactEvm.RoutedPayload, Pick<TopUpNodes, "blockBefore"> {
  readonly terms: RouteTerms.RouteTerms
  readonly near: EvmRpc.Shape
  readonly far: EvmRpc.Shape
}

/** Looks for it; `guid` is the message's name in the router's event. */
export const find = Effect.fnUntraced(function* (
  departed: Departed,
  receipt: EvmTransferEvidence.TimedReceipt,
  guid: EvmHex.Hex
): Effect.fn.Return<TopUps.TopUpObservation, ChainUnavailable> {
  const { transactionHash } = receipt
  const found =
    departed.terms.kind === "cctp" ? yield* byCctp(departed, receipt) : yield* byOft(departed, receipt, guid)
  if (found === undefined) return { _tag: "Underway", transaction: transactionHash }
  return { _tag: "Arrived", departed: transactionHash, transaction: found.transaction, amount: found.amount }
})

/** By the state of the other network's endpoint, and the events of its token. */
const byOft = Effect.fnUntraced(function* (
  { far, near, route: { bridge, destination }, terms }: Departed,
  { logs, time, transactionHash }: EvmTransferEvidence.TimedReceipt,
  guid: EvmHex.Hex
) {
  const endpoint = yield* contractOf(near, bridge, OftCalls.getters.endpoint, "endpoint")
  const farOft = yield* contractOf(near, bridge, OftCalls.peers(destination), "peer")
  const message = OftCalls.sentIn(endpoint, guid, logs)
  if (message === undefined) return yield* silent(near, `the message of ${transactionHash}`)
  const farEndpoint = yield* contractOf(far, farOft, OftCalls.getters.endpoint, "endpoint")
  const state = yield* OftCalls.stateOf(far, farEndpoint, message, "latest")
  if (!DeliveryEvidence.isDelivered(state, message)) return undefined
  return yield* DeliveryEvidence.find(far, { bridge: farOft, token: terms.asset }, guid, time)
})

/**
 * By the events of the other network's messenger and transmitter. The issuer names a message when it attests it, and is not asked: the
 * message is known by its bytes, since no two top-ups send the same amount (`TopUpAmount`).
 */
const byCctp = Effect.fnUntraced(function* (
  { authorization, blockBefore, far, near, route, terms }: Departed,
  { logs, time, transactionHash }: EvmTransferEvidence.TimedReceipt
) {
  const transmitter = yield* contractOf(near, route.bridge, CctpCalls.getters.transmitter, "transmitter")
  const sent = CctpSent.find(transmitter, authorization, route, logs)
  if (sent === undefined) return yield* silent(near, `the message of ${transactionHash}`)
  const endpoint = yield* contractOf(far, sent.read.messenger, CctpCalls.getters.transmitter, "transmitter")
  const first = yield* blockBefore(far, Math.max(time - DeliveryEvidence.clockSkew, 0))
  return yield* CctpDelivery.search(far, { endpoint, token: terms.asset }, sent, first)
})

/** The contract that a getter of another one names. */
const contractOf = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  contract: EvmAddress.Address,
  getter: EvmHex.Hex,
  what: string
) {
  const word = yield* OftCalls.read(rpc, contract, getter)
  return word === undefined
    ? yield* silent(rpc, `the ${what} of ${EvmAddress.checksum(contract)}`)
    : EvmAddress.fromTail(word)
})

/** The failure of a node that does not show what it has to know. */
export const silent = ({ network }: EvmRpc.Shape, what: string) =>
  Effect.fail(new ChainUnavailable({ network, message: `the node of ${network} does not show ${what}` }))
