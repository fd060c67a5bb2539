/**
 * The newest block that this process has seen, and the answers that are held against it. Behind one address there may be
 * several nodes, and one of them may be behind its fellows: what it says against a payment is true of an older state, and no
 * verdict. This is the one place where such an answer is asked for again.
 */
import type { ChainUnavailable } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

import type * as EvmRpc from "./EvmRpc.ts"

/** A node's questions, whose answers are watched for newer blocks, and the way to ask about the newest state. */
export interface EvmHead {
  /** The node; every block that it shows counts as seen. */
  readonly rpc: EvmRpc.Shape
  /** Asks about the newest state, and {@link confirm}s an answer that refuses a payment. */
  readonly judge: <A>(
    ask: (block: EvmRpc.BlockTag) => Effect.Effect<A, ChainUnavailable>,
    refuses: (answer: A) => boolean
  ) => Effect.Effect<A, ChainUnavailable>
  /**
   * Asks at the newest block that was seen, or is shown now; until a node that has that block answers it is
   * `ChainUnavailable`.
   */
  readonly confirm: <A>(
    ask: (block: bigint) => Effect.Effect<A, ChainUnavailable>
  ) => Effect.Effect<A, ChainUnavailable>
}

/** A block that no node has shown again for so long (milliseconds) was taken back, or never was. */
const memoryMillis = 30_000
/** How often a question is asked again, each after a longer pause: another node may answer it. */
const attempts = 4
const firstPause = Duration.millis(100)

/** Watches a node. */
export const make = (node: EvmRpc.Shape): EvmHead => {
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
  const confirm: EvmHead["confirm"] = Effect.fnUntraced(function* (ask) {
    const shown = yield* rpc.blockNumber
    const head = newest !== undefined && newest.number > shown ? newest.number : shown
    let pause = firstPause
    for (let attempt = 1; attempt < attempts; attempt++) {
      const answer = yield* Effect.result(ask(head))
      if (answer._tag === "Success") return answer.success
      yield* Effect.sleep(pause)
      pause = Duration.times(pause, 2)
    }
    return yield* ask(head)
  })
  return {
    rpc,
    confirm,
    judge: (ask, refuses) =>
      Effect.flatMap(ask("latest"), (first) => (refuses(first) ? confirm(ask) : Effect.succeed(first)))
  }
}
