import { assert, describe, it } from "@effect/vitest"
import { FacilitatorUnavailable, IntakeGate, PaymentStore } from "@pontage/core"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as TestClock from "effect/testing/TestClock"

import { Readiness } from "../../src/readiness/Readiness.ts"
import * as ReadinessCheck from "../../src/readiness/ReadinessCheck.ts"
import * as TestFacilitator from "../TestFacilitator.ts"

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

/** The readiness over a store whose probe a test changes, the log's lines, and the door that it closes. */
const watching = Effect.fnUntraced(function* () {
  const lines: Array<string> = []
  const intake = IntakeGate.make()
  const store: { probe: PaymentStore.PaymentStore["Service"]["probe"] } = { probe: Effect.void }
  const inside = Layer.mergeAll(
    TestFacilitator.registered([]),
    Layer.succeed(PaymentStore.PaymentStore, TestFacilitator.store({ probe: Effect.suspend(() => store.probe) })),
    Logger.layer([Logger.make(({ message }) => void lines.push(String(message)))])
  )
  const readiness = Readiness.layer({ budgetedCallers: [], intake, minimumGas: () => 1n })
  const context = yield* Layer.build(Layer.provide(readiness, inside))
  const isOpen = Effect.map(Effect.exit(intake.passAny), Exit.isSuccess)
  return { context, intake, isOpen, lines, store }
})

const full = "the payment records cannot be asked: the disk is full: make room on the disk of the database (13)"

describe("records that cannot be written", () => {
  it.effect(
    "are told once in the log when it begins and once when it ends, though nobody asks; nothing is taken meanwhile",
    () =>
      Effect.gen(function* () {
        const { intake, isOpen, lines, store } = yield* watching()
        yield* TestClock.adjust("4 seconds")
        assert.deepStrictEqual(lines, [])
        assert.isTrue(yield* isOpen)
        store.probe = Effect.fail(new FacilitatorUnavailable({ message: full }))
        yield* TestClock.adjust("5 seconds")
        assert.deepStrictEqual(lines, [
          `not ready (records): ${full}; once that is mended, payments are taken again; without a restart, unless it says otherwise`
        ])
        assert.isFalse(yield* isOpen)
        assert.include((yield* Effect.flip(intake.passNew("eip155:1"))).message, "the disk is full")
        store.probe = Effect.void
        yield* TestClock.adjust("500 millis")
        assert.deepStrictEqual(lines.slice(1), [`mended (records): no more of "${full}"`])
        assert.isTrue(yield* isOpen)
      })
  )

  it.effect("stop nothing while they are only slow to answer", () =>
    Effect.gen(function* () {
      const { isOpen, lines, store } = yield* watching()
      store.probe = Effect.never
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(lines, [
        "not ready (records): the payment records cannot be asked: there was no answer within 2 seconds; look at the database of PONTAGE_STORE, its load and the way to it"
      ])
      assert.isTrue(yield* isOpen)
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
