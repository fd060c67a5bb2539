import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"

import * as TonLosses from "../src/TonLosses.ts"

const open = () => TonLosses.make({ budget: 100n, banMillis: 3_600_000 })

describe("TonLosses", () => {
  it.effect("bans after the first grave loss, for a while, and nobody else", () =>
    Effect.gen(function* () {
      const losses = open()
      yield* losses.note("griefer", 10n, "grave")
      assert.isTrue(yield* losses.isBanned("griefer"))
      assert.isFalse(yield* losses.isBanned("somebody"))
      yield* TestClock.adjust("61 minutes")
      assert.isFalse(yield* losses.isBanned("griefer"))
    })
  )

  it.effect("bans after the third slight loss of a day", () =>
    Effect.gen(function* () {
      const losses = open()
      for (const isBanned of [false, false, true]) {
        yield* losses.note("hasty", 1n, "slight")
        assert.strictEqual(yield* losses.isBanned("hasty"), isBanned)
      }
      yield* TestClock.adjust("25 hours")
      yield* losses.note("hasty", 1n, "slight")
      assert.isFalse(yield* losses.isBanned("hasty"))
    })
  )

  it.effect("is exhausted at its budget, until a day later", () =>
    Effect.gen(function* () {
      const losses = open()
      yield* losses.note("one", 60n, "grave")
      assert.isFalse(yield* losses.isExhausted)
      yield* losses.note("another", 40n, "slight")
      assert.isTrue(yield* losses.isExhausted)
      yield* TestClock.adjust("25 hours")
      assert.isFalse(yield* losses.isExhausted)
    })
  )
})
