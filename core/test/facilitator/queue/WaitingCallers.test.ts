import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"

import * as WaitingCallers from "../../../src/facilitator/queue/WaitingCallers.ts"
import * as MemoryPaymentStore from "../../../src/facilitator/store/MemoryPaymentStore.ts"
import type { PaymentStore } from "../../../src/facilitator/store/PaymentStore.ts"
import * as PaymentStoreTrial from "../../../src/testing/store/PaymentStoreTrial.ts"
import * as LedgerShop from "../LedgerShop.ts"

const looking = "looks into the records"

/** A caller that waits for an update, and the update; `undefined` before it. */
const waiting = Effect.fnUntraced(function* () {
  const { signals } = yield* MemoryPaymentStore.make
  const { stored } = yield* PaymentStoreTrial.taken(yield* MemoryPaymentStore.make)
  const awaited = yield* WaitingCallers.make(signals)
  const fiber = yield* Effect.forkChild(
    awaited.during(stored.paymentId, (next) => Effect.map(next, (news) => news ?? looking))
  )
  yield* Effect.yieldNow
  const came = Effect.gen(function* () {
    return fiber.pollUnsafe() === undefined ? undefined : yield* Fiber.join(fiber)
  })
  return { awaited, came, hint: () => signals.notify(stored.paymentId), stored }
})

describe("news of a payment", () => {
  it.effect("is the record that was told, without a look", () =>
    Effect.gen(function* () {
      const { awaited, came, hint, stored } = yield* waiting()
      hint()
      awaited.notify([{ ...stored, paymentId: "another" }, stored])
      assert.strictEqual(yield* came, stored)
    })
  )

  it.effect("is looked for a moment after a hint", () =>
    Effect.gen(function* () {
      const { came, hint } = yield* waiting()
      hint()
      yield* TestClock.adjust("4 millis")
      assert.isUndefined(yield* came)
      yield* TestClock.adjust("1 millis")
      assert.strictEqual(yield* came, looking)
    })
  )

  it.effect("is looked for within two seconds where hints are lost", () =>
    Effect.gen(function* () {
      const { came } = yield* waiting()
      yield* TestClock.adjust("1 second")
      assert.isUndefined(yield* came)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* came, looking)
    })
  )

  it.effect("is kept for one who is busy, the last of it", () =>
    Effect.gen(function* () {
      const { signals } = yield* MemoryPaymentStore.make
      const { stored } = yield* PaymentStoreTrial.taken(yield* MemoryPaymentStore.make)
      const awaited = yield* WaitingCallers.make(signals)
      const news = yield* awaited.during(stored.paymentId, (next) =>
        Effect.suspend(() => {
          awaited.notify([stored])
          awaited.notify([{ ...stored, status: "included" }])
          return next
        })
      )
      assert.strictEqual(news?.status, "included")
    })
  )
})

describe("a settlement", () => {
  it.effect("that this process works reads its record once, before there is one", () =>
    Effect.gen(function* () {
      let looks = 0
      const shop = yield* LedgerShop.open({
        store: (honest): PaymentStore["Service"] => ({
          ...honest,
          find: (paymentId) =>
            Effect.andThen(
              Effect.sync(() => void looks++),
              honest.find(paymentId)
            )
        })
      })
      const settled = yield* shop.facilitator.settle(yield* LedgerShop.pay(), LedgerShop.claim("a"))
      assert.strictEqual(settled.status, "included")
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(looks, 1)
    })
  )

  it.effect("whose hints are all lost, and that another process works, is found", () =>
    Effect.gen(function* () {
      const deaf = { listen: () => Effect.succeed({ next: Effect.never }), hear: () => () => undefined }
      const shop = yield* LedgerShop.open()
      shop.ledger.faults.holdBlocks = true
      const store = { ...shop.store, signals: { ...shop.store.signals, ...deaf } }
      const other = yield* LedgerShop.facilitatorOf([shop.scheme], store, { leases: LedgerShop.idle })
      const fiber = yield* Effect.forkChild(other.settle(yield* LedgerShop.pay(), LedgerShop.claim("a")))
      yield* TestClock.adjust("1 second")
      shop.ledger.mine()
      yield* TestClock.adjust("3 seconds")
      assert.strictEqual((yield* Fiber.join(fiber)).status, "included")
    })
  )
})
