import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"

import { stuckMillis } from "../../../src/facilitator/delivery/DeliveryWatch.ts"
import * as Delivery from "../../../src/facilitator/store/Delivery.ts"
import * as Network from "../../../src/protocol/Network.ts"
import { ChainUnavailable } from "../../../src/protocol/ProtocolError.ts"
import * as TestBridge from "../../../src/testing/ledger/TestBridge.ts"
import * as LedgerShop from "../LedgerShop.ts"
import { begin, idsOf, slotsOf } from "../LedgerSteps.ts"
import * as BridgeShop from "./BridgeShop.ts"

const arriving = LedgerShop.amount - TestBridge.fee

/** A payment that has departed; its message is attested by the next observation. */
const departed = Effect.fnUntraced(function* (
  options: BridgeShop.Options = {},
  prepare: (shop: BridgeShop.Shop) => void = () => {}
) {
  const shop = yield* BridgeShop.open(options)
  prepare(shop)
  const request = yield* BridgeShop.pay()
  const settled = yield* begin(shop.facilitator.settle(request, LedgerShop.claim("a")))
  yield* TestClock.adjust("1 second")
  const record = yield* shop.store.undelivered("ledger:test", 10, -1n)
  const paymentId = record[0]?.paymentId ?? ""
  return { ...shop, shop, request, settled, paymentId }
})

/** A network whose node takes ten seconds to fail. */
const hanging = Network.make("ledger:slow")
const toSlow = "acct-to-slow"

