/**
 * Looks for many transactions with few questions. Only a new block can show what was not there before, so a transaction
 * that was looked for in vain is not asked for again until the head has changed; and the head is asked for by all together.
 */
import type { ChainUnavailable } from "@pontage/core"
import * as BoundedMap from "@pontage/core/BoundedMap"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"

import type { Block } from "../node/TronBlocks.ts"

/** Looks for a transaction by a question of its own; `undefined` where there is nothing, or nothing new. */
export type Look = <A>(
  id: string,
  ask: Effect.Effect<A | undefined, ChainUnavailable>
) => Effect.Effect<A | undefined, ChainUnavailable>

/** How long a head is taken for the newest: blocks come every three seconds. */
const headNanos = 250_000_000n
/** Transactions that are remembered; of those beyond it the oldest are asked for once too often. */
const capacity = 4_096

/** Makes a look at a chain whose head is asked for so. */
export const make = (ask: Effect.Effect<Block, ChainUnavailable>): Look => {
  const head = shared(ask)
  const inVain = BoundedMap.oldestOut<string, string>(capacity)
  return Effect.fnUntraced(function* (id, looking) {
    const newest = yield* head
    if (inVain.get(id) === newest.id) return undefined
    const found = yield* looking
    if (found === undefined) inVain.set(id, newest.id)
    else inVain.delete(id)
    return found
  })
}

/** One question at a time, whose answer holds for a moment. A question that fails is asked again by the next. */
const shared = (ask: Effect.Effect<Block, ChainUnavailable>): Effect.Effect<Block, ChainUnavailable> => {
  const turn = Semaphore.makeUnsafe(1)
  let known: { readonly block: Block; readonly until: bigint } | undefined
  return turn.withPermits(1)(
    Effect.gen(function* () {
      // A clock that is set back would keep the answer for as long.
      const now = yield* Clock.monotonicTimeNanos
      if (known !== undefined && now < known.until) return known.block
      const block = yield* ask
      known = { block, until: (yield* Clock.monotonicTimeNanos) + headNanos }
      return block
    })
  )
}
