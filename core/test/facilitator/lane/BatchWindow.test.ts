import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"

import * as LedgerShop from "../LedgerShop.ts"

const { claim, settleMany } = LedgerShop

const pay = LedgerShop.pay

describe("a batch window", () => {
  it.effect("a batch carries many payments, waits for further ones, and a failed one fails alone", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open({ batches: { maximum: 5, windowMillis: 50 } })
      ledger.faults.failEntries = 1
      const fibers = yield* settleMany(facilitator, 12)
      yield* TestClock.adjust("5 seconds")
      const ends = yield* Effect.forEach(fibers, (fiber) => Effect.result(Fiber.join(fiber)))
      assert.strictEqual(ends.filter(({ _tag }) => _tag === "Success").length, 11)
      assert.strictEqual(ledger.transfers.length, 11)
      assert.deepStrictEqual(
        ledger.submissions.map(({ orders }) => orders.length),
        [5, 5, 2]
      )
    })
  )

  it.effect("a payment that is alone does not wait if the last one was alone too", () =>
    Effect.gen(function* () {
      const { facilitator } = yield* LedgerShop.open({ batches: { maximum: 5, windowMillis: 50 } })
      const settlesAtOnce = Effect.fnUntraced(function* (name: string) {
        const fiber = yield* Effect.forkChild(facilitator.settle(yield* pay(), claim(name)))
        yield* TestClock.adjust("40 millis")
        const isSettled = fiber.pollUnsafe() !== undefined
        yield* TestClock.adjust("5 seconds")
        yield* Fiber.join(fiber)
        return isSettled
      })
      assert.isFalse(yield* settlesAtOnce("first"))
      assert.isTrue(yield* settlesAtOnce("second"))
      assert.isTrue(yield* settlesAtOnce("third"))
      const together = yield* settleMany(facilitator, 3)
      yield* TestClock.adjust("5 seconds")
      for (const fiber of together) assert.strictEqual((yield* Fiber.join(fiber)).status, "included")
    })
  )

  it.effect("a batch is submitted once as many payments have come as last time, and no other comes for a while", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open({ batches: { maximum: 5, windowMillis: 40 } })
      const settlesWithin = Effect.fnUntraced(function* (millis: number, name: string, count: number) {
        const fibers = yield* settleMany(facilitator, count, name)
        yield* TestClock.adjust(`${millis} millis`)
        const settled = fibers.filter((fiber) => fiber.pollUnsafe() !== undefined).length
        yield* TestClock.adjust("5 seconds")
        for (const fiber of fibers) yield* Fiber.join(fiber)
        return settled
      })
      assert.strictEqual(yield* settlesWithin(39, "first", 3), 0)
      assert.strictEqual(yield* settlesWithin(3, "early", 3), 0)
      assert.strictEqual(yield* settlesWithin(16, "second", 3), 3)
      assert.strictEqual(yield* settlesWithin(16, "more", 4), 4)
      assert.strictEqual(yield* settlesWithin(16, "fewer", 2), 2)
      assert.strictEqual(yield* settlesWithin(39, "alone", 1), 0)
      assert.deepStrictEqual(
        ledger.submissions.map(({ orders }) => orders.length),
        [3, 3, 3, 4, 2, 1]
      )
    })
  )

  it.effect("a batch is submitted when no payment has come for four intervals", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open({ batches: { maximum: 9, windowMillis: 40 } })
      const sizes = () => ledger.submissions.map(({ orders }) => orders.length)
      const come = Effect.fnUntraced(function* (name: string, count: number, apart: number) {
        yield* settleMany(facilitator, 1, name)
        for (let next = 1; next < count; next++) {
          yield* TestClock.adjust(`${apart} millis`)
          yield* settleMany(facilitator, 1, `${name} ${next}`)
        }
      })
      yield* come("first", 4, 3)
      yield* TestClock.adjust("30 millis")
      assert.deepStrictEqual(sizes(), [], "nothing is known yet of how they come")
      yield* TestClock.adjust("5 seconds")
      yield* come("fewer", 3, 3)
      yield* TestClock.adjust("13 millis")
      assert.deepStrictEqual(sizes(), [4])
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(sizes(), [4, 3])
      yield* TestClock.adjust("5 seconds")
      yield* come("quicker than the last ones", 2, 1)
      yield* TestClock.adjust("14 millis")
      assert.deepStrictEqual(sizes(), [4, 3])
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(sizes(), [4, 3, 2])
      yield* TestClock.adjust("5 seconds")
    })
  )

  it.effect("a batch waits while payments come, no longer than its window, and not when it is full", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open({ batches: { maximum: 20, windowMillis: 40 } })
      const sizes = () => ledger.submissions.map(({ orders }) => orders.length)
      yield* settleMany(facilitator, 2, "first")
      yield* TestClock.adjust("5 seconds")
      for (let count = 0; count < 12; count++) {
        yield* settleMany(facilitator, 1, `coming ${count}`)
        yield* TestClock.adjust("3.5 millis")
      }
      assert.deepStrictEqual(sizes(), [2, 12])
      yield* TestClock.adjust("5 seconds")
      yield* settleMany(facilitator, 20, "full")
      yield* TestClock.adjust("4 millis")
      assert.deepStrictEqual(sizes(), [2, 12, 20])
    })
  )

  it.effect("payments submitted alone are not counted in the next window", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open({
        batches: { maximum: 6, windowMillis: 40 },
        scheme: (scheme) => ({ ...scheme, chainHead: Effect.andThen(Effect.sleep("10 millis"), scheme.chainHead) })
      })
      for (let count = 0; count < 6; count++) {
        yield* settleMany(facilitator, 1, `alone ${count}`)
        yield* TestClock.adjust("5 seconds")
      }
      yield* settleMany(facilitator, 1, "ahead")
      yield* TestClock.adjust("5 millis")
      yield* settleMany(facilitator, 2, "pair")
      yield* TestClock.adjust("6 millis")
      yield* settleMany(facilitator, 1, "right behind")
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(
        ledger.submissions.map(({ orders }) => orders.length),
        [1, 1, 1, 1, 1, 1, 1, 3]
      )
    })
  )
})
