/**
 * A clock that does not wait: a sleep of less than half a minute, which is how long a client waits between two attempts,
 * is over at once and moves the time. Longer ones are time limits, and nothing is ever late here.
 */
import type * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

export const make = (): Clock.Clock => {
  // Later than any real clock, so that a journal on a disk does not take its entries for old ones.
  let now = 4_000_000_000_000
  const nanos = () => BigInt(now) * 1_000_000n
  return {
    currentTimeMillisUnsafe: () => now,
    currentTimeMillis: Effect.sync(() => now),
    currentTimeNanosUnsafe: nanos,
    currentTimeNanos: Effect.sync(nanos),
    monotonicTimeNanosUnsafe: nanos,
    monotonicTimeNanos: Effect.sync(nanos),
    sleep: (duration) =>
      Effect.suspend(() => {
        const millis = Duration.toMillis(duration)
        if (millis >= 30_000) return Effect.never
        now += millis
        return Effect.yieldNow
      })
  }
}
