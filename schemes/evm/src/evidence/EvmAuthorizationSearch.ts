/**
 * How authorizations ended, by the token's own events: anybody may submit one before us, and the payer may burn it on
 * something else or take it back. One search for all that are looked for.
 */
import {
  ChainUnavailable,
  invalid,
  type PaymentObservation,
  type OwnTransfer,
  type PaymentError,
  type ValidationError
} from "@pontage/core"
import * as Effect from "effect/Effect"

import type * as EvmRpc from "../node/EvmRpc.ts"
import type * as EvmHex from "../primitives/EvmHex.ts"
import * as EvmInclusion from "./EvmInclusion.ts"
import * as EvmTransferEvidence from "./EvmTransferEvidence.ts"

/**
 * An authorization that is looked for, and the head of the chain when a transaction was first prepared for it: an end in a
 * block up to that one was there before, and is not of this payment.
 */
export interface Sought {
  readonly expected: EvmTransferEvidence.Expected
  readonly since: bigint
  /** Of a bound payment, or one that nothing was prepared for: whether its transfer in a block up to that one is its own. */
  readonly isOwn?: (block: OwnTransfer.TimedBlock) => boolean
  /** Of one that nothing was prepared for: since when it has been on record, in Unix seconds by the chain's clock. */
  readonly earliest?: number
}

/** Blocks that may pass between a payment's verification and its preparation: where an earlier use is looked for. */
export const blocksBefore = 1000n

/** How many blocks are looked through at first, and at most, before it is seen whether the validity was over. */
const firstStride = 100n
const longestStride = 1000n

type Ends = ReadonlyArray<EvmRpc.Log | undefined>

/**
 * The event that ended each authorization after it was first prepared for, in the blocks up to this one; `undefined` where
 * there is none. No block is looked at behind the first one that is past all their validities: none can be used there.
 */
export const after = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  sought: ReadonlyArray<Sought>,
  through: bigint
): Effect.fn.Return<Ends, ChainUnavailable> {
  const ends: Array<EvmRpc.Log | undefined> = sought.map(() => undefined)
  const over = sought.reduce((latest, { expected: { authorization } }) => most(latest, authorization.validBefore), 0n)
  let stride = firstStride
  let from = leastSince(sought) + 1n
  while (from <= through && ends.includes(undefined)) {
    const to = least(from + stride - 1n, through)
    const logs = yield* rpc.getLogs(filterOf(sought), { fromBlock: from, toBlock: to })
    for (const [index, { expected, since }] of sought.entries())
      ends[index] ??= logs.find((log) => log.blockNumber > since && EvmTransferEvidence.isEnding(expected, log))
    if (to === through) break
    const block = yield* rpc.getBlock(to)
    if (block === undefined) return yield* unknownBlock(rpc, to)
    if (block.timestamp >= over) break
    from = to + 1n
    stride = least(2n * stride, longestStride)
  }
  return ends
})

/**
 * The event that ended an authorization from a time on (Unix seconds), in the blocks up to this one: for a payment that was
 * taken in any number of blocks ago, and that nothing was prepared for.
 */
export const fromTime = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  sought: Sought,
  earliest: number,
  through: bigint
): Effect.fn.Return<EvmRpc.Log | undefined, ChainUnavailable> {
  const first = yield* blockBefore(rpc, BigInt(earliest), through)
  const [end] = yield* after(rpc, [{ ...sought, since: first }], through)
  return end
})

/** A block of an earlier time than this, fewer than a stride before the last such one; the first block where there is none. */
const blockBefore = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  time: bigint,
  through: bigint
): Effect.fn.Return<bigint, ChainUnavailable> {
  const isBefore = Effect.fnUntraced(function* (number: bigint) {
    const block = yield* rpc.getBlock(number)
    return block === undefined ? yield* unknownBlock(rpc, number) : block.timestamp < time
  })
  let later = through
  let step = longestStride
  while (step < through && !(yield* isBefore(through - step))) {
    later = through - step
    step *= 2n
  }
  let earlier = step < through ? through - step : 0n
  while (later - earlier > firstStride) {
    const middle = (earlier + later) / 2n
    if (yield* isBefore(middle)) earlier = middle
    else later = middle
  }
  return earlier
})

/** The event that ended each authorization in one block. */
export const inBlock = (
  rpc: EvmRpc.Shape,
  sought: ReadonlyArray<Sought>,
  block: bigint | EvmRpc.BlockByHash
): Effect.Effect<Ends, ChainUnavailable> =>
  Effect.map(rpc.getLogs(filterOf(sought), placeOf(block)), (logs) =>
    sought.map(({ expected }) => logs.find((log) => EvmTransferEvidence.isEnding(expected, log)))
  )

