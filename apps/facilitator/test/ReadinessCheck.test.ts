import { assert, describe, it } from "@effect/vitest"
import { FacilitatorSchemes, IntakeGate, PaymentStore } from "@pontage/core"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as TestClock from "effect/testing/TestClock"

import { Readiness } from "../src/Readiness.ts"
import * as ReadinessCheck from "../src/ReadinessCheck.ts"
import * as TestFacilitator from "./TestFacilitator.ts"

const checkOf = (look: ReadinessCheck.ReadinessCheck["look"]): ReadinessCheck.ReadinessCheck => ({
  name: "disk",
  look,
  unseen: (why) => ({ troubles: [{ kind: "unseen", problem: why, mend: "look at it" }] })
})

const problemsIn = ({ troubles }: ReadinessCheck.Finding) => troubles.map(({ problem }) => problem)

describe("a look", () => {
  it.effect("that fails, or meets a defect, is a trouble", () =>
    Effect.gen(function* () {
      const failing = ReadinessCheck.looking(checkOf(Effect.fail({ message: "the disk is full" })))
      assert.deepStrictEqual(problemsIn(yield* failing), ["the disk is full"])
      const defective = ReadinessCheck.looking(checkOf(Effect.die("out of order")))
      assert.deepStrictEqual(problemsIn(yield* defective), ["the look at it met a defect"])
    })
  )

  it.effect("that cannot be interrupted answers in two seconds, and no other one begins while it hangs", () =>
    Effect.gen(function* () {
      let looks = 0
      const mended = yield* Deferred.make<void>()
      const hanging = Effect.suspend(() => (looks++, Effect.as(Deferred.await(mended), ReadinessCheck.fine)))
      const look = ReadinessCheck.looking(checkOf(Effect.uninterruptible(hanging)))
      for (let rounds = 0; rounds < 3; rounds++) {
        const fiber = yield* Effect.forkChild(look)
        yield* TestClock.adjust("2 seconds")
        assert.deepStrictEqual(problemsIn(yield* Fiber.join(fiber)), ["there was no answer within 2 seconds"])
      }
      assert.strictEqual(looks, 1)
      yield* Deferred.succeed(mended, undefined)
      assert.deepStrictEqual(problemsIn(yield* look), [])
      assert.deepStrictEqual(problemsIn(yield* look), [])
      assert.strictEqual(looks, 3)
    })
  )
})

/** The readiness over a store whose `find` a test changes, the log's lines, and the door that it closes. */
const watching = Effect.fnUntraced(function* () {
  const lines: Array<string> = []
  const intake = IntakeGate.make()
  const store = { find: (): Effect.Effect<undefined> => Effect.undefined }
  const inside = Layer.mergeAll(
    Layer.succeed(FacilitatorSchemes, []),
    Layer.succeed(PaymentStore.PaymentStore, TestFacilitator.store({ find: () => Effect.suspend(() => store.find()) })),
    Logger.layer([Logger.make(({ message }) => void lines.push(String(message)))])
  )
  const readiness = Readiness.layer({ budgetedCallers: [], intake, minimumGas: () => 1n })
  const context = yield* Layer.build(Layer.provide(readiness, inside))
  return { context, lines, store }
})

describe("a trouble", () => {
  it.effect("is told once in the log when it comes and once when it goes, though nobody asks", () =>
    Effect.gen(function* () {
      const { lines, store } = yield* watching()
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(lines, [])
      store.find = () => Effect.die("gone")
      yield* TestClock.adjust("10 seconds")
      const problem = "the payment records cannot be asked: the look at it met a defect"
      assert.deepStrictEqual(lines, [
        `not ready (records): ${problem}; look at the database of PONTAGE_STORE and the way to it`
      ])
      store.find = () => Effect.undefined
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(lines.slice(1), [`mended (records): no more of "${problem}"`])
    })
  )
})

describe("the door", () => {
  it.effect("is closed for all by a doubt in the records, and for new payments alone by one in their network", () =>
    Effect.gen(function* () {
      const door = IntakeGate.make()
      const passes = Effect.gen(function* () {
        return [
          Exit.isSuccess(yield* Effect.exit(door.passAny)),
          Exit.isSuccess(yield* Effect.exit(door.passNew("eip155:1"))),
          Exit.isSuccess(yield* Effect.exit(door.passNew("eip155:2")))
        ]
      })
      assert.deepStrictEqual(yield* passes, [true, true, true])
      door.close("clock", [{ network: "eip155:1", reason: "the clock is wrong" }])
      assert.deepStrictEqual(yield* passes, [true, false, true])
      const refusal = yield* Effect.flip(door.passNew("eip155:1"))
      assert.strictEqual(
        refusal.message,
        "no payment is taken now: the clock is wrong; send the same payment again later"
      )
      assert.strictEqual(refusal.retryAfter, 10)
      door.close("records", [{ reason: "the file is gone" }])
      assert.deepStrictEqual(yield* passes, [false, false, false])
      door.close("clock", [])
      door.close("records", [])
      assert.deepStrictEqual(yield* passes, [true, true, true])
    })
  )
})