describe("DeliveryWatch", () => {
  it.effect("a network that does not respond delays no delivery to another one", () =>
    Effect.gen(function* () {
      const shop = yield* BridgeShop.open({
        onward: (bridge) => ({
          destination: (payment) => (payment.authorization.payTo === toSlow ? hanging : bridge.destination(payment)),
          observe: (departure) =>
            departure.payment.authorization.payTo === toSlow
              ? Effect.andThen(
                  Effect.sleep("10 seconds"),
                  Effect.fail(new ChainUnavailable({ network: hanging, message: "no response" }))
                )
              : bridge.observe(departure)
        })
      })
      for (let payments = 0; payments < 24; payments++) {
        const request = yield* BridgeShop.pay(true, toSlow)
        yield* begin(shop.facilitator.settle(request, LedgerShop.claim(`slow ${payments}`)))
      }
      yield* TestClock.adjust("2 seconds")
      const request = yield* BridgeShop.pay()
      yield* begin(shop.facilitator.settle(request, LedgerShop.claim("quick")))
      yield* TestClock.adjust("9 seconds")
      assert.strictEqual(BridgeShop.arrivals(shop).length, 1)
    })
  )

  it.effect("pushes an attested message that nobody has delivered, once, and records both legs", () =>
    Effect.gen(function* () {
      const { facilitator, far, paymentId, shop } = yield* departed()
      yield* TestClock.adjust("30 seconds")
      const record = yield* facilitator.payment(paymentId)
      assert.strictEqual(record?.status, "final")
      assert.deepStrictEqual(record?.delivery, {
        network: "ledger:far",
        status: "delivered",
        transaction: BridgeShop.arrivals(shop)[0]?.transaction ?? "",
        amount: `${arriving}`
      })
      assert.notStrictEqual(record?.transaction, record?.delivery?.transaction)
      assert.strictEqual(BridgeShop.arrivals(shop).length, 1)
      assert.strictEqual(idsOf(far).size, 1)
      assert.strictEqual(far.balanceOf(LedgerShop.payee), arriving)
    })
  )

  it.effect(
    "waits for the attestation, says why, calls it stuck after half an hour, and delivers it when it comes",
    () =>
      Effect.gen(function* () {
        const { bridge, far, paymentId, shop } = yield* departed({}, ({ bridge: { faults } }) => {
          faults.withheld = true
        })
        yield* TestClock.adjust("60 seconds")
        const waiting = {
          network: "ledger:far",
          status: "pending",
          detail: "the departure is not attested yet"
        } as const
        assert.deepStrictEqual(yield* BridgeShop.deliveryOf(shop, paymentId), waiting)
        assert.deepStrictEqual(yield* shop.store.openDeliveries, [
          { from: "ledger:test", to: "ledger:far", status: "pending", count: 1 }
        ])
        yield* TestClock.adjust(stuckMillis)
        assert.deepStrictEqual(yield* BridgeShop.deliveryOf(shop, paymentId), { ...waiting, status: "stuck" })
        assert.strictEqual(far.submissions.length, 0)
        bridge.faults.withheld = false
        yield* TestClock.adjust("60 seconds")
        assert.strictEqual((yield* BridgeShop.deliveryOf(shop, paymentId))?.status, "delivered")
        assert.deepStrictEqual(yield* shop.store.openDeliveries, [])
      })
  )

  it.effect("counts the delivery of a stranger, and pushes nothing", () =>
    Effect.gen(function* () {
      const { bridge, far, paymentId, request, shop } = yield* departed({ pushes: false })
      yield* TestClock.adjust("3 seconds")
      const stuck = yield* BridgeShop.deliveryOf(shop, paymentId)
      assert.strictEqual(stuck?.status, "stuck")
      assert.include(stuck?.detail, "is not pushed here")
      yield* bridge.deliverByStranger(yield* BridgeShop.orderOf(request))
      yield* TestClock.adjust("30 seconds")
      const delivery = yield* BridgeShop.deliveryOf(shop, paymentId)
      assert.deepStrictEqual(delivery, {
        network: "ledger:far",
        status: "delivered",
        transaction: "stranger/by-a-stranger",
        amount: `${arriving}`
      })
      assert.strictEqual(far.submissions.length, 0)
    })
  )

  it.effect("a stranger that delivers before its push is included is the only one that delivers", () =>
    Effect.gen(function* () {
      const { bridge, far, paymentId, request, shop } = yield* departed({}, ({ far: { faults } }) => {
        faults.holdBlocks = true
      })
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(idsOf(far).size, 1)
      yield* bridge.deliverByStranger(yield* BridgeShop.orderOf(request))
      far.faults.holdBlocks = false
      yield* TestClock.adjust("60 seconds")
      assert.strictEqual((yield* BridgeShop.deliveryOf(shop, paymentId))?.transaction, "stranger/by-a-stranger")
      assert.strictEqual(BridgeShop.arrivals(shop).length, 1)
      assert.strictEqual(far.balanceOf(LedgerShop.payee), arriving)
    })
  )

  it.effect(
    "a delivery that the far ledger takes back is pending again, and is made again by the lane that made it",
    () =>
      Effect.gen(function* () {
        const { far, paymentId, shop } = yield* departed({}, ({ far: ledger }) => {
          ledger.finality = 40
        })
        yield* TestClock.adjust("6 seconds")
        assert.strictEqual((yield* BridgeShop.deliveryOf(shop, paymentId))?.status, "delivered")
        far.faults.holdBlocks = true
        far.reorganise(20)
        assert.strictEqual(BridgeShop.arrivals(shop).length, 0)
        yield* TestClock.adjust("20 seconds")
        const back = yield* BridgeShop.deliveryOf(shop, paymentId)
        assert.strictEqual(back?.status, "pending")
        assert.isUndefined(back?.transaction)
        far.faults.holdBlocks = false
        yield* TestClock.adjust("90 seconds")
        assert.strictEqual((yield* BridgeShop.deliveryOf(shop, paymentId))?.status, "delivered")
        assert.strictEqual(BridgeShop.arrivals(shop).length, 1)
        assert.strictEqual(slotsOf(far).size, 1)
        assert.deepStrictEqual(yield* shop.store.openDeliveries, [])
      })
  )

  it.effect("a departure that is taken back after its attestation departs again, and is delivered once", () =>
    Effect.gen(function* () {
      const { far, near, paymentId, shop } = yield* departed({}, (opened) => {
        opened.near.finality = 60
        opened.bridge.faults.frozen = true
      })
      yield* TestClock.adjust("3 seconds")
      assert.strictEqual((yield* BridgeShop.deliveryOf(shop, paymentId))?.status, "stuck")
      near.reorganise(10)
      shop.bridge.faults.frozen = false
      yield* TestClock.adjust("120 seconds")
      assert.strictEqual((yield* shop.facilitator.payment(paymentId))?.status, "final")
      assert.strictEqual((yield* BridgeShop.deliveryOf(shop, paymentId))?.status, "delivered")
      assert.strictEqual(near.transfers.length, 1)
      assert.strictEqual(BridgeShop.arrivals(shop).length, 1)
      assert.strictEqual(far.balanceOf(LedgerShop.payee), arriving)
    })
  )

  it.effect("a blocked delivery is stuck at once, is not pushed, and is pushed when it can be", () =>
    Effect.gen(function* () {
      const { bridge, far, paymentId, shop } = yield* departed({}, ({ bridge: { faults } }) => {
        faults.frozen = true
      })
      yield* TestClock.adjust("20 seconds")
      const stuck = yield* BridgeShop.deliveryOf(shop, paymentId)
      assert.deepStrictEqual(stuck, {
        network: "ledger:far",
        status: "stuck",
        detail: "the recipient is frozen on the far ledger"
      })
      assert.strictEqual(far.submissions.length, 0)
      bridge.faults.frozen = false
      yield* TestClock.adjust("60 seconds")
      assert.strictEqual((yield* BridgeShop.deliveryOf(shop, paymentId))?.status, "delivered")
    })
  )

  it.effect("a failed push is made again under a record of its own, five times at most", () =>
    Effect.gen(function* () {
      const { far, paymentId, shop } = yield* departed({}, (opened) => {
        opened.far.faults.failEntries = 2
      })
      yield* TestClock.adjust("120 seconds")
      assert.strictEqual((yield* BridgeShop.deliveryOf(shop, paymentId))?.status, "delivered")
      assert.strictEqual(idsOf(far).size, 3)
      assert.strictEqual((yield* shop.store.find(paymentId))?.delivery?.push?.attempt, 3)

      const hopeless = yield* departed({}, (opened) => {
        opened.far.faults.failEntries = 100
      })
      yield* TestClock.adjust("300 seconds")
      const stuck = yield* BridgeShop.deliveryOf(hopeless.shop, hopeless.paymentId)
      assert.strictEqual(stuck?.status, "stuck")
      assert.include(stuck?.detail, "all 5 pushes failed")
      assert.strictEqual(idsOf(hopeless.far).size, 5)
      assert.strictEqual(hopeless.bridge.undelivered(), arriving)
    })
  )

  it.effect("a push that its lane could not send waits, and is sent once its obstacle is gone", () =>
    Effect.gen(function* () {
      const { far, paymentId, shop } = yield* departed({}, (opened) => {
        opened.far.market.base = 10_000n
      })
      yield* TestClock.adjust("60 seconds")
      const waiting = yield* BridgeShop.deliveryOf(shop, paymentId)
      assert.strictEqual(waiting?.status, "pending")
      assert.include(waiting?.detail, "more than the 1000 that the operator allows")
      far.market.base = 10n
      yield* TestClock.adjust("600 seconds")
      assert.strictEqual((yield* BridgeShop.deliveryOf(shop, paymentId))?.status, "delivered")
      assert.strictEqual(BridgeShop.arrivals(shop).length, 1)
    })
  )

  it.effect("a push that its transaction did not make is made by another one, ever later, under its one record", () =>
    Effect.gen(function* () {
      const { far, paymentId, shop } = yield* departed({}, (opened) => {
        opened.bridge.faults.refusable = true
        opened.far.faults.failEntries = 6
      })
      yield* TestClock.adjust("15 seconds")
      const waiting = yield* BridgeShop.deliveryOf(shop, paymentId)
      assert.strictEqual(waiting?.status, "pending")
      assert.include(waiting?.detail, "has not made it: reverted")
      assert.strictEqual(slotsOf(far).size, 1)
      yield* TestClock.adjust("400 seconds")
      assert.strictEqual(slotsOf(far).size, 5)
      yield* TestClock.adjust("40 minutes")
      assert.strictEqual((yield* BridgeShop.deliveryOf(shop, paymentId))?.status, "delivered")
      assert.strictEqual(slotsOf(far).size, 7)
      assert.strictEqual(idsOf(far).size, 7)
      assert.strictEqual(BridgeShop.arrivals(shop).length, 1)
      assert.strictEqual((yield* shop.store.find(paymentId))?.delivery?.push?.attempt, 1)
      const push = (yield* shop.store.page(-1n, 10)).find(({ requirements }) => Delivery.isPush(requirements))
      assert.strictEqual(push?.status, "final")
      assert.strictEqual(push?.history.filter(({ status }) => status === "planned").length, 7)
      assert.deepStrictEqual(yield* shop.store.openTransactions(push?.lane ?? ""), [])
      assert.deepStrictEqual(yield* shop.store.openDeliveries, [])
    })
  )

  it.effect("no chain that is down, and no answer that is lost, makes a second push", () =>
    Effect.gen(function* () {
      const { far, near, paymentId, shop } = yield* departed({}, (opened) => {
        opened.far.faults.loseAnswers = true
      })
      yield* TestClock.adjust("2 seconds")
      far.faults.down = true
      near.faults.down = true
      yield* TestClock.adjust("90 seconds")
      near.faults.down = false
      far.faults.down = false
      yield* TestClock.adjust("90 seconds")
      assert.strictEqual((yield* BridgeShop.deliveryOf(shop, paymentId))?.status, "delivered")
      assert.strictEqual(BridgeShop.arrivals(shop).length, 1)
      assert.strictEqual(idsOf(far).size, 1)
    })
  )

  it.effect("a delivery that is stuck for hours is still observed, ever less often, and arrives", () =>
    Effect.gen(function* () {
      let observed = 0
      const { bridge, paymentId, shop } = yield* departed(
        {
          store: (store) => ({
            ...store,
            deliver: (id, report) =>
              Effect.andThen(
                Effect.sync(() => observed++),
                store.deliver(id, report)
              )
          })
        },
        ({ bridge: { faults } }) => {
          faults.frozen = true
        }
      )
      yield* TestClock.adjust("4 hours")
      observed = 0
      yield* TestClock.adjust("1 hour")
      // Every two minutes by then; every 15 seconds at first.
      assert.isAtLeast(observed, 20)
      assert.isAtMost(observed, 40)
      bridge.faults.frozen = false
      yield* TestClock.adjust("5 minutes")
      assert.strictEqual((yield* BridgeShop.deliveryOf(shop, paymentId))?.status, "delivered")
    })
  )

  it.effect("a clock that is set back by two hours keeps no delivery from being observed", () =>
    Effect.gen(function* () {
      let ahead = 7_200_000
      const { bridge, paymentId, shop } = yield* departed(
        { store: (store) => ({ ...store, now: Effect.map(store.now, (now) => now + ahead) }) },
        ({ bridge: { faults } }) => {
          faults.withheld = true
        }
      )
      yield* TestClock.adjust("3 minutes")
      assert.strictEqual((yield* BridgeShop.deliveryOf(shop, paymentId))?.status, "stuck")
      ahead = 0
      bridge.faults.withheld = false
      yield* TestClock.adjust("2 minutes")
      assert.strictEqual((yield* BridgeShop.deliveryOf(shop, paymentId))?.status, "delivered")
      assert.strictEqual(BridgeShop.arrivals(shop).length, 1)
    })
  )

  it.effect("a push that its lane could not send is sent, though the clock was set back by two hours since", () =>
    Effect.gen(function* () {
      let behind = 0
      const { far, paymentId, shop } = yield* departed(
        { store: (store) => ({ ...store, now: Effect.map(store.now, (now) => now - behind) }) },
        (opened) => {
          opened.far.market.base = 10_000n
        }
      )
      yield* TestClock.adjust("60 seconds")
      assert.strictEqual((yield* BridgeShop.deliveryOf(shop, paymentId))?.status, "pending")
      behind = 7_200_000
      far.market.base = 10n
      yield* TestClock.adjust("60 seconds")
      assert.strictEqual((yield* BridgeShop.deliveryOf(shop, paymentId))?.status, "delivered")
      assert.strictEqual(BridgeShop.arrivals(shop).length, 1)
    })
  )

  it.effect("more deliveries than one round reads are all made, each once", () =>
    Effect.gen(function* () {
      const shop = yield* BridgeShop.open()
      const requests = yield* Effect.forEach(Array.from({ length: 620 }), () => BridgeShop.pay())
      shop.bridge.faults.withheld = true
      yield* Effect.forEach(requests, (request, index) =>
        Effect.forkDetach(shop.facilitator.settle(request, LedgerShop.claim(`${index}`)))
      )
      yield* TestClock.adjust("50 seconds")
      const counts = yield* shop.store.openDeliveries
      assert.deepStrictEqual(
        counts.map(({ count, status }) => [status, count]),
        [["pending", 620]]
      )
      shop.bridge.faults.withheld = false
      yield* TestClock.adjust("300 seconds")
      assert.deepStrictEqual(yield* shop.store.openDeliveries, [])
      assert.strictEqual(BridgeShop.arrivals(shop).length, 620)
    })
  )

  it.effect("a delivery that cannot be observed for half an hour is stuck, and a delivered one stays delivered", () =>
    Effect.gen(function* () {
      const { bridge, far, paymentId, shop } = yield* departed({}, (opened) => {
        opened.bridge.faults.withheld = true
        opened.far.finality = 60
      })
      far.faults.down = true
      yield* TestClock.adjust("90 seconds")
      const unseen = yield* BridgeShop.deliveryOf(shop, paymentId)
      assert.strictEqual(unseen?.status, "pending")
      assert.strictEqual(unseen?.detail, "it cannot be observed: the ledger is down")
      yield* TestClock.adjust(stuckMillis)
      assert.strictEqual((yield* BridgeShop.deliveryOf(shop, paymentId))?.status, "stuck")
      far.faults.down = false
      bridge.faults.withheld = false
      yield* TestClock.adjust("40 seconds")
      assert.strictEqual((yield* BridgeShop.deliveryOf(shop, paymentId))?.status, "delivered")
      far.faults.down = true
      yield* TestClock.adjust(stuckMillis)
      assert.strictEqual((yield* BridgeShop.deliveryOf(shop, paymentId))?.status, "delivered")
    })
  )

  it.effect("a payment that stays on its network has no delivery", () =>
    Effect.gen(function* () {
      const shop = yield* BridgeShop.open()
      yield* begin(shop.facilitator.settle(yield* LedgerShop.pay(), LedgerShop.claim("a")))
      const [stored] = yield* shop.store.page(-1n, 1)
      assert.strictEqual(stored?.status, "included")
      const record = yield* shop.facilitator.payment(stored?.paymentId ?? "")
      assert.isFalse(record === undefined || "delivery" in record)
      assert.deepStrictEqual(yield* shop.store.undelivered("ledger:test", 10, -1n), [])
    })
  )
})
