import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as TestClock from "effect/testing/TestClock"

import * as RepeatedWarning from "../../src/platform/RepeatedWarning.ts"

/** A clock that logs nothing itself: the usual one warns after a second of real time, in the log that these tests read. */
const clock = TestClock.layer({ warningDelay: "1 day" })

/** Warnings, and what the log has of them. */
const open = Effect.gen(function* () {
  const lines: Array<string> = []
  const logger = Logger.layer([Logger.make(({ message }) => void lines.push(String(message)))])
  return { lines, warn: yield* Effect.provide(RepeatedWarning.make, logger), logger }
})

const times = (count: number, effect: Effect.Effect<void>) =>
  Effect.forEach(Array.from({ length: count }), () => effect, { discard: true })

describe("a warning that repeats", () => {
  it.effect("is logged at once, and then once a minute with a count as long as it comes", () =>
    Effect.gen(function* () {
      const { lines, logger, warn } = yield* open
      const once = Effect.provide(warn("route down", "the node is down"), logger)
      yield* times(500, once)
      assert.deepStrictEqual(lines, ["the node is down"])
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(lines.splice(0), ["the node is down", "the node is down (499 such in a minute)"])
      yield* times(40, once)
      assert.deepStrictEqual(lines, [])
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(lines.splice(0), ["the node is down (40 such in a minute)"])
      yield* TestClock.adjust("5 minutes")
      assert.deepStrictEqual(lines, [])
      yield* once
      assert.deepStrictEqual(lines, ["the node is down"])
    }).pipe(Effect.provide(clock))
  )

  it.effect("hides none of another kind, and keeps no more kinds than there is room for", () =>
    Effect.gen(function* () {
      const { lines, logger, warn } = yield* open
      yield* Effect.provide(Effect.andThen(warn("a", "one"), warn("b", "two")), logger)
      assert.deepStrictEqual(lines.splice(0), ["one", "two"])
      for (let kind = 0; kind < 5_000; kind++) yield* Effect.provide(warn(`kind ${kind}`, `warning ${kind}`), logger)
      assert.strictEqual(lines.length, 99)
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(lines.length, 100)
      assert.match(lines.at(-1) ?? "", /^warning 4999 \(4901 such in a minute\)$/)
    }).pipe(Effect.provide(clock))
  )
})
