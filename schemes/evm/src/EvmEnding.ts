/**
 * How authorizations ended, by the token's own events: anybody may submit one before us, and the payer may burn it on
 * something else or take it back. One question for all that are looked for.
 */
import {
  type ChainUnavailable,
  invalid,
  type Observation,
  type OwnTransfer,
  type PaymentError,
  type ValidationError
} from "@pontage/core"
import * as Effect from "effect/Effect"

import type * as EvmHex from "./EvmHex.ts"
import * as EvmInclusion from "./EvmInclusion.ts"
import type * as EvmRpc from "./EvmRpc.ts"
import * as EvmTransferProof from "./EvmTransferProof.ts"

/**
 * An authorization that is looked for, and the head of the chain when a transaction was first prepared for it: an end in a
 * block up to that one was there before, and is not of this payment.
 *
 * @category models
 */
export interface Sought {
  readonly expected: EvmTransferProof.Expected
  readonly since: bigint
  /** Of a bound payment: whether its transfer in a block up to that one is its own all the same. */
  readonly isOwn?: (block: OwnTransfer.TimedBlock) => boolean
}

/**
 * Blocks that may pass between a payment's verification and its preparation: where an earlier use is looked for. Nodes
 * refuse to search in many more at once.
 *
 * @category constants
 */
export const blocksBefore = 1000n

/**
 * The event that ended each authorization after it was first prepared for, `undefined` where there is none.
 *
 * @category combinators
 */
export const after = (rpc: EvmRpc.Shape, sought: ReadonlyArray<Sought>) =>
  // From that block itself, which is there: nodes refuse a range that begins beyond the head.
  search(rpc, sought, { fromBlock: least(sought) }, ({ since }, { blockNumber }) => blockNumber > since)

/**
 * The event that ended each authorization before it was prepared for, in the thousand blocks before.
 *
 * @category combinators
 */
export const before = (rpc: EvmRpc.Shape, sought: ReadonlyArray<Sought>) => {
  const first = least(sought)
  const fromBlock = first > blocksBefore ? first - blocksBefore : 0n
  const toBlock = sought.reduce((most, { since }) => (since > most ? since : most), first)
  return search(rpc, sought, { fromBlock, toBlock }, ({ since }, { blockNumber }) => blockNumber <= since)
}

const least = (sought: ReadonlyArray<Sought>): bigint =>
  sought.reduce((least, { since }) => (since < least ? since : least), sought[0]?.since ?? 0n)

const search = (
  rpc: EvmRpc.Shape,
  sought: ReadonlyArray<Sought>,
  range: Pick<EvmRpc.LogFilter, "fromBlock" | "toBlock">,
  isInTime: (one: Sought, log: EvmRpc.Log) => boolean
): Effect.Effect<ReadonlyArray<EvmRpc.Log | undefined>, ChainUnavailable> =>
  sought.length === 0
    ? Effect.succeed([])
    : Effect.map(
        rpc.getLogs({ ...EvmTransferProof.endings(sought.map(({ expected }) => expected)), ...range }),
        (logs) =>
          sought.map((one) => logs.find((log) => isInTime(one, log) && EvmTransferProof.isEnding(one.expected, log)))
      )

/**
 * What an ending event means for the payment. Several payments may have ended in one transaction: its receipt is asked for
 * once by the same reader.
 *
 * @category constructors
 */
export const reader = (rpc: EvmRpc.Shape) => {
  const receipts = new Map<EvmHex.Hex, EvmRpc.Receipt | undefined>()
  const receiptOf = Effect.fnUntraced(function* (hash: EvmHex.Hex) {
    if (!receipts.has(hash)) receipts.set(hash, yield* EvmInclusion.receipt(rpc, hash))
    return receipts.get(hash)
  })
  return Effect.fnUntraced(function* (
    expected: EvmTransferProof.Expected,
    { topics, transactionHash }: EvmRpc.Log
  ): Effect.fn.Return<Observation, ChainUnavailable> {
    if (EvmTransferProof.isCancellation(topics)) return failed(transactionHash, canceled(transactionHash))
    const receipt = yield* receiptOf(transactionHash)
    if (receipt === undefined) return { _tag: "Pending" }
    return EvmTransferProof.judge(expected, EvmTransferProof.evidence(receipt.logs)) === "paid"
      ? settled(receipt, true)
      : failed(transactionHash, burnt(transactionHash))
  })
}

/**
 * What an ending event before a transaction was prepared means for a bound payment: somebody else may have submitted it
 * when it had been taken in already. `undefined` where it was not the payment's own transfer.
 *
 * @category constructors
 */
export const own = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  { expected, isOwn }: Sought,
  end: EvmRpc.Log | undefined
): Effect.fn.Return<Observation | undefined, ChainUnavailable> {
  if (end === undefined || isOwn === undefined) return undefined
  const seen = yield* reader(rpc)(expected, end)
  const block = seen._tag === "Settled" ? yield* rpc.getBlock(seen.block.number) : undefined
  if (seen._tag !== "Settled" || block?.hash !== seen.block.hash) return undefined
  return isOwn({ number: block.number, time: Number(block.timestamp) }) ? seen : undefined
})

/**
 * The payment was made in this transaction.
 *
 * @category constructors
 */
export const settled = (
  { blockHash, blockNumber, transactionHash }: EvmRpc.Receipt,
  external: boolean
): Observation => ({
  _tag: "Settled",
  transaction: transactionHash,
  block: { number: blockNumber, hash: blockHash },
  external
})

/**
 * The payment was not made, as this transaction shows.
 *
 * @category constructors
 */
export const failed = (transaction: string, error: PaymentError | ValidationError): Observation => ({
  _tag: "Failed",
  transaction,
  error
})

/**
 * The authorization was used up by a transfer that is not the payment.
 *
 * @category constructors
 */
export const burnt = (transaction: string): ValidationError =>
  invalid(
    "already_used",
    transaction,
    `the authorization's nonce was used in ${transaction} for something else than this payment`
  )

const canceled = (transaction: string) =>
  invalid("already_used", "nonce_canceled", `the payer has taken the authorization back in ${transaction}`)
