/**
 * Looks up many transactions with few requests. Only a new block can show a transaction that was missing before, so a missing
 * one is not requested again until the head has changed; all lookups share the request for the head.
 */
import type { ChainUnavailable } from "@pontage/core"
import * as BoundedMap from "@pontage/core/BoundedMap"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"

import type { Block } from "../node/TronBlocks.ts"

/** Finds a transaction by the given request; `undefined` if the chain shows none, or no block has come since the last lookup. */
export type Lookup = <A>(
  id: string,
  find: Effect.Effect<A | undefined, ChainUnavailable>
) => Effect.Effect<A | undefined, ChainUnavailable>

/** Time for which a head counts as the newest, in nanoseconds; blocks come every three seconds. */
const headNanos = 250_000_000n
/** Missing transactions that are remembered; beyond it the oldest are forgotten, and requested once more. */
const capacity = 4_096

/** Makes the lookup for a chain; the argument requests the chain's head. */
export const make = (requestHead: Effect.Effect<Block, ChainUnavailable>): Lookup => {
  const head = shared(requestHead)
  const missing = BoundedMap.oldestOut<string, string>(capacity)
  return Effect.fnUntraced(function* (id, find) {
    const newest = yield* head
    if (missing.get(id) === newest.id) return undefined
    const found = yield* find
    if (found === undefined) missing.set(id, newest.id)
    else missing.delete(id)
    return found
  })
}

/** Sends one request at a time and keeps its response for a moment. A failed request is repeated by the next caller. */
const shared = (request: Effect.Effect<Block, ChainUnavailable>): Effect.Effect<Block, ChainUnavailable> => {
  const turn = Semaphore.makeUnsafe(1)
  let known: { readonly block: Block; readonly until: bigint } | undefined
  return turn.withPermits(1)(
    Effect.gen(function* () {
      // The wall clock may be set back, and the response would be kept until it has caught up.
      const now = yield* Clock.monotonicTimeNanos
      if (known !== undefined && now < known.until) return known.block
      const block = yield* request
      known = { block, until: (yield* Clock.monotonicTimeNanos) + headNanos }
      return block
    })
  )
}
