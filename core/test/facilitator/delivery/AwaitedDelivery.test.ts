import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"

import type { Claim } from "../../../src/facilitator/Facilitator.ts"
import * as LedgerShop from "../LedgerShop.ts"
import { begin, wordOf } from "../LedgerSteps.ts"
import * as BridgeShop from "./BridgeShop.ts"

const awaiting = (name: string): Claim => ({ ...LedgerShop.claim(name), awaits: "delivered" })

/** A payment that has departed, at a bridge that does not attest it yet; the first call has given up after 5 seconds. */
const onItsWay = Effect.fnUntraced(function* (bound = true) {
  const shop = yield* BridgeShop.open({ settleTimeoutMillis: 5_000 })
  shop.bridge.faults.withheld = true
  const request = yield* BridgeShop.pay(bound)
  const first = yield* begin(Effect.flip(shop.facilitator.settle(request, awaiting("a"))), 6)
  return { shop, request, first }
})

const settled = (
  shop: BridgeShop.Shop,
  request: Parameters<BridgeShop.Shop["facilitator"]["settle"]>[0],
  name: string
) =>
  Effect.gen(function* () {
    const fiber = yield* begin(Effect.result(shop.facilitator.settle(request, awaiting(name))), 6)
    const exit = fiber.pollUnsafe()
    return exit?._tag === "Success" ? exit.value : undefined
  })

describe("a claim that awaits the delivery", () => {
  it.effect("fails with SettlementPending while the money is on its way, and names the state and both networks", () =>
    Effect.gen(function* () {
      const { first, shop } = yield* onItsWay()
      const exit = first.pollUnsafe()
      const failure = exit?._tag === "Success" ? exit.value : undefined
      assert.strictEqual(failure?._tag, "SettlementPending")
      assert.include(failure?.message, "has left ledger:test and has not arrived on ledger:far yet")
      const [stored] = yield* shop.store.page(-1n, 1)
      assert.strictEqual(stored?.status, "included")
      assert.isUndefined(stored?.execution.holder)
      assert.strictEqual(stored?.execution.count, 0)
    })
  )

  it.effect("is granted once after the delivery, however late it comes", () =>
    Effect.gen(function* () {
      const { request, shop } = yield* onItsWay()
      const again = yield* settled(shop, request, "b")
      assert.strictEqual(again?._tag === "Failure" && wordOf(again.failure), "SettlementPending")
      // Far longer than an entitlement lasts.
      yield* TestClock.adjust("3 hours")
      shop.bridge.faults.withheld = false
      yield* TestClock.adjust("5 minutes")
      const granted = yield* settled(shop, request, "c")
      assert.strictEqual(granted?._tag === "Success" && granted.success.execution, "granted")
      assert.strictEqual(BridgeShop.arrivals(shop).length, 1)
      yield* shop.facilitator.finish(
        granted?._tag === "Success" ? granted.success.paymentId : "",
        awaiting("c").id,
        "served"
      )
      const spent = yield* settled(shop, request, "d")
      assert.strictEqual(spent?._tag === "Success" && spent.success.execution, "spent")
    })
  )

  it.effect("is granted to a call that waits when the delivery comes", () =>
    Effect.gen(function* () {
      const shop = yield* BridgeShop.open({ settleTimeoutMillis: 20_000 })
      shop.bridge.faults.withheld = true
      const call = yield* begin(shop.facilitator.settle(yield* BridgeShop.pay(), awaiting("a")), 5)
      assert.isUndefined(call.pollUnsafe())
      shop.bridge.faults.withheld = false
      yield* TestClock.adjust("14 seconds")
      const exit = call.pollUnsafe()
      assert.strictEqual(exit?._tag === "Success" && exit.value.execution, "granted")
    })
  )

  it.effect("whose process ends on the way costs an unbound payment nothing", () =>
    Effect.gen(function* () {
      const shop = yield* BridgeShop.open({ settleTimeoutMillis: 600_000 })
      shop.bridge.faults.withheld = true
      const request = yield* BridgeShop.pay(false)
      yield* begin(shop.facilitator.settle(request, awaiting("a")), 5)
      const facilitator = yield* shop.restart
      yield* TestClock.adjust("120 seconds")
      shop.bridge.faults.withheld = false
      yield* TestClock.adjust("60 seconds")
      const granted = yield* settled({ ...shop, facilitator }, request, "b")
      assert.strictEqual(granted?._tag === "Success" && granted.success.execution, "granted")
      const [stored] = yield* shop.store.page(-1n, 1)
      assert.strictEqual(stored?.execution.count, 1)
    })
  )

  it.effect("keeps its grant while its handler runs and the far chain takes the delivery back", () =>
    Effect.gen(function* () {
      const shop = yield* BridgeShop.open({ settleTimeoutMillis: 20_000 })
      shop.far.finality = 100
      const request = yield* BridgeShop.pay()
      const call = yield* begin(shop.facilitator.settle(request, awaiting("a")), 10)
      assert.isDefined(call.pollUnsafe())
      shop.far.faults.holdBlocks = true
      shop.far.reorganise(30)
      yield* TestClock.adjust("20 seconds")
      const renewed = yield* shop.facilitator.claim(request, awaiting("a"))
      assert.strictEqual(renewed.execution, "granted")
      assert.strictEqual((yield* BridgeShop.deliveryOf(shop, renewed.paymentId))?.status, "pending")
      const other = yield* settled(shop, request, "b")
      assert.strictEqual(other?._tag === "Success" && other.success.execution, "held")
    })
  )

  it.effect("changes nothing for a payment that stays on its network", () =>
    Effect.gen(function* () {
      const shop = yield* BridgeShop.open()
      const granted = yield* shop.facilitator.settle(yield* LedgerShop.pay(), awaiting("a"))
      assert.strictEqual(granted.execution, "granted")
    })
  )

  it.effect("is no way around the far chain for a caller that presents a push", () =>
    Effect.gen(function* () {
      const shop = yield* BridgeShop.open()
      const request = yield* LedgerShop.pay()
      const paymentRequirements = { ...request.paymentRequirements, extra: { delivers: "pay_of_another" } }
      for (const call of [shop.facilitator.settle, shop.facilitator.verify]) {
        const failure = yield* Effect.flip(call({ ...request, paymentRequirements }))
        assert.strictEqual(wordOf(failure), "malformed")
      }
      assert.strictEqual(shop.near.transfers.length, 0)
    })
  )
})
