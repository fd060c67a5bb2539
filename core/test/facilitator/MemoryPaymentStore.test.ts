import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"

import * as MemoryPaymentStore from "../../src/facilitator/MemoryPaymentStore.ts"
import * as PaymentStore from "../../src/facilitator/PaymentStore.ts"
import * as PaymentStoreLaws from "../../src/testing/PaymentStoreLaws.ts"
import * as LedgerShop from "./LedgerShop.ts"

type Store = PaymentStore.PaymentStore["Service"]

const laws = PaymentStoreLaws.make({ elapse: (millis) => TestClock.adjust(millis) })

describe("the laws of a payment store", () => {
  for (const law of laws) {
    it.effect(law.name, () => Effect.provide(law.effect, MemoryPaymentStore.layer))
  }

  it.effect("hold one after another on one store", () =>
    Effect.provide(
      Effect.forEach(laws, ({ effect }) => effect),
      MemoryPaymentStore.layer
    )
  )
})

/** Stores with one fault each; at least one law must notice it. */
const broken: Readonly<Record<string, (store: Store) => Store>> = {
  "creates for everybody": (store) => ({
    ...store,
    claim: (payment, claim, available) =>
      Effect.map(store.claim(payment, claim, available), (result) => ({ ...result, created: true }))
  }),
  "looks first and writes later": (store) => ({
    ...store,
    advance: (paymentId, change) =>
      Effect.gen(function* () {
        const known = yield* store.find(paymentId)
        yield* Effect.yieldNow
        if (known === undefined || !change.from.includes(known.status)) return undefined
        return (yield* store.advance(paymentId, { ...change, from: [known.status, change.to] })) ?? known
      })
  }),
  "grants everybody": (store) => ({
    ...store,
    claim: (payment, claim, available) =>
      Effect.map(store.claim(payment, claim, available), (result) =>
        result._tag === "Claimed" && claim !== undefined ? { ...result, execution: "granted" as const } : result
      )
  }),
  "forgets the balance": (store) => ({
    ...store,
    claim: (payment, claim, available) => store.claim(payment, claim, available ?? 2n ** 255n)
  }),
  "lets anybody finish": (store) => ({
    ...store,
    finish: (paymentId, claimId, outcome) =>
      Effect.flatMap(store.find(paymentId), (known) =>
        store.finish(paymentId, known?.run.holder?.claimId ?? claimId, outcome)
      )
  }),
  "owes for ever": (store) => ({ ...store, oweAnswer: (paymentId) => store.oweAnswer(paymentId, true) }),
  "rounds the head": (store) => ({
    ...store,
    find: (paymentId) =>
      Effect.map(
        store.find(paymentId),
        (stored) =>
          stored && { ...stored, prepared: stored.prepared && { ...stored.prepared, head: stored.prepared.head + 1n } }
      )
  })
}

describe("a store that breaks a law", () => {
  for (const [name, change] of Object.entries(broken)) {
    it.effect(`is found out when it ${name}`, () =>
      Effect.gen(function* () {
        const store = change(yield* MemoryPaymentStore.make)
        const outcomes = yield* Effect.forEach(laws, ({ effect }) =>
          Effect.exit(Effect.provideService(effect, PaymentStore.PaymentStore, store))
        )
        assert.isTrue(outcomes.some(({ _tag }) => _tag === "Failure"))
      })
    )
  }
})

describe("forgetting", () => {
  const visit = Effect.fnUntraced(function* (shop: LedgerShop.Shop, name: string) {
    return yield* shop.facilitator.claim(yield* LedgerShop.pay({ amount: 1n }), LedgerShop.claim(name))
  })

  it.effect("drops a record a day after its authorization has expired, and not before", () =>
    Effect.gen(function* () {
      const shop = yield* LedgerShop.open()
      const { paymentId } = yield* visit(shop, "old")
      yield* TestClock.adjust("24 hours")
      yield* visit(shop, "a")
      assert.isDefined(yield* shop.store.find(paymentId))
      yield* TestClock.adjust("61 seconds")
      yield* visit(shop, "b")
      assert.isUndefined(yield* shop.store.find(paymentId))
    })
  )

  it.effect("keeps payments that are still on their way, and is not kept from the others by them", () =>
    Effect.gen(function* () {
      const shop = yield* LedgerShop.open()
      const stuck = yield* Effect.forEach(["stuck1", "stuck2", "stuck3"], (name) => visit(shop, name))
      for (const { paymentId } of stuck) yield* shop.store.advance(paymentId, { from: ["accepted"], to: "planned" })
      const old = yield* visit(shop, "old")
      yield* TestClock.adjust("48 hours")
      yield* Effect.forEach(["a", "b", "c", "d"], (name) => visit(shop, name))
      for (const { paymentId } of stuck) assert.isDefined(yield* shop.store.find(paymentId))
      assert.isUndefined(yield* shop.store.find(old.paymentId))
    })
  )
})
