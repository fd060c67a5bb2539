/**
 * Failures that a node tells of, seen twice. A node may answer wrongly once (one of several behind an address, a cache, one that is
 * about to leave its block): that a payment in a block has failed counts when the node says the same of the same block again,
 * asked after the chain has moved on.
 */
import type { ChainUnavailable } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import type { Block } from "../node/TronBlocks.ts"

/**
 * Asks for what is to be seen of a transaction; `failure` tells a failure in words that are equal where failures are, and
 * nothing of a success. `undefined` where there is nothing, or a failure that was not seen twice yet.
 */
export type SecondLook = <A>(
  id: string,
  ask: Effect.Effect<A | undefined, ChainUnavailable>,
  failure: (found: A) => string | undefined
) => Effect.Effect<A | undefined, ChainUnavailable>

interface First {
  readonly failure: string
  /** The newest block after the first look. */
  readonly head: bigint
  readonly at: number
}

/** A first look that is older (milliseconds) is none. */
const memoryMillis = 600_000
/** First looks that are remembered; beyond it the oldest are forgotten, and their payments wait for another block. */
const capacity = 4_096

/** Makes it for a chain whose head is asked for so. */
export const make = (head: Effect.Effect<Block, ChainUnavailable>): SecondLook => {
  const firsts = new Map<string, First>()
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
  return Effect.fnUntraced(function* (id, ask, failure) {
    const found = yield* ask
    const said = found === undefined ? undefined : failure(found)
    if (said === undefined) {
      firsts.delete(id)
      return found
    }
    const first = firsts.get(id)
    const now = yield* Clock.currentTimeMillis
    if (first === undefined || first.failure !== said || now - first.at > memoryMillis) {
      yield* remember(id, said)
      return undefined
    }
    if ((yield* head).number <= first.head) return undefined
    // Asked afresh behind the newer head: the answer above may have been on its way before it.
    const again = yield* ask
    if (again !== undefined && failure(again) === said) return again
    firsts.delete(id)
    return undefined
  })
}
