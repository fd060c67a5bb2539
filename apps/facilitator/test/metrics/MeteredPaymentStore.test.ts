import { assert, describe, it } from "@effect/vitest"
import {
  FacilitatorSchemeRegistry,
  type Claim,
  CurrentCaller,
  FacilitatorUnavailable,
  LaneLeases,
  LocalFacilitator,
  MemoryPaymentStore,
  PaymentPayload,
  PaymentStore,
  Settlement
} from "@pontage/core"
import { TestLedger, TestScheme } from "@pontage/core/testing"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as TestClock from "effect/testing/TestClock"

import * as MeteredPaymentStore from "../../src/metrics/MeteredPaymentStore.ts"

const payee = "acct-shop"

/** A payment of 10 000 units by this payer, valid for a minute. */
const pay = Effect.fnUntraced(function* (payer: string) {
  const paymentRequirements = {
    scheme: "exact",
    network: TestScheme.network,
    maxAmountRequired: "10000",
    resource: "https://shop.example/report",
    payTo: payee,
    asset: TestScheme.asset.address
  }
  const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
  const { payload } = yield* TestScheme.client(payer).sign({
    requirements: paymentRequirements,
    asset: TestScheme.asset,
    validAfter: 0,
    validBefore: now + 60,
    binding: undefined
  })
  return { paymentRequirements, paymentPayload: PaymentPayload.sealPayload("exact", TestScheme.network, payload) }
})

const claim = (name: string): Claim => ({ id: name.padEnd(22, "x"), resource: "report".padEnd(43, "x") })

/** A facilitator over a ledger, with a metered store and metrics of its own. */
const open = Effect.fnUntraced(function* () {
  yield* TestClock.setTime(1_700_000_000_000)
  const ledger = TestLedger.make()
  const store = MeteredPaymentStore.make(yield* MemoryPaymentStore.make)
  const gasCeilings = { caller: (name: string) => (name === "capped" ? 0n : undefined) }
  const facilitator = yield* LocalFacilitator.make({ gasCeilings }).pipe(
    Effect.provide(FacilitatorSchemeRegistry.layer([Effect.succeed(TestScheme.facilitator(ledger))])),
    Effect.provideService(PaymentStore.PaymentStore, store),
    Effect.provide(LaneLeases.layerSole)
  )
  const settle = (name: string, caller = "") =>
    Effect.flatMap(pay(name), (request) => facilitator.settle(request, claim(name))).pipe(
      Effect.provideService(CurrentCaller, { name: caller, notify: false }),
      Effect.result,
      Effect.forkChild
    )
  return { ledger, store, facilitator, settle }
})

const counters = (id: string, label: string) =>
  Effect.map(Metric.snapshot, (metrics) => {
    const found = new Map<string, number>()
    for (const metric of metrics) {
      const name = metric.attributes?.[label]
      if (metric.id === id && metric.type === "Counter" && name !== undefined)
        found.set(name, Number(metric.state.count))
    }
    return found
  })

const fresh = Layer.sync(Metric.MetricRegistry, () => new Map())

describe("the transitions counted", () => {
  it.effect("are the entries of all histories: settled, replaced, reorganised, burnt, expired", () =>
    Effect.gen(function* () {
      const { facilitator, ledger, settle, store } = yield* open()
      for (const payer of ["alice", "bob", "carol", "dave", "erin", "frank"]) ledger.deposit(payer, 10_000n)
      const fibers = [yield* settle("alice"), yield* settle("bob")]
      yield* TestClock.adjust("3 seconds")
      ledger.reorganise(2)
      yield* TestClock.adjust("10 seconds")
      ledger.faults.holdBlocks = true
      fibers.push(yield* settle("carol"))
      yield* TestClock.adjust("2 seconds")
      ledger.withdraw("carol", 10_000n)
      ledger.faults.holdBlocks = false
      yield* TestClock.adjust("10 seconds")
      fibers.push(yield* settle("frank", "capped"))
      yield* TestClock.adjust("10 seconds")
      yield* Effect.flatMap(pay("dave"), (request) => facilitator.claim(request, claim("dave")))
      ledger.faults.refusal = "the node takes nothing"
      fibers.push(yield* settle("erin"))
      yield* TestClock.adjust("3 minutes")
      ledger.faults.refusal = undefined
      yield* TestClock.adjust("10 minutes")
      yield* Effect.forEach(fibers, Fiber.join)

      const payments = yield* store.page(-1n, 100)
      const entries = new Map<string, number>()
      for (const { history } of payments) {
        for (const { status } of history) entries.set(status, (entries.get(status) ?? 0) + 1)
      }
      assert.strictEqual(payments.length, 6)
      assert.deepStrictEqual(yield* counters("pontage_payment_transitions_total", "status"), entries)
      const { planned: _, ...byMethod } = Object.fromEntries(entries)
      const counted = Object.fromEntries(yield* counters("pontage_payments_total", "status"))
      assert.deepStrictEqual(counted, byMethod)
      assert.deepStrictEqual([...(yield* counters("pontage_payments_total", "method")).keys()], ["authorization"])
      for (const status of ["accepted", "planned", "sent", "included", "final", "failed", "expired"]) {
        assert.isAbove(entries.get(status) ?? 0, 0, status)
      }
      assert.isTrue(payments.every(({ status }) => status === "final" || Settlement.isDead(status)))
    }).pipe(Effect.scoped, Effect.provide(fresh))
  )
})

describe("a method", () => {
  it.effect("is measured, and its failures and lost leases are counted", () =>
    Effect.gen(function* () {
      const memory = yield* MemoryPaymentStore.make
      const store = MeteredPaymentStore.make({
        ...memory,
        find: () => Effect.fail(new FacilitatorUnavailable({ message: "the store is closed" })),
        plan: () => Effect.fail(new LaneLeases.LeaseLost({ lane: "a" }))
      })
      yield* Effect.flip(store.find("x"))
      yield* Effect.flip(store.find("y"))
      yield* Effect.flip(store.plan({ lane: "a", epoch: 0, isValid: () => true }, []))
      yield* store.loads([])
      assert.deepStrictEqual(yield* counters("pontage_store_failures_total", "method"), new Map([["find", 2]]))
      assert.deepStrictEqual(yield* counters("pontage_store_leases_lost_total", "method"), new Map([["plan", 1]]))
      const metrics = yield* Metric.snapshot
      const measured = metrics.flatMap(({ attributes, id, state, type }) =>
        id === "pontage_store_seconds" && type === "Histogram" ? [[attributes?.["method"], state.count]] : []
      )
      assert.sameDeepMembers(measured, [
        ["find", 2],
        ["plan", 1],
        ["loads", 1]
      ])
    }).pipe(Effect.provide(fresh))
  )

  it.effect("is the store's own, every one of them", () =>
    Effect.gen(function* () {
      const memory = yield* MemoryPaymentStore.make
      const store = MeteredPaymentStore.make(memory)
      assert.sameMembers(Object.keys(store), Object.keys(memory))
      assert.strictEqual(store.signals, memory.signals)
    })
  )
})

describe("the layer", () => {
  it.effect("stands before the store underneath", () =>
    Effect.gen(function* () {
      const store = yield* PaymentStore.PaymentStore
      yield* store.find("x")
      const metrics = yield* Metric.snapshot
      assert.isTrue(metrics.some(({ id }) => id === "pontage_store_seconds"))
    }).pipe(
      Effect.provide(Layer.provideMerge(MeteredPaymentStore.layer, MemoryPaymentStore.layer)),
      Effect.provide(fresh)
    )
  )
})
