/** Pushes whose bytes the other network takes for a time only: others follow them, and the delivery is made once. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"

import * as Delivery from "../../../src/facilitator/store/Delivery.ts"
import * as LedgerShop from "../LedgerShop.ts"
import { begin, idsOf } from "../LedgerSteps.ts"
import * as BridgeShop from "./BridgeShop.ts"

/** A price of gas on the far ledger that keeps every push from being signed, and one that does not. */
const dear = 10_000n
const cheap = 10n

/** A payment that has departed, whose push waits since its gas costs too much. */
const waiting = Effect.fnUntraced(function* (options: BridgeShop.Options = {}) {
  const shop = yield* BridgeShop.open(options)
  shop.far.market.base = dear
  return yield* paidIn(shop)
})

const paidIn = Effect.fnUntraced(function* (shop: BridgeShop.Shop) {
  yield* begin(shop.facilitator.settle(yield* BridgeShop.pay(), LedgerShop.claim("a")))
  yield* TestClock.adjust("60 seconds")
  const [record] = yield* shop.store.undelivered("ledger:test", 10, -1n)
  const paymentId = record?.paymentId ?? ""
  const pushes = Effect.map(shop.store.page(-1n, 100), (records) =>
    records.filter(({ requirements }) => Delivery.isPush(requirements))
  )
  const last = Effect.map(shop.store.find(paymentId), (found) => {
    const { attempt = 0, unsent = 0 } = found?.delivery?.push ?? {}
    return { attempt, unsent }
  })
  return { ...shop, paymentId, pushes, last }
})

const statusesIn = (records: ReadonlyArray<{ readonly status: string }>) => records.map(({ status }) => status)

describe("a push whose attestation ends before it is signed", () => {
  it.effect("is followed by one with the next attestation, under a record of its own", () =>
    Effect.gen(function* () {
      const shop = yield* waiting()
      shop.bridge.faults.renewals++
      shop.far.market.base = cheap
      yield* TestClock.adjust("10 minutes")
      assert.strictEqual((yield* BridgeShop.deliveryOf(shop, shop.paymentId))?.status, "delivered")
      assert.deepStrictEqual(yield* shop.last, { attempt: 2, unsent: 1 })
      const pushes = yield* shop.pushes
      assert.deepStrictEqual(statusesIn(pushes), ["rejected", "final"])
      assert.include(pushes[0]?.history.at(-1)?.note, "never sent")
      assert.strictEqual(BridgeShop.arrivals(shop).length, 1)
      assert.strictEqual(idsOf(shop.far).size, 1)
    })
  )

  it.effect("does not count as a failed one, however often it ends, and each waits longer than the one before", () =>
    Effect.gen(function* () {
      const shop = yield* waiting()
      for (let seconds = 0; seconds < 1800; seconds += 5) {
        shop.bridge.faults.renewals++
        yield* TestClock.adjust("5 seconds")
      }
      const { attempt, unsent } = yield* shop.last
      assert.strictEqual(attempt, unsent + 1)
      assert.isAtLeast(attempt, 7)
      assert.isAtMost(attempt, 11)
      shop.far.market.base = cheap
      yield* TestClock.adjust("70 minutes")
      assert.strictEqual((yield* BridgeShop.deliveryOf(shop, shop.paymentId))?.status, "delivered")
      assert.strictEqual(BridgeShop.arrivals(shop).length, 1)
    })
  )

  it.effect("goes on as it was where its bytes were refused for a time and are the same afterwards", () =>
    Effect.gen(function* () {
      let renewed = 0
      const shop: BridgeShop.Shop = yield* BridgeShop.open({
        onward: (bridge) => ({
          ...bridge,
          observe: (departure) =>
            Effect.suspend(() => {
              shop.bridge.faults.renewals = 0
              const renew = Effect.sync(() => (shop.bridge.faults.renewals = renewed))
              return Effect.ensuring(bridge.observe(departure), renew)
            })
        })
      })
      renewed = 1
      const paid = yield* paidIn(shop)
      yield* TestClock.adjust("1 minute")
      const [refused] = yield* paid.pushes
      assert.strictEqual(refused?.history.at(-1)?.exit, "payment_refused")
      renewed = 0
      yield* TestClock.adjust("5 minutes")
      assert.deepStrictEqual(yield* paid.last, { attempt: 1, unsent: 0 })
      assert.deepStrictEqual(statusesIn(yield* paid.pushes), ["final"])
    })
  )

  it.effect("stays where another one could be made beside it", () =>
    Effect.gen(function* () {
      const shop = yield* waiting({
        onward: (bridge) => ({
          ...bridge,
          observe: (departure) =>
            Effect.map(bridge.observe(departure), (seen) =>
              seen._tag === "Ready"
                ? { ...seen, push: { requirements: seen.push.requirements, payload: seen.push.payload } }
                : seen
            )
        })
      })
      shop.bridge.faults.renewals++
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual(yield* shop.last, { attempt: 1, unsent: 0 })
      assert.deepStrictEqual(statusesIn(yield* shop.pushes), ["accepted"])
    })
  )

  it.effect("is known as the delivery's push, though the process that made it ended before it recorded its name", () =>
    Effect.gen(function* () {
      let isStruck = false
      const shop = yield* waiting({
        store: (store) => ({
          ...store,
          deliver: (id, report) => {
            const names = report._tag === "Undelivered" && report.push !== undefined
            return names && !isStruck
              ? Effect.andThen(
                  Effect.sync(() => (isStruck = true)),
                  Effect.never
                )
              : store.deliver(id, report)
          }
        })
      })
      assert.deepStrictEqual([yield* shop.last, isStruck], [{ attempt: 0, unsent: 0 }, true])
      shop.bridge.faults.renewals++
      shop.far.market.base = cheap
      const facilitator = yield* shop.restart
      yield* TestClock.adjust("10 minutes")
      assert.strictEqual((yield* BridgeShop.deliveryOf({ facilitator }, shop.paymentId))?.status, "delivered")
      assert.deepStrictEqual(yield* shop.last, { attempt: 2, unsent: 1 })
      assert.deepStrictEqual(statusesIn(yield* shop.pushes), ["rejected", "final"])
    })
  )
})
