import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import * as fc from "fast-check"

import * as RateLimiter from "../../src/callers/RateLimiter.ts"

const rate = { perSecond: 2, burst: 3 }

/** The number of requests that are let through, of a total. */
const takeMany = (limiter: RateLimiter.RateLimiter, key: string, times: number, tokens = 1) =>
  Effect.map(
    Effect.forEach(Array.from({ length: times }), () => limiter.take(key, rate, tokens)),
    (waits) => waits.filter((wait) => wait === undefined).length
  )

describe("a bucket", () => {
  it.effect("holds the burst, then fills at the rate, never above the burst", () =>
    Effect.gen(function* () {
      const limiter = RateLimiter.make()
      assert.strictEqual(yield* takeMany(limiter, "a", 10), 3)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* takeMany(limiter, "a", 10), 2)
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(yield* takeMany(limiter, "a", 10), 3)
    })
  )

  it.effect("names the seconds to wait, and they are enough", () =>
    Effect.gen(function* () {
      const limiter = RateLimiter.make()
      yield* takeMany(limiter, "a", 3)
      yield* limiter.charge("a", rate, 3)
      const wait = yield* limiter.take("a", rate, 1)
      assert.strictEqual(wait, 2)
      yield* TestClock.adjust("1900 millis")
      assert.isDefined(yield* limiter.take("a", rate, 1))
      yield* TestClock.adjust("100 millis")
      assert.isUndefined(yield* limiter.take("a", rate, 1))
    })
  )

  it.effect("is one for each key", () =>
    Effect.gen(function* () {
      const limiter = RateLimiter.make()
      assert.strictEqual(yield* takeMany(limiter, "a", 5), 3)
      assert.strictEqual(yield* takeMany(limiter, "b", 5), 3)
    })
  )

  it.effect("may be in debt by a later charge, and by no more", () =>
    Effect.gen(function* () {
      const limiter = RateLimiter.make()
      yield* limiter.charge("a", rate, 1000)
      assert.isDefined(yield* limiter.take("a", rate, 0))
      yield* TestClock.adjust("1500 millis")
      assert.isUndefined(yield* limiter.take("a", rate, 0))
      assert.isDefined(yield* limiter.take("a", rate, 1))
    })
  )

  it.effect("is not filled by a clock that was set back", () =>
    Effect.gen(function* () {
      const limiter = RateLimiter.make()
      yield* TestClock.setTime(10_000_000)
      yield* takeMany(limiter, "a", 3)
      yield* TestClock.setTime(5_000_000)
      assert.strictEqual(yield* takeMany(limiter, "a", 3), 0)
    })
  )

  it.effect("is dropped when there are too many, the one used longest ago first", () =>
    Effect.gen(function* () {
      const limiter = RateLimiter.make(2)
      yield* takeMany(limiter, "a", 3)
      yield* takeMany(limiter, "b", 3)
      yield* takeMany(limiter, "a", 1)
      yield* takeMany(limiter, "c", 3)
      assert.strictEqual(yield* takeMany(limiter, "a", 3), 0)
      assert.strictEqual(yield* takeMany(limiter, "b", 3), 3)
    })
  )

  it.effect("lets no more through than rate and burst allow, at any times", () =>
    Effect.gen(function* () {
      const steps = fc.sample(fc.array(fc.integer({ min: 0, max: 2500 }), { minLength: 1, maxLength: 60 }), 200)
      for (const pauses of steps) {
        const limiter = RateLimiter.make()
        let passed = 0
        let elapsed = 0
        for (const pause of pauses) {
          yield* TestClock.adjust(pause)
          elapsed += pause
          passed += yield* takeMany(limiter, "a", 2)
        }
        assert.isAtMost(passed, rate.burst + Math.floor((elapsed * rate.perSecond) / 1000))
      }
    })
  )
})
