/** Evidence of a delivery by CCTP: the transmitter's event of the message, and the token's transfer of what is left of the amount. */
import { ChainUnavailable } from "@pontage/core"
import * as Effect from "effect/Effect"

import * as EvmAuthorizationSearch from "../evidence/EvmAuthorizationSearch.ts"
import * as EvmTransferEvidence from "../evidence/EvmTransferEvidence.ts"
import * as EvmRpc from "../node/EvmRpc.ts"
import type * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import * as Eip3009 from "../transfer/Eip3009.ts"
import * as CctpCalls from "./CctpCalls.ts"
import * as CctpMessage from "./CctpMessage.ts"
import type { SentMessage } from "./CctpSent.ts"
import type { CrossingEnd } from "./CrossingEnd.ts"
import { type Arrival, clockSkew } from "./DeliveryEvidence.ts"
import * as OftCalls from "./OftCalls.ts"

/** A message that the issuer has attested. */
interface Attested {
  readonly message: EvmHex.Hex
  readonly read: CctpMessage.CctpMessage
}

type Place = Pick<CrossingEnd, "endpoint" | "token">

/** Finds the delivery of a delivered message, in the blocks since a time (Unix seconds); a node that does not show it is `ChainUnavailable`. */
export const find = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  place: Place,
  message: Attested,
  since: number
): Effect.fn.Return<Arrival, ChainUnavailable> {
  const head = yield* rpc.blockNumber
  const first = yield* EvmAuthorizationSearch.blockBefore(rpc, BigInt(Math.max(since - clockSkew, 0)), head)
  const filter: EvmRpc.LogFilter = {
    address: place.endpoint,
    topics: [CctpCalls.receivedTopic, null, message.read.nonce]
  }
  const [log] = yield* rpc.getLogs(filter, { fromBlock: first, toBlock: head })
  if (log === undefined) {
    const text = `the transmitter of ${rpc.network} has delivered the message ${message.read.nonce}, and no event shows by which transaction`
    return yield* new ChainUnavailable({ network: rpc.network, message: text })
  }
  const receipt = yield* EvmTransferEvidence.canonicalReceipt(rpc, log.transactionHash)
  const arrival = receipt && arrivalIn(receipt, place, message)
  return arrival ?? (yield* EvmRpc.unknownBlock(rpc, log.blockNumber))
})

/** Characters of two words. */
const twoWords = 2 + 128

/**
 * Searches the delivery of a sent message in the blocks from `fromBlock` on; `undefined` where there is none. A message that was sent has no
 * nonce yet, so the issuer's mints to the recipient are looked at, and of those the one whose message has the same bytes. Others to the
 * recipient cost their sender as much money each.
 */
export const search = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  place: Place,
  { message, read }: Pick<SentMessage, "message" | "read">,
  fromBlock: bigint
): Effect.fn.Return<Arrival | undefined, ChainUnavailable> {
  const filter: EvmRpc.LogFilter = {
    address: read.messenger,
    topics: [CctpCalls.mintTopic, OftCalls.toWord(read.recipient), OftCalls.toWord(place.token)]
  }
  const mints = yield* rpc.getLogs(filter, { fromBlock, toBlock: yield* rpc.blockNumber })
  for (const { data, transactionHash } of mints) {
    const amount = data.length === twoWords ? BigInt(data.slice(0, 66)) : 0n
    if (amount > read.amount || amount < read.amount - read.maxFee) continue
    const receipt = yield* EvmTransferEvidence.canonicalReceipt(rpc, transactionHash)
    for (const received of receipt === undefined ? [] : CctpCalls.receivedIn(place.endpoint, receipt.logs)) {
      const delivered = CctpMessage.receivedAs(message, received)
      if (receipt !== undefined && delivered !== undefined && isPaid(receipt.logs, place.token, delivered)) {
        return arrivalOf(receipt, delivered)
      }
    }
  }
  return undefined
})

/**
 * The delivery of an attested message that a receipt shows. Its fee is the one of the event: the issuer may have attested the message again
 * with another one, and whichever comes first is delivered.
 */
const arrivalIn = (
  receipt: EvmRpc.Receipt,
  { endpoint, token }: Place,
  { message, read }: Attested
): Arrival | undefined => {
  const received = CctpCalls.receivedIn(endpoint, receipt.logs).find(({ nonce }) => nonce === read.nonce)
  const delivered = received && CctpMessage.receivedAs(message, received)
  return delivered && isPaid(receipt.logs, token, delivered) ? arrivalOf(receipt, delivered) : undefined
}

const arrivalOf = (
  { blockHash, blockNumber, from, transactionHash }: EvmRpc.Receipt,
  { amount, fee }: CctpMessage.CctpMessage
): Arrival => ({
  transaction: transactionHash,
  sender: from,
  block: { number: blockNumber, hash: blockHash },
  amount: amount - fee
})

const isPaid = (
  logs: EvmRpc.Receipt["logs"],
  token: EvmAddress.Address,
  { amount, fee, recipient }: CctpMessage.CctpMessage
): boolean =>
  logs.some(
    ({ address, data, topics }) =>
      address === token &&
      topics[0] === Eip3009.transferTopic &&
      topics[2] === OftCalls.toWord(recipient) &&
      EvmHex.isBytes32(data) &&
      BigInt(data) === amount - fee
  )
