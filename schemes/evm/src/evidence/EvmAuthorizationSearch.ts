/**
 * Searches for the events that ended authorizations: anybody may submit an authorization before us, and the payer may burn it
 * with another transfer or cancel it. One search covers several authorizations.
 */
import type { ChainUnavailable } from "@pontage/core"
import * as Effect from "effect/Effect"

import * as EvmRpc from "../node/EvmRpc.ts"
import type * as EvmHex from "../primitives/EvmHex.ts"
import * as Permit2 from "../transfer/Permit2.ts"
import * as EvmTransferEvidence from "./EvmTransferEvidence.ts"
import type { SoughtEnd } from "./EvmTransferEvidence.ts"
import * as PermitEvidence from "./PermitEvidence.ts"

/** Blocks searched for an earlier use: they may pass between a payment's verification and its preparation. */
export const blocksBefore = 1000n

/** Blocks per stride, the first and the longest; after each stride the search checks whether the validity was over. */
const firstStride = 100n
const longestStride = 1000n

type Ends = ReadonlyArray<EvmRpc.Log | undefined>

/**
 * The event that ended each authorization after its first transaction was prepared, in the blocks up to `through`;
 * `undefined` where there is none. The search stops behind the first block that is past all validities: no authorization can
 * be used there.
 */
export const after = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  sought: ReadonlyArray<SoughtEnd>,
  through: bigint
): Effect.fn.Return<Ends, ChainUnavailable> {
  const ends: Array<EvmRpc.Log | undefined> = sought.map(() => undefined)
  const over = sought.reduce((latest, { expected: { authorization } }) => most(latest, authorization.validBefore), 0n)
  let stride = firstStride
  let from = leastSince(sought) + 1n
  while (from <= through && ends.includes(undefined)) {
    const to = least(from + stride - 1n, through)
    const logs = yield* rpc.getLogs(filterOf(sought), { fromBlock: from, toBlock: to })
    const found = yield* endsIn(rpc, sought, logs, ({ blockNumber }, since) => blockNumber > since)
    for (const index of sought.keys()) ends[index] ??= found[index]
    if (to === through) break
    const block = yield* rpc.getBlock(to)
    if (block === undefined) return yield* EvmRpc.unknownBlock(rpc, to)
    if (block.timestamp >= over) break
    from = to + 1n
    stride = least(2n * stride, longestStride)
  }
  return ends
})

/**
 * The event that ended an authorization from a time on (Unix seconds), in the blocks up to `through`: for a payment that was
 * taken in any number of blocks ago, without a transaction.
 */
export const fromTime = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  sought: SoughtEnd,
  earliest: number,
  through: bigint
): Effect.fn.Return<EvmRpc.Log | undefined, ChainUnavailable> {
  const first = yield* blockBefore(rpc, BigInt(earliest), through)
  const [end] = yield* after(rpc, [{ ...sought, since: first }], through)
  return end
})

/** A block earlier than `time`, at most a stride before the last such block; the first block where there is none. */
export const blockBefore = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  time: bigint,
  through: bigint
): Effect.fn.Return<bigint, ChainUnavailable> {
  const isBefore = Effect.fnUntraced(function* (number: bigint) {
    const block = yield* rpc.getBlock(number)
    return block === undefined ? yield* EvmRpc.unknownBlock(rpc, number) : block.timestamp < time
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
  sought: ReadonlyArray<SoughtEnd>,
  block: bigint | EvmRpc.BlockByHash
): Effect.Effect<Ends, ChainUnavailable> =>
  Effect.flatMap(rpc.getLogs(filterOf(sought), placeOf(block)), (logs) => endsIn(rpc, sought, logs, () => true))

/** The event that ended each authorization before its first transaction was prepared, in the thousand blocks before. */
export const before = (rpc: EvmRpc.Shape, sought: ReadonlyArray<SoughtEnd>): Effect.Effect<Ends, ChainUnavailable> => {
  if (sought.length === 0) return Effect.succeed([])
  const first = leastSince(sought)
  const fromBlock = first > blocksBefore ? first - blocksBefore : 0n
  const toBlock = sought.reduce((last, { since }) => most(last, since), first)
  return Effect.flatMap(rpc.getLogs(filterOf(sought), { fromBlock, toBlock }), (logs) =>
    endsIn(rpc, sought, logs, ({ blockNumber }, since) => blockNumber <= since)
  )
}

/**
 * The first log that ended each authorization, among those of wanted blocks. The transfer of a permit names no nonce, so its
 * transaction is read: only one that submits this very permit has ended it.
 */
const endsIn = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  sought: ReadonlyArray<SoughtEnd>,
  logs: ReadonlyArray<EvmRpc.Log>,
  isWanted: (log: EvmRpc.Log, since: bigint) => boolean
): Effect.fn.Return<Ends, ChainUnavailable> {
  const known = new Map<EvmHex.Hex, EvmRpc.Transaction | undefined>()
  const transactionOf = Effect.fnUntraced(function* (hash: EvmHex.Hex) {
    if (!known.has(hash)) known.set(hash, yield* rpc.getTransaction(hash))
    return known.get(hash)
  })
  return yield* Effect.forEach(
    sought,
    Effect.fnUntraced(function* ({ expected, since }) {
      for (const log of logs) {
        if (!isWanted(log, since) || !EvmTransferEvidence.isEnding(expected, log)) continue
        if (expected.permit === undefined || !PermitEvidence.isTransfer(expected.permit, log)) return log
        const transaction = yield* transactionOf(log.transactionHash)
        if (transaction === undefined) return yield* EvmRpc.unknownBlock(rpc, log.blockNumber)
        if (Permit2.isSubmitted(expected.permit, transaction)) return log
      }
      return undefined
    })
  )
})

const placeOf = (block: bigint | EvmRpc.BlockByHash): EvmRpc.LogPlace =>
  typeof block === "bigint" ? { fromBlock: block, toBlock: block } : block

const filterOf = (sought: ReadonlyArray<SoughtEnd>) =>
  EvmTransferEvidence.endings(sought.map(({ expected }) => expected))

const least = (a: bigint, b: bigint): bigint => (b < a ? b : a)
const most = (a: bigint, b: bigint): bigint => (b > a ? b : a)

const leastSince = (sought: ReadonlyArray<SoughtEnd>): bigint =>
  sought.reduce((first, { since }) => least(first, since), sought[0]?.since ?? 0n)