/** The event that ended each authorization before it was prepared for, in the thousand blocks before. */
export const before = (rpc: EvmRpc.Shape, sought: ReadonlyArray<Sought>): Effect.Effect<Ends, ChainUnavailable> => {
  if (sought.length === 0) return Effect.succeed([])
  const first = leastSince(sought)
  const fromBlock = first > blocksBefore ? first - blocksBefore : 0n
  const toBlock = sought.reduce((last, { since }) => most(last, since), first)
  return Effect.map(rpc.getLogs(filterOf(sought), { fromBlock, toBlock }), (logs) =>
    sought.map(({ expected, since }) =>
      logs.find((log) => log.blockNumber <= since && EvmTransferEvidence.isEnding(expected, log))
    )
  )
}

const placeOf = (block: bigint | EvmRpc.BlockByHash): EvmRpc.LogPlace =>
  typeof block === "bigint" ? { fromBlock: block, toBlock: block } : block

const filterOf = (sought: ReadonlyArray<Sought>) => EvmTransferEvidence.endings(sought.map(({ expected }) => expected))

const least = (a: bigint, b: bigint): bigint => (b < a ? b : a)
const most = (a: bigint, b: bigint): bigint => (b > a ? b : a)

const leastSince = (sought: ReadonlyArray<Sought>): bigint =>
  sought.reduce((first, { since }) => least(first, since), sought[0]?.since ?? 0n)

const unknownBlock = ({ network }: EvmRpc.Shape, number: bigint) =>
  Effect.fail(new ChainUnavailable({ network, message: `The node of ${network} does not know block ${number}` }))

/**
 * What an ending event means for the payment. Several payments may have ended in one transaction: its receipt is asked for
 * once by the same reader.
 */
export const reader = (rpc: EvmRpc.Shape) => {
  const receipts = new Map<EvmHex.Hex, EvmRpc.Receipt | undefined>()
  const receiptOf = Effect.fnUntraced(function* (hash: EvmHex.Hex) {
    if (!receipts.has(hash)) receipts.set(hash, yield* EvmInclusion.receipt(rpc, hash))
    return receipts.get(hash)
  })
  return Effect.fnUntraced(function* (
    expected: EvmTransferEvidence.Expected,
    { topics, transactionHash }: EvmRpc.Log
  ): Effect.fn.Return<PaymentObservation, ChainUnavailable> {
    if (EvmTransferEvidence.isCancellation(topics)) return failed(transactionHash, canceled(transactionHash))
    const receipt = yield* receiptOf(transactionHash)
    if (receipt === undefined) return { _tag: "Pending" }
    switch (EvmTransferEvidence.judge(expected, EvmTransferEvidence.evidence(receipt.logs))) {
      case "paid":
        return settled(receipt, true)
      case "burnt":
        return failed(transactionHash, burnt(transactionHash))
      case "absent":
        // A receipt that does not show what the block's events do is wrong: it proves nothing, good or bad.
        return { _tag: "Pending" }
    }
  })
}

/**
 * What an ending event before a transaction was prepared means for a bound payment: somebody else may have submitted it
 * when it had been taken in already. `undefined` where it was not the payment's own transfer; a node that does not show the
 * transfer's receipt or block has said nothing.
 */
export const own = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  { expected, isOwn }: Sought,
  end: EvmRpc.Log | undefined
): Effect.fn.Return<PaymentObservation | undefined, ChainUnavailable> {
  if (end === undefined || isOwn === undefined) return undefined
  const seen = yield* reader(rpc)(expected, end)
  if (seen._tag === "Failed") return undefined
  const block = seen._tag === "Settled" ? yield* rpc.getBlock(seen.block.number) : undefined
  if (seen._tag !== "Settled" || block?.hash !== seen.block.hash) return yield* unknownBlock(rpc, end.blockNumber)
  return isOwn({ number: block.number, time: Number(block.timestamp) }) ? seen : undefined
})

/** The payment was made in this transaction. */
export const settled = (
  { blockHash, blockNumber, transactionHash }: EvmRpc.Receipt,
  external: boolean
): PaymentObservation => ({
  _tag: "Settled",
  transaction: transactionHash,
  block: { number: blockNumber, hash: blockHash },
  external
})

/** The payment was not made, as this transaction shows. */
export const failed = (transaction: string, error: PaymentError | ValidationError): PaymentObservation => ({
  _tag: "Failed",
  transaction,
  error
})

/** The authorization was used up by a transfer that is not the payment. */
export const burnt = (transaction: string): ValidationError =>
  invalid(
    "already_used",
    transaction,
    `the authorization's nonce was used in ${transaction} for something else than this payment`
  )

/** The authorization was used before a transaction was prepared for the payment, and not by its own transfer. */
export const usedBefore = (transaction: string): PaymentObservation =>
  failed(
    transaction,
    invalid("already_used", transaction, `the authorization was used in ${transaction}, before it was claimed here`)
  )

const canceled = (transaction: string) =>
  invalid("already_used", "nonce_canceled", `the payer has taken the authorization back in ${transaction}`)
