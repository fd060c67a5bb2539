/** Things that another network's node is needed for: they begin as soon as it answers, and the log says so. */
import { assert, describe, it } from "@effect/vitest"
import { ChainUnavailable, Misconfigured, Network } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as TestClock from "effect/testing/TestClock"

import * as FarRoute from "../../src/bridge/FarRoute.ts"

const network = Network.make("eip155:31338")

/** Runs with a log whose lines are kept. */
const logged = <A, E>(body: (lines: ReadonlyArray<string>) => Effect.Effect<A, E>) => {
  const lines: Array<string> = []
  const logger = Logger.layer([Logger.make(({ message }) => void lines.push(String(message)))])
  return Effect.provide(
    Effect.suspend(() => body(lines)),
    logger
  )
}

describe("another network of the settings", () => {
  it.effect("that answers at the start is served at once, and the log says so", () =>
    logged((lines) =>
      Effect.gen(function* () {
        const found = yield* FarRoute.whenever(network, Effect.succeed(7))
        assert.strictEqual(yield* found, 7)
        assert.deepStrictEqual(lines, ["payments go on to eip155:31338"])
      })
    )
  )

  it.effect("that is silent at the start is tried again when it is needed, and the log says both", () =>
    logged((lines) =>
      Effect.gen(function* () {
        let isUp = false
        const silent = new ChainUnavailable({ network, message: "nobody is there" })
        const find = Effect.suspend(() => (isUp ? Effect.succeed(7) : Effect.fail(silent)))
        const found = yield* FarRoute.whenever(network, find)
        assert.strictEqual((yield* Effect.flip(found)).message, "nobody is there")
        isUp = true
        yield* TestClock.adjust("5 seconds")
        assert.strictEqual(yield* found, 7)
        assert.deepStrictEqual(lines, [
          "payments do not go on to eip155:31338: nobody is there",
          "payments go on to eip155:31338"
        ])
      })
    )
  )

  it.effect("that contradicts the settings fails the start, and one that hangs delays it for three seconds", () =>
    logged(() =>
      Effect.gen(function* () {
        const wrong = Effect.fail(new Misconfigured({ message: "another chain" }))
        assert.strictEqual((yield* Effect.flip(FarRoute.whenever(network, wrong))).message, "another chain")
        const started = yield* Effect.forkChild(FarRoute.whenever(network, Effect.never))
        yield* TestClock.adjust("3 seconds")
        const found = yield* Fiber.join(started)
        const needed = yield* Effect.forkChild(Effect.flip(found))
        yield* TestClock.adjust("1 second")
        assert.include((yield* Fiber.join(needed)).message, "does not answer")
      })
    )
  )
})
