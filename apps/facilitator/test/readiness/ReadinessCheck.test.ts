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

const checkOf = (run: ReadinessCheck.ReadinessCheck["run"]): ReadinessCheck.ReadinessCheck => ({
  name: "disk",
  run,
  failed: (why) => ({ troubles: [{ kind: "failed", problem: why, mend: "check it" }] })
})

const problemsIn = ({ troubles }: ReadinessCheck.Finding) => troubles.map(({ problem }) => problem)

describe("a check", () => {
  it.effect("that fails or has a defect is a trouble", () =>
    Effect.gen(function* () {
      const failing = ReadinessCheck.bounded(checkOf(Effect.fail({ message: "the disk is full" })))
      assert.deepStrictEqual(problemsIn(yield* failing), ["the disk is full"])
      const defective = ReadinessCheck.bounded(checkOf(Effect.die("out of order")))
      assert.deepStrictEqual(problemsIn(yield* defective), ["the check itself has a defect"])
    })
  )

  it.effect("that cannot be interrupted answers in two seconds, and runs once while it hangs", () =>
    Effect.gen(function* () {
      let runs = 0
      const mended = yield* Deferred.make<void>()
      const hanging = Effect.suspend(() => (runs++, Effect.as(Deferred.await(mended), ReadinessCheck.fine)))
      const check = ReadinessCheck.bounded(checkOf(Effect.uninterruptible(hanging)))
      for (let rounds = 0; rounds < 3; rounds++) {
        const fiber = yield* Effect.forkChild(check)
        yield* TestClock.adjust("2 seconds")
        assert.deepStrictEqual(problemsIn(yield* Fiber.join(fiber)), ["there was no response within 2 seconds"])
      }
      assert.strictEqual(runs, 1)
      yield* Deferred.succeed(mended, undefined)
      assert.deepStrictEqual(problemsIn(yield* check), [])
      assert.deepStrictEqual(problemsIn(yield* check), [])
      assert.strictEqual(runs, 3)
    })
  )
})

/** The readiness over a store whose probe a test changes, the lines of the log, and the gate that it closes. */
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

const full = "the payment records do not respond: the disk is full: make room on the disk of the database (13)"

describe("records that cannot be written", () => {
  it.effect(
    "are logged once when it begins and once when it ends, without any request; no payment is taken meanwhile",
    () =>
      Effect.gen(function* () {
        const { intake, isOpen, lines, store } = yield* watching()
        yield* TestClock.adjust("4 seconds")
        assert.deepStrictEqual(lines, [])
        assert.isTrue(yield* isOpen)
        store.probe = Effect.fail(new FacilitatorUnavailable({ message: full }))
        yield* TestClock.adjust("5 seconds")
        assert.deepStrictEqual(lines, [
          `not ready (records): ${full}; payments are taken again as soon as that is mended, without a restart unless the message asks for one`
        ])
        assert.isFalse(yield* isOpen)
        assert.include((yield* Effect.flip(intake.passNew("eip155:1"))).message, "the disk is full")
        store.probe = Effect.void
        yield* TestClock.adjust("500 millis")
        assert.deepStrictEqual(lines.slice(1), [`mended (records): "${full}" is over`])
        assert.isTrue(yield* isOpen)
      })
  )

  it.effect("stop every payment until a write succeeds, also while the store does not answer meanwhile", () =>
    Effect.gen(function* () {
      const { isOpen, lines, store } = yield* watching()
      store.probe = Effect.fail(new FacilitatorUnavailable({ message: full }))
      yield* TestClock.adjust("5 seconds")
      assert.isFalse(yield* isOpen)
      store.probe = Effect.never
      yield* TestClock.adjust("5 seconds")
      assert.isFalse(yield* isOpen)
      assert.isFalse(lines.some((line) => line.startsWith("mended")))
      store.probe = Effect.die("out of order")
      yield* TestClock.adjust("5 seconds")
      assert.isFalse(yield* isOpen)
      store.probe = Effect.void
      yield* TestClock.adjust("500 millis")
      assert.isTrue(yield* isOpen)
      assert.include(lines, `mended (records): "${full}" is over`)
    })
  )

  it.effect("stop no payment while they are only slow", () =>
    Effect.gen(function* () {
      const { isOpen, lines, store } = yield* watching()
      store.probe = Effect.never
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(lines, [
        "not ready (records): the payment records do not respond: there was no response within 2 seconds; check the database of PONTAGE_STORE, its load and the connection to it"
      ])
      assert.isTrue(yield* isOpen)
    })
  )
})

describe("the gate", () => {
  it.effect("is closed for all payments by faulty records, and for new payments by a fault of their network", () =>
    Effect.gen(function* () {
      const gate = IntakeGate.make()
      const passes = Effect.gen(function* () {
        return [
          Exit.isSuccess(yield* Effect.exit(gate.passAny)),
          Exit.isSuccess(yield* Effect.exit(gate.passNew("eip155:1"))),
          Exit.isSuccess(yield* Effect.exit(gate.passNew("eip155:2")))
        ]
      })
      assert.deepStrictEqual(yield* passes, [true, true, true])
      gate.close("clock", [{ network: "eip155:1", reason: "the clock is wrong" }])
      assert.deepStrictEqual(yield* passes, [true, false, true])
      const refusal = yield* Effect.flip(gate.passNew("eip155:1"))
      assert.strictEqual(
        refusal.message,
        "no payment is taken now: the clock is wrong; send the same payment again later"
      )
      assert.strictEqual(refusal.retryAfter, 10)
      gate.close("records", [{ reason: "the file is gone" }])
      assert.deepStrictEqual(yield* passes, [false, false, false])
      gate.close("clock", [])
      gate.close("records", [])
      assert.deepStrictEqual(yield* passes, [true, true, true])
    })
  )
})
