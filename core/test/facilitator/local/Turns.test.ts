import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"

import * as Turns from "../../../src/facilitator/local/Turns.ts"

describe("Turns", () => {
  it.effect("let the effects of one key wait for each other, and hold up no other key", () =>
    Effect.gen(function* () {
      const turns = Turns.make()
      const begun = yield* Deferred.make<void>()
      const open = yield* Deferred.make<void>()
      const order: Array<string> = []
      const note = (name: string) => Effect.sync(() => void order.push(name))
      const first = yield* Effect.forkChild(
        turns(
          "a",
          Deferred.succeed(begun, undefined).pipe(Effect.andThen(Deferred.await(open)), Effect.andThen(note("a1")))
        )
      )
      yield* Deferred.await(begun)
      const second = yield* Effect.forkChild(turns("a", note("a2")), { startImmediately: true })
      yield* turns("b", note("b"))
      assert.deepStrictEqual(order, ["b"])
      yield* Deferred.succeed(open, undefined)
      yield* Fiber.join(first)
      yield* Fiber.join(second)
      assert.deepStrictEqual(order, ["b", "a1", "a2"])
    })
  )

  it.effect("pass on when the effect that has its turn is interrupted", () =>
    Effect.gen(function* () {
      const turns = Turns.make()
      const begun = yield* Deferred.make<void>()
      const stuck = yield* Effect.forkChild(
        turns("a", Effect.andThen(Deferred.succeed(begun, undefined), Effect.never))
      )
      yield* Deferred.await(begun)
      const next = yield* Effect.forkChild(turns("a", Effect.succeed("its turn")), { startImmediately: true })
      yield* Fiber.interrupt(stuck)
      assert.strictEqual(yield* Fiber.join(next), "its turn")
    })
  )
})
