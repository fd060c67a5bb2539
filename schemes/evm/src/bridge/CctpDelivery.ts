/** Evidence of a delivery by CCTP: the transmitter's event of the message, and the token's transfer of what is left of the amount. */
import { ChainUnavailable } from "@pontage/core"
import * as Effect from "effect/Effect"

import * as EvmAuthorizationSearch from "../evidence/EvmAuthorizationSearch.ts"
import * as EvmTransferEvidence from "../evidence/EvmTransferEvidence.ts"
import * as EvmRpc from "../node/EvmRpc.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import * as Eip3009 from "../transfer/Eip3009.ts"
import * as CctpCalls from "./CctpCalls.ts"
import type { CctpMessage } from "./CctpMessage.ts"
import type { CrossingEnd } from "./CrossingEnd.ts"
import { type Arrival, clockSkew } from "./DeliveryEvidence.ts"
import * as OftCalls from "./OftCalls.ts"

type Place = Pick<CrossingEnd, "endpoint" | "token">

/** Finds the delivery of a delivered message, in the blocks since a time (Unix seconds); a node that does not show it is `ChainUnavailable`. */
export const find = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  place: Place,
  message: CctpMessage,
  since: number
): Effect.fn.Return<Arrival, ChainUnavailable> {
  const head = yield* rpc.blockNumber
  const first = yield* EvmAuthorizationSearch.blockBefore(rpc, BigInt(Math.max(since - clockSkew, 0)), head)
  const filter: EvmRpc.LogFilter = { address: place.endpoint, topics: [CctpCalls.receivedTopic, null, message.nonce] }
  const [log] = yield* rpc.getLogs(filter, { fromBlock: first, toBlock: head })
  if (log === undefined) {
    const text = `the transmitter of ${rpc.network} has delivered the message ${message.nonce}, and no event shows by which transaction`
    return yield* new ChainUnavailable({ network: rpc.network, message: text })
  }
  const receipt = yield* EvmTransferEvidence.canonicalReceipt(rpc, log.transactionHash)
  const arrival = receipt && arrivalIn(receipt, place, message)
  return arrival ?? (yield* EvmRpc.unknownBlock(rpc, log.blockNumber))
})

/** The delivery of a message that a receipt shows. */
export const arrivalIn = (
  { blockHash, blockNumber, from, logs, transactionHash }: EvmRpc.Receipt,
  { endpoint, token }: Place,
  { amount, fee, nonce, recipient }: CctpMessage
): Arrival | undefined => {
  const isReceived = logs.some(
    ({ address, topics }) => address === endpoint && topics[0] === CctpCalls.receivedTopic && topics[2] === nonce
  )
  const arrived = amount - fee
  const isPaid = logs.some(
    ({ address, data, topics }) =>
      address === token &&
      topics[0] === Eip3009.transferTopic &&
      topics[2] === OftCalls.toWord(recipient) &&
      EvmHex.isBytes32(data) &&
      BigInt(data) === arrived
  )
  if (!isReceived || !isPaid) return undefined
  const block = { number: blockNumber, hash: blockHash }
  return { transaction: transactionHash, sender: from, block, amount: arrived }
}
