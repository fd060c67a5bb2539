/**
 * Remembers what two looks at the chain in a row have shown alike, and looks no more. A payment that stays open would otherwise make
 * each look ask the node again for all other payments of its transaction. One look alone is not believed for ever: a node may lag, or
 * show something else.
 */
import * as BoundedMap from "@pontage/core/BoundedMap"
import * as Effect from "effect/Effect"

/** Results of looks by a key. */
export interface AgreedLooks<A> {
  /** The remembered result, or that of this look. A look that returns `undefined` has shown nothing yet. */
  readonly of: <E>(key: string, look: Effect.Effect<A | undefined, E>) => Effect.Effect<A | undefined, E>
}

/** Results that are remembered. */
const capacity = 10_000

interface Seen<A> {
  readonly result: A
  readonly isAgreed: boolean
}

/** Remembers nothing at first. */
export const make = <A>(isSame: (one: A, other: A) => boolean): AgreedLooks<A> => {
  const seen = BoundedMap.oldestOut<string, Seen<A>>(capacity)
  return {
    of: (key, look) =>
      Effect.suspend(() => {
        const before = seen.get(key)
        if (before?.isAgreed === true) return Effect.succeed(before.result)
        return Effect.tap(look, (result) =>
          Effect.sync(() => {
            if (result === undefined) seen.delete(key)
            else seen.set(key, { result, isAgreed: before !== undefined && isSame(before.result, result) })
          })
        )
      })
  }
}
