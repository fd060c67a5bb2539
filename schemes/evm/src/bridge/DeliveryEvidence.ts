/**
 * Evidence of a delivery: the endpoint's state says that a message was delivered, and the events of the OFT and of its token show by
 * which transaction, to whom, and how much.
 */
import { ChainUnavailable, type Block } from "@pontage/core"
import * as Effect from "effect/Effect"

import * as EvmAuthorizationSearch from "../evidence/EvmAuthorizationSearch.ts"
import * as EvmTransferEvidence from "../evidence/EvmTransferEvidence.ts"
import * as EvmRpc from "../node/EvmRpc.ts"
import type * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import * as Eip3009 from "../transfer/Eip3009.ts"
import type { CrossingEnd } from "./CrossingEnd.ts"
import * as OftCalls from "./OftCalls.ts"

/** The hash of a message without an attestation. */
const noHash = `0x${"0".repeat(64)}`

/** Whether the endpoint has delivered a message by this state. */
export const isDelivered = (
  { attested, delivered }: OftCalls.MessageState,
  { nonce }: OftCalls.MessageOrigin
): boolean => attested === noHash && delivered >= nonce

/** Whether a message is attested by this state, and not delivered. */
export const isAttested = ({ attested }: OftCalls.MessageState): boolean => attested !== noHash

/** A delivery in its block. */
export interface Arrival {
  readonly transaction: EvmHex.Hex
  readonly sender: EvmAddress.Address | undefined
  readonly block: Block
  readonly amount: bigint
}

/** Seconds by which the clock of one chain may be ahead of the other's. */
export const clockSkew = 600

/** Finds the delivery of a delivered message, in the blocks since a time (Unix seconds); a node that does not show it is `ChainUnavailable`. */
export const find = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  { bridge: oft, token }: Pick<CrossingEnd, "bridge" | "token">,
  guid: EvmHex.Hex,
  since: number
): Effect.fn.Return<Arrival, ChainUnavailable> {
  const head = yield* rpc.blockNumber
  const first = yield* EvmAuthorizationSearch.blockBefore(rpc, BigInt(Math.max(since - clockSkew, 0)), head)
  const filter: EvmRpc.LogFilter = { address: oft, topics: [OftCalls.receivedTopic, guid] }
  const [log] = yield* rpc.getLogs(filter, { fromBlock: first, toBlock: head })
  if (log === undefined) {
    const message = `the endpoint of ${rpc.network} has delivered the message ${guid}, and no event shows by which transaction`
    return yield* new ChainUnavailable({ network: rpc.network, message })
  }
  const receipt = yield* EvmTransferEvidence.canonicalReceipt(rpc, log.transactionHash)
  const arrival = receipt && arrivalIn(receipt, { bridge: oft, token }, guid)
  return arrival ?? (yield* EvmRpc.unknownBlock(rpc, log.blockNumber))
})

/** The delivery of a message that a receipt shows: the OFT's event, and the token's transfer of the same amount to the recipient. */
export const arrivalIn = (
  { blockHash, blockNumber, from, logs, transactionHash }: EvmRpc.Receipt,
  { bridge: oft, token }: Pick<CrossingEnd, "bridge" | "token">,
  guid: EvmHex.Hex
): Arrival | undefined => {
  const received = logs.find(
    ({ address, topics }) => address === oft && topics[0] === OftCalls.receivedTopic && topics[1] === guid
  )
  const recipient = received?.topics[2]
  // Two words: the first chain's endpoint id, and the amount.
  if (received === undefined || recipient === undefined || received.data.length !== 2 + 128) return undefined
  const amount = BigInt(`0x${received.data.slice(66)}`)
  const isPaid = logs.some(
    ({ address, data, topics }) =>
      address === token &&
      topics[0] === Eip3009.transferTopic &&
      topics[2] === recipient &&
      EvmHex.isBytes32(data) &&
      BigInt(data) === amount
  )
  if (!isPaid) return undefined
  return { transaction: transactionHash, sender: from, block: { number: blockNumber, hash: blockHash }, amount }
}
