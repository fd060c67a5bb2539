import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"

import { FacilitatorUnavailable } from "../../../src/protocol/ProtocolError.ts"
import type { PreparedTransaction } from "../../../src/scheme/SchemeFacilitator.ts"
import * as LedgerShop from "../LedgerShop.ts"
import { begin, idsOf, slotsOf, statusesOf } from "../LedgerSteps.ts"

const { claim, pay, settleMany } = LedgerShop

describe("after a restart", () => {
  /** A payment whose bytes were written down and perhaps sent, when its process ended. */
  const interrupted = Effect.fnUntraced(function* (arrived: boolean) {
    const shop = yield* LedgerShop.open({
      scheme: (scheme) => ({
        ...scheme,
        submit: (prepared: PreparedTransaction) =>
          Effect.andThen(arrived ? Effect.ignore(scheme.submit(prepared)) : Effect.void, Effect.never)
      })
    })
    shop.ledger.faults.holdBlocks = true
    const request = yield* pay()
    const caller = yield* begin(shop.facilitator.settle(request, claim("a")))
    yield* Fiber.interrupt(caller)
    return { ...shop, request }
  })

  it.effect("the stored bytes are sent, not new ones, without anybody asking", () =>
    Effect.gen(function* () {
      const { ledger, request, restart } = yield* interrupted(false)
      ledger.faults.holdBlocks = false
      const facilitator = yield* restart
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(ledger.transfers.length, 1)
      const settled = yield* facilitator.settle(request, claim("b"))
      const statuses = yield* statusesOf(facilitator, settled.paymentId)
      assert.strictEqual(settled.execution, "granted")
      assert.strictEqual(statuses?.filter((status) => status === "planned").length, 1)
      assert.strictEqual(ledger.submissions.length, 1)
    })
  )

  it.effect("bytes that are in the pool are not joined by others", () =>
    Effect.gen(function* () {
      const { ledger, request, restart } = yield* interrupted(true)
      const facilitator = yield* restart
      yield* TestClock.adjust("2 seconds")
      ledger.faults.holdBlocks = false
      const fiber = yield* begin(facilitator.settle(request, claim("b")), 3)
      assert.strictEqual((yield* Fiber.join(fiber)).status, "included")
      assert.strictEqual(idsOf(ledger).size, 1)
      assert.strictEqual(ledger.transfers.length, 1)
    })
  )

  it.effect("a transfer that happened meanwhile is found", () =>
    Effect.gen(function* () {
      const { ledger, request, restart } = yield* interrupted(true)
      ledger.mine()
      yield* TestClock.adjust("5 minutes")
      const facilitator = yield* restart
      const settled = yield* Fiber.join(yield* begin(facilitator.settle(request, claim("b")), 3))
      assert.strictEqual(settled.execution, "granted")
      assert.strictEqual(ledger.transfers.length, 1)
    })
  )

  it.effect("payments that waited in the queue are submitted", () =>
    Effect.gen(function* () {
      const { facilitator, ledger, restart } = yield* LedgerShop.open({ capacity: 2 })
      ledger.faults.holdBlocks = true
      const fibers = yield* settleMany(facilitator, 10)
      yield* TestClock.adjust("1 second")
      for (const fiber of fibers) yield* Fiber.interrupt(fiber)
      yield* restart
      ledger.faults.holdBlocks = false
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(ledger.transfers.length, 10)
      assert.strictEqual(idsOf(ledger).size, 10)
    })
  )
})

describe("an unavailable store", () => {
  const unavailable = Effect.fail(new FacilitatorUnavailable({ message: "the disk is full" }))

  it.effect("before the bytes are written down: nothing is sent; later it is", () =>
    Effect.gen(function* () {
      let broken = true
      const { facilitator, ledger } = yield* LedgerShop.open({
        store: (store) => ({
          ...store,
          plan: (lease, plans) => (broken ? unavailable : store.plan(lease, plans))
        })
      })
      const fiber = yield* begin(facilitator.settle(yield* pay(), claim("a")), 3)
      assert.strictEqual(ledger.submissions.length, 0)
      broken = false
      yield* TestClock.adjust("3 seconds")
      assert.strictEqual((yield* Fiber.join(fiber)).status, "included")
      assert.deepStrictEqual([...slotsOf(ledger)], [0n])
    })
  )

  it.effect("though the bytes were written down: exactly those are sent", () =>
    Effect.gen(function* () {
      let broken = true
      const { facilitator, ledger } = yield* LedgerShop.open({
        store: (store) => ({
          ...store,
          plan: (lease, plans) =>
            Effect.tap(store.plan(lease, plans), () => {
              const was = broken
              broken = false
              return was ? unavailable : Effect.void
            })
        })
      })
      const fiber = yield* begin(facilitator.settle(yield* pay(), claim("a")), 3)
      const settled = yield* Fiber.join(fiber)
      assert.deepStrictEqual([...idsOf(ledger)], [settled.transaction])
      const statuses = yield* statusesOf(facilitator, settled.paymentId)
      assert.strictEqual(statuses?.filter((status) => status === "planned").length, 1)
    })
  )

  it.effect("after the bytes were sent: the record catches up", () =>
    Effect.gen(function* () {
      let broken = true
      const { facilitator, ledger } = yield* LedgerShop.open({
        store: (store) => ({
          ...store,
          record: (lease, entry) => (broken ? unavailable : store.record(lease, entry))
        })
      })
      const fiber = yield* begin(facilitator.settle(yield* pay(), claim("a")), 3)
      assert.strictEqual(ledger.transfers.length, 1)
      broken = false
      yield* TestClock.adjust("3 seconds")
      assert.strictEqual((yield* Fiber.join(fiber)).status, "included")
      assert.strictEqual(ledger.transfers.length, 1)
    })
  )
})
