/**
 * The newest block that this process has seen, and reads that must not be older. One URL may lead to several nodes, and one of
 * them may lag: a result that speaks against a payment may come from an older state, and then does not count. This module
 * repeats such reads.
 */
import type { ChainUnavailable } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

import type * as EvmRpc from "./EvmRpc.ts"

/** A node whose responses are watched for newer blocks, and reads of the newest state. */
export interface EvmLagGuard {
  /** The node; each block in its responses counts as seen. */
  readonly rpc: EvmRpc.Shape
  /** Reads the newest state, and {@link confirm}s a result that refuses a payment. */
  readonly judge: <A>(
    read: (block: EvmRpc.BlockTag) => Effect.Effect<A, ChainUnavailable>,
    refuses: (result: A) => boolean
  ) => Effect.Effect<A, ChainUnavailable>
  /**
   * Reads at the newest block seen, the head of now included; `ChainUnavailable` until a node that has that block responds.
   */
  readonly confirm: <A>(
    read: (block: bigint) => Effect.Effect<A, ChainUnavailable>
  ) => Effect.Effect<A, ChainUnavailable>
}

/** Milliseconds after which a block that no node shows again is forgotten: it was taken back, or never existed. */
const memoryMillis = 30_000
/** Attempts of one read, with a longer pause before each: another node may respond. */
const attempts = 4
const firstPause = Duration.millis(100)

/** Watches a node. */
export const make = (node: EvmRpc.Shape): EvmLagGuard => {
  let newest: { readonly number: bigint; readonly at: number } | undefined
  const see = (number: bigint | undefined): Effect.Effect<void> =>
    Effect.map(Clock.currentTimeMillis, (at) => {
      if (number === undefined) return
      if (newest === undefined || number >= newest.number || at - newest.at > memoryMillis) newest = { number, at }
    })
  const rpc: EvmRpc.Shape = {
    ...node,
    blockNumber: Effect.tap(node.blockNumber, see),
    getBlock: (tag) => Effect.tap(node.getBlock(tag), (block) => see(block?.number)),
    getTransactionReceipt: (hash) =>
      Effect.tap(node.getTransactionReceipt(hash), (receipt) => see(receipt?.blockNumber)),
    getLogs: (filter, place) => Effect.tap(node.getLogs(filter, place), (logs) => see(logs.at(-1)?.blockNumber))
  }
  const confirm: EvmLagGuard["confirm"] = Effect.fnUntraced(function* (read) {
    const shown = yield* rpc.blockNumber
    const head = newest !== undefined && newest.number > shown ? newest.number : shown
    let pause = firstPause
    for (let attempt = 1; attempt < attempts; attempt++) {
      const result = yield* Effect.result(read(head))
      if (result._tag === "Success") return result.success
      yield* Effect.sleep(pause)
      pause = Duration.times(pause, 2)
    }
    return yield* read(head)
  })
  return {
    rpc,
    confirm,
    judge: (read, refuses) =>
      Effect.flatMap(read("latest"), (first) => (refuses(first) ? confirm(read) : Effect.succeed(first)))
  }
}
