import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"

import { isSettled } from "../../../src/protocol/Settlement.ts"
import * as LedgerShop from "../LedgerShop.ts"
import { begin, slotsOf } from "../LedgerSteps.ts"

const { claim, pay, settleMany } = LedgerShop

describe("lanes", () => {
  it.effect("100 payments at once on one signer all settle, each in a slot of its own", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open()
      const fibers = yield* settleMany(facilitator, 100)
      yield* TestClock.adjust("5 seconds")
      for (const fiber of fibers) assert.strictEqual((yield* Fiber.join(fiber)).status, "included")
      assert.strictEqual(ledger.transfers.length, 100)
      assert.strictEqual(slotsOf(ledger).size, 100)
    })
  )

  it.effect("no more are on their way than a lane holds, and in the order of their slots", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open()
      ledger.faults.holdBlocks = true
      const fibers = yield* settleMany(facilitator, 40)
      yield* TestClock.adjust("2 seconds")
      const slots = ledger.submissions.map(({ slot }) => slot)
      assert.strictEqual(new Set(slots).size, 16)
      assert.deepStrictEqual(
        [...new Set(slots)],
        Array.from({ length: 16 }, (_, index) => BigInt(index))
      )
      ledger.faults.holdBlocks = false
      yield* TestClock.adjust("20 seconds")
      for (const fiber of fibers) assert.strictEqual((yield* Fiber.join(fiber)).status, "included")
    })
  )

  it.effect("several signers share the load", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open({ lanes: ["signer-1", "signer-2"] })
      const fibers = yield* settleMany(facilitator, 10)
      yield* TestClock.adjust("2 seconds")
      for (const fiber of fibers) yield* Fiber.join(fiber)
      assert.strictEqual(ledger.submissions.filter(({ lane }) => lane === "signer-1").length, 5)
      assert.strictEqual(ledger.submissions.filter(({ lane }) => lane === "signer-2").length, 5)
    })
  )

  it.effect("payers who send their own transactions need no slots", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open({ lanes: [] })
      const fibers = yield* settleMany(facilitator, 30)
      yield* TestClock.adjust("2 seconds")
      for (const fiber of fibers) assert.strictEqual((yield* Fiber.join(fiber)).status, "included")
      assert.strictEqual(ledger.transfers.length, 30)
      assert.deepStrictEqual([...slotsOf(ledger)], [undefined])
    })
  )

  it.effect("a payment that does not fit into one transaction goes into the next", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open({ batches: { maximum: 10, windowMillis: 50 }, fitting: 3 })
      const fibers = yield* settleMany(facilitator, 10)
      yield* TestClock.adjust("5 seconds")
      for (const fiber of fibers) assert.strictEqual((yield* Fiber.join(fiber)).status, "included")
      assert.deepStrictEqual(
        ledger.submissions.map(({ orders }) => orders.length),
        [3, 3, 3, 1]
      )
    })
  )
})

describe("closing", () => {
  it.effect("lets a settlement under way end first, where records do not outlive the process", () =>
    Effect.gen(function* () {
      const { facilitator, ledger, restart, store } = yield* LedgerShop.open({ drainMillis: 25_000 })
      ledger.faults.holdBlocks = true
      const caller = yield* begin(facilitator.settle(yield* pay(), claim("a")))
      yield* Fiber.interrupt(caller)
      const closing = yield* Effect.forkChild(restart)
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(ledger.transfers.length, 0)
      ledger.faults.holdBlocks = false
      yield* TestClock.adjust("3 seconds")
      yield* Fiber.join(closing)
      const [stored] = yield* store.page(0n, 1)
      assert.isTrue(stored !== undefined && isSettled(stored.status))
    })
  )
})
