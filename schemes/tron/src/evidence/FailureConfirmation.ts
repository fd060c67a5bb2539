/**
 * Confirms failures by a second report. A node may report wrongly once (one of several behind an address, a cache, a node that is
 * about to drop its block): a payment's failure in a block counts when the node reports the same for the same block again, to a
 * request that was sent after the chain has moved on.
 */
import type { ChainUnavailable } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import type { Block } from "../node/TronBlocks.ts"

/**
 * Finds a transaction. `failureOf` describes its failure, equal failures by equal texts, and gives `undefined` for a success.
 * The result is `undefined` if nothing is found, or if a failure is not confirmed yet.
 */
export type FailureConfirmation = <A>(
  id: string,
  find: Effect.Effect<A | undefined, ChainUnavailable>,
  failureOf: (found: A) => string | undefined
) => Effect.Effect<A | undefined, ChainUnavailable>

interface FailureReport {
  readonly failure: string
  /** The newest block after the report. */
  readonly head: bigint
  /** Unix milliseconds. */
  readonly at: number
}

/** Age in milliseconds at which a first report is forgotten. */
const memoryMillis = 600_000
/** First reports that are remembered; beyond it the oldest are forgotten, and their payments wait for another block. */
const capacity = 4_096

/** Makes the confirmation for a chain; `head` requests the chain's newest block. */
export const make = (head: Effect.Effect<Block, ChainUnavailable>): FailureConfirmation => {
  const firsts = new Map<string, FailureReport>()
  const remember = Effect.fnUntraced(function* (id: string, failure: string) {
    const { number } = yield* head
    const at = yield* Clock.currentTimeMillis
    firsts.delete(id)
    firsts.set(id, { failure, head: number, at })
    for (const [oldest, one] of firsts) {
      if (firsts.size <= capacity && at - one.at <= memoryMillis) break
      firsts.delete(oldest)
    }
  })
  return Effect.fnUntraced(function* (id, find, failureOf) {
    const found = yield* find
    const failure = found === undefined ? undefined : failureOf(found)
    if (failure === undefined) {
      firsts.delete(id)
      return found
    }
    const first = firsts.get(id)
    const now = yield* Clock.currentTimeMillis
    if (first === undefined || first.failure !== failure || now - first.at > memoryMillis) {
      yield* remember(id, failure)
      return undefined
    }
    if ((yield* head).number <= first.head) return undefined
    // Requested once more after the newer head: the response above may have been on its way before it.
    const again = yield* find
    if (again !== undefined && failureOf(again) === failure) return again
    firsts.delete(id)
    return undefined
  })
}
