import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"

import { ChainUnavailable } from "../../../src/protocol/ProtocolError.ts"
import type { SchemeFacilitator } from "../../../src/scheme/SchemeFacilitator.ts"
import * as LedgerShop from "../LedgerShop.ts"
import { begin, idsOf, sentByAnother, statusesOf } from "../LedgerSteps.ts"

const { claim, pay, settleMany } = LedgerShop

/** A reorganisation during faults of the node, in which a later payment is included; blocks are final after a long time alone. */
const missed = (fault: (scheme: SchemeFacilitator, isOn: () => boolean) => SchemeFacilitator) =>
  Effect.gen(function* () {
    let isOn = false
    const { facilitator, ledger } = yield* LedgerShop.open({
      lanes: [],
      scheme: (scheme) => fault(scheme, () => isOn)
    })
    ledger.finality = 500
    yield* TestClock.adjust("5 seconds")
    const first = yield* begin(facilitator.settle(yield* pay(), claim("a")), 3)
    yield* Fiber.join(first)
    yield* TestClock.adjust("5 seconds")
    ledger.reorganise(9)
    ledger.emptyPool()
    isOn = true
    assert.strictEqual(ledger.transfers.length, 0)
    const second = yield* begin(facilitator.settle(yield* pay(), claim("b")), 3)
    yield* Fiber.join(second)
    yield* TestClock.adjust("3 seconds")
    isOn = false
    yield* TestClock.adjust("20 seconds")
    assert.strictEqual(ledger.transfers.length, 2)
  })
const unavailable = Effect.fail(new ChainUnavailable({ network: "ledger:test", message: "planted" }))

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

  it.effect("make a stranger's transfer final though our transaction does not show it any more: it is looked for", () =>
    Effect.gen(function* () {
      let isPruned = false
      let isDown = false
      const { facilitator, ledger, store } = yield* LedgerShop.open({
        scheme: (scheme) => ({
          ...scheme,
          observe: (payments, attempts) =>
            Effect.map(scheme.observe(payments, attempts), (seen) =>
              isPruned ? { ...seen, observations: payments.map(() => ({ _tag: "Pending" })) } : seen
            ),
          conclude: (payment) => Effect.suspend(() => (isDown ? unavailable : scheme.conclude(payment)))
        })
      })
      const open = store.openTransactions("ledger:test signer-1")
      const request = yield* pay()
      ledger.faults.holdBlocks = true
      const fiber = yield* begin(facilitator.settle(request, claim("a")))
      yield* sentByAnother(ledger, request)
      ledger.faults.holdBlocks = false
      yield* TestClock.adjust("3 seconds")
      const { paymentId } = yield* Fiber.join(fiber)
      assert.isDefined((yield* open)[0]?.inclusion)
      isPruned = true
      isDown = true
      yield* TestClock.adjust("30 seconds")
      const travelled = ["accepted", "planned", "sent", "included"]
      assert.deepStrictEqual(yield* statusesOf(facilitator, paymentId), travelled)
      isDown = false
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(yield* statusesOf(facilitator, paymentId), [...travelled, "final"])
      assert.deepStrictEqual(yield* open, [])
      assert.strictEqual(ledger.transfers.length, 1)
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

  it.effect("that are reorganised away while no node shows which blocks count are found afterwards", () =>
    missed((scheme, isOn) => ({
      ...scheme,
      isCanonical: (block) => Effect.suspend(() => (isOn() ? unavailable : scheme.isCanonical(block)))
    }))
  )

  it.effect("that are reorganised away while one of their transactions cannot be observed are found afterwards", () => {
    let first: string | undefined
    return missed((scheme, isOn) => ({
      ...scheme,
      observe: (payments, attempts) =>
        Effect.suspend(() => {
          first ??= attempts[0]?.transaction
          const isFirst = attempts.some(({ transaction }) => transaction === first)
          return isOn() && isFirst ? unavailable : scheme.observe(payments, attempts)
        })
    }))
  })

  it.effect("that are reorganised away while the node's answer about them is on its way are found afterwards", () =>
    Effect.gen(function* () {
      let isLate = true
      const { facilitator, ledger } = yield* LedgerShop.open({
        lanes: [],
        scheme: (scheme) => ({
          ...scheme,
          observe: (payments, attempts) =>
            Effect.tap(scheme.observe(payments, attempts), ({ inclusion }) => {
              if (!isLate || inclusion === undefined) return Effect.void
              isLate = false
              return Effect.sleep("9 seconds")
            })
        })
      })
      ledger.finality = 500
      yield* TestClock.adjust("5 seconds")
      const first = yield* begin(facilitator.settle(yield* pay(), claim("a")), 3)
      assert.isFalse(isLate)
      ledger.reorganise(7)
      ledger.emptyPool()
      const second = yield* begin(facilitator.settle(yield* pay(), claim("b")), 3)
      yield* Fiber.join(second)
      assert.strictEqual(ledger.transfers.length, 1)
      yield* TestClock.adjust("20 seconds")
      yield* Fiber.join(first)
      assert.strictEqual(ledger.transfers.length, 2)
    })
  )
})
