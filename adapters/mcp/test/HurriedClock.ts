/**
 * This machine's clock, but for sleeps: one of less than half a minute, which is how long a payer waits between two
 * attempts, is over at once and moves the time. Longer ones are time limits, and nothing is ever late here.
 * Where a test counts the time, `now` stands still, and sleeps alone move it.
 */
import type * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

export const make = (now = Date.now): Clock.Clock => {
  let slept = 0
  const millis = () => now() + slept
  const nanos = () => BigInt(millis()) * 1_000_000n
  return {
    currentTimeMillisUnsafe: millis,
    currentTimeMillis: Effect.sync(millis),
    currentTimeNanosUnsafe: nanos,
    currentTimeNanos: Effect.sync(nanos),
    monotonicTimeNanosUnsafe: nanos,
    monotonicTimeNanos: Effect.sync(nanos),
    sleep: (duration) =>
      Effect.suspend(() => {
        const pause = Duration.toMillis(duration)
        if (pause >= 30_000) return Effect.never
        slept += pause
        return Effect.yieldNow
      })
  }
}
