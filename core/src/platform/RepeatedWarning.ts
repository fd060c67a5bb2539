/**
 * Warnings that may come with every request. The first of a kind is logged at once; those that follow within a minute are
 * counted, and logged in one line when the minute is over, so that a stranger who causes warnings cannot fill a disk.
 */
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import type * as Scope from "effect/Scope"

/**
 * Logs a warning, or counts it. Warnings repeat by kind; their messages may differ, and the last one is logged with the count.
 */
export type RepeatedWarning = (kind: string, message: string) => Effect.Effect<void>

const pause = "1 minute"

/** Limit on the kinds that are counted at the same time; all further kinds are counted as one. */
const maximumKinds = 100

const others = "other warnings"

interface Count {
  repeats: number
  last: string
}

/** Warnings of one process, counted as long as the scope. */
export const make: Effect.Effect<RepeatedWarning, never, Scope.Scope> = Effect.gen(function* () {
  const counts = new Map<string, Count>()
  const minutes = yield* FiberSet.make()
  const summary = Effect.fnUntraced(function* (kind: string, count: Count) {
    do {
      count.repeats = 0
      yield* Effect.sleep(pause)
      if (count.repeats > 0) yield* Effect.logWarning(`${count.last} (${count.repeats} such in a minute)`)
    } while (count.repeats > 0)
    counts.delete(kind)
  })
  return (asked, message) =>
    Effect.suspend(() => {
      const kind = counts.has(asked) || counts.size < maximumKinds ? asked : others
      const known = counts.get(kind)
      if (known !== undefined) {
        known.repeats++
        known.last = message
        return Effect.void
      }
      const count: Count = { repeats: 0, last: message }
      counts.set(kind, count)
      return Effect.andThen(Effect.logWarning(message), FiberSet.run(minutes, summary(kind, count)))
    })
})
