import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"

import * as LedgerShop from "../LedgerShop.ts"
import { begin, idsOf } from "../LedgerSteps.ts"

const { claim, pay, settleMany } = LedgerShop

describe("blocks", () => {
  it.effect("deep enough make a payment final, and its transaction is not watched any more", () =>
    Effect.gen(function* () {
      const { facilitator, ledger, store } = yield* LedgerShop.open()
      const { paymentId } = yield* facilitator.settle(yield* pay(), claim("a"))
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual((yield* store.find(paymentId))?.status, "included")
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual((yield* store.find(paymentId))?.status, "final")
      assert.deepStrictEqual(yield* store.openTransactions("ledger:test signer-1"), [])
      assert.strictEqual(ledger.transfers.length, 1)
    })
  )

  it.effect("are not final by one false answer of a node: what it does not show again is sent after all", () =>
    Effect.gen(function* () {
      let lies = 1
      const { facilitator, ledger, store } = yield* LedgerShop.open({
        scheme: (scheme) => ({
          ...scheme,
          observe: (observedPayments, attempts) =>
            Effect.suspend(() => {
              const [attempt] = attempts
              if (lies-- <= 0 || attempt === undefined) return scheme.observe(observedPayments, attempts)
              return Effect.map(scheme.chainHead, ({ head: { hash, number } }) => {
                const block = { hash, number }
                const { transaction } = attempt
                return {
                  inclusion: { transaction, block, cost: 1n },
                  observations: observedPayments.map(() => ({
                    _tag: "Settled" as const,
                    transaction,
                    block,
                    external: false
                  }))
                }
              })
            })
        })
      })
      ledger.faults.dropNext = 1
      const { paymentId, status } = yield* facilitator.settle(yield* pay(), claim("a"))
      assert.strictEqual(status, "included")
      assert.strictEqual(ledger.transfers.length, 0)
      const next = yield* begin(facilitator.settle(yield* pay(), claim("b")))
      yield* TestClock.adjust("60 seconds")
      assert.strictEqual((yield* Fiber.join(next)).execution, "granted")
      assert.strictEqual(ledger.transfers.length, 2)
      const stored = yield* store.find(paymentId)
      assert.deepStrictEqual(
        stored?.history.map(({ status }) => status),
        ["accepted", "planned", "sent", "included", "sent", "included", "final"]
      )
    })
  )

  it.effect("that are reorganised away bring their payments back: the same bytes, one transfer", () =>
    Effect.gen(function* () {
      const { facilitator, ledger, store } = yield* LedgerShop.open()
      const fibers = yield* settleMany(facilitator, 5)
      yield* TestClock.adjust("2 seconds")
      const settled = yield* Effect.forEach(fibers, (fiber) => Fiber.join(fiber))
      ledger.reorganise(7)
      assert.strictEqual(ledger.transfers.length, 0)
      yield* TestClock.adjust("30 seconds")
      assert.strictEqual(ledger.transfers.length, 5)
      assert.strictEqual(idsOf(ledger).size, 5)
      for (const { paymentId } of settled) {
        const stored = yield* store.find(paymentId)
        assert.strictEqual(stored?.status, "final")
        assert.deepStrictEqual(
          stored?.history.map(({ status }) => status),
          ["accepted", "planned", "sent", "included", "sent", "included", "final"]
        )
      }
    })
  )
})
