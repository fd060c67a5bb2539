/** Payments on record that no caller asks to settle: they end by proof on the chain, never by a clock. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"

import * as Network from "../../../src/protocol/Network.ts"
import { invalid } from "../../../src/protocol/ValidationError.ts"
import type { SchemeFacilitator } from "../../../src/scheme/SchemeFacilitator.ts"
import * as TestScheme from "../../../src/testing/ledger/TestScheme.ts"
import * as LedgerShop from "../LedgerShop.ts"
import { sentByAnother } from "../LedgerSteps.ts"

const { claim, pay } = LedgerShop

/** Claims payments and gives them back: no caller asks to settle them any more. */
const given = Effect.fnUntraced(function* ({ facilitator }: LedgerShop.Shop, options: LedgerShop.PayOptions = {}) {
  const request = yield* pay(options)
  const { paymentId } = yield* facilitator.claim(request, claim("a"))
  yield* facilitator.finish(paymentId, claim("a").id, "unanswered")
  return { request, paymentId }
})

const statusOf = ({ store }: LedgerShop.Shop, paymentId: string) =>
  Effect.map(store.find(paymentId), (stored) => stored?.status)

const minutes = (count: number) =>
  Effect.forEach(Array.from({ length: count * 60 }), () => TestClock.adjust("1 second"), { discard: true })

for (const [kind, options] of [
  ["where signers send", {}],
  ["where payers send their own", { lanes: [] }]
] as const) {
  describe(`an unwanted payment, ${kind}`, () => {
    it.effect("that is never sent, expires when a final block proves it unused", () =>
      Effect.gen(function* () {
        const shop = yield* LedgerShop.open(options)
        const { paymentId } = yield* given(shop)
        yield* minutes(8)
        const stored = yield* shop.store.find(paymentId)
        assert.strictEqual(stored?.status, "expired")
        assert.match(stored?.history.at(-1)?.note ?? "", /unused at block \d+, which is final/)
      })
    )

    it.effect("that a third party sends, is settled and buys what it was for, once", () =>
      Effect.gen(function* () {
        const shop = yield* LedgerShop.open(options)
        const { paymentId, request } = yield* given(shop)
        yield* sentByAnother(shop.ledger, request)
        yield* minutes(8)
        assert.strictEqual(yield* statusOf(shop, paymentId), "final")
        const settled = yield* shop.facilitator.settle(request, claim("b"))
        assert.deepInclude(settled, { execution: "granted", status: "final" })
        assert.strictEqual((yield* shop.facilitator.settle(request, claim("c"))).execution, "held")
        assert.lengthOf(shop.ledger.transfers, 1)
      })
    )

    it.effect("that a third party sends, is settled and opens nothing where it is not bound", () =>
      Effect.gen(function* () {
        const shop = yield* LedgerShop.open(options)
        const { paymentId, request } = yield* given(shop, { bound: false })
        yield* sentByAnother(shop.ledger, request)
        yield* minutes(8)
        const stored = yield* shop.store.find(paymentId)
        assert.strictEqual(stored?.status, "final")
        assert.strictEqual(stored?.refusal?._tag === "ValidationError" && stored.refusal.reason, "already_used")
        const refusal = yield* Effect.flip(shop.facilitator.settle(request, claim("b")))
        assert.include(refusal.message, "a third party has sent the transfer")
      })
    )

    it.effect("stays as it is, in no lane, while no final block proves anything", () =>
      Effect.gen(function* () {
        const shop = yield* LedgerShop.open({ settleTimeoutMillis: 5_000, ...options })
        const { ledger, store } = shop
        ledger.finality = 10_000
        const unused = yield* given(shop)
        const sent = yield* given(shop)
        yield* sentByAnother(shop.ledger, sent.request)
        yield* minutes(12)
        for (const { paymentId } of [unused, sent]) {
          const stored = yield* store.find(paymentId)
          assert.deepInclude(stored, { status: "accepted", lane: undefined })
          assert.lengthOf(stored?.history ?? [], 1)
        }
        assert.lengthOf(yield* store.lanesInUse, 0)
        ledger.finality = 8
        yield* minutes(2)
        assert.strictEqual(yield* statusOf(shop, unused.paymentId), "expired")
        assert.strictEqual(yield* statusOf(shop, sent.paymentId), "final")
      })
    )
  })
}

describe("an unwanted payment whose authorization the chain shows as canceled", () => {
  it.effect("is rejected with that reason, which its payer reads", () =>
    Effect.gen(function* () {
      const canceled = invalid("already_used", "canceled", "the authorization was canceled; no money has moved")
      const shop = yield* LedgerShop.open({
        scheme: (honest) => ({
          ...honest,
          conclude: (observedPayment) =>
            Effect.map(honest.conclude(observedPayment), (conclusion) =>
              conclusion._tag === "Unused" ? { ...conclusion, reason: canceled } : conclusion
            )
        })
      })
      const { paymentId, request } = yield* given(shop)
      yield* minutes(8)
      const stored = yield* shop.store.find(paymentId)
      assert.strictEqual(stored?.status, "rejected")
      assert.deepEqual(stored?.refusal, canceled)
      const refusal = yield* Effect.flip(shop.facilitator.settle(request, claim("b")))
      assert.deepEqual(refusal, canceled)
    })
  )
})

/** Counts what the chain is asked. */
const counting = () => {
  const asked = { conclusions: 0, heads: 0 }
  const scheme = (honest: SchemeFacilitator): SchemeFacilitator => ({
    ...honest,
    chainHead: Effect.andThen(
      Effect.sync(() => asked.heads++),
      honest.chainHead
    ),
    conclude: (observedPayment) =>
      Effect.suspend(() => {
        asked.conclusions++
        return honest.conclude(observedPayment)
      })
  })
  return { asked, scheme }
}

describe("unwanted payments", () => {
  it.effect("are asked for once each, and all of them end", () =>
    Effect.gen(function* () {
      const { asked, scheme } = counting()
      const shop = yield* LedgerShop.open({ scheme })
      const all = yield* Effect.forEach(Array.from({ length: 350 }), () => given(shop))
      yield* minutes(8)
      for (const { paymentId } of all) assert.strictEqual(yield* statusOf(shop, paymentId), "expired")
      assert.strictEqual(asked.conclusions, 350)
    })
  )

  it.effect("are not lost while the node is silent, which is asked once a round then", () =>
    Effect.gen(function* () {
      const { asked, scheme } = counting()
      const shop = yield* LedgerShop.open({ scheme })
      const all = yield* Effect.forEach(Array.from({ length: 150 }), () => given(shop))
      yield* minutes(5)
      shop.ledger.faults.down = true
      const { heads } = asked
      yield* minutes(10)
      assert.strictEqual(asked.conclusions, 0)
      assert.isAtMost(asked.heads - heads, 20)
      for (const { paymentId } of all) assert.strictEqual(yield* statusOf(shop, paymentId), "accepted")
      shop.ledger.faults.down = false
      yield* minutes(3)
      for (const { paymentId } of all) assert.strictEqual(yield* statusOf(shop, paymentId), "expired")
    })
  )

  it.effect(
    "do not wait for those before them of which nothing is known, and these cost a bounded number of questions",
    () =>
      Effect.gen(function* () {
        const { asked, scheme } = counting()
        const hidden = new Set<string>()
        const shop = yield* LedgerShop.open({
          scheme: (honest) => {
            const counted = scheme(honest)
            return {
              ...counted,
              conclude: (observedPayment) =>
                hidden.has(observedPayment.payment.authorization.nonce)
                  ? Effect.andThen(counted.conclude(observedPayment), Effect.succeed({ _tag: "Pending" } as const))
                  : counted.conclude(observedPayment)
            }
          }
        })
        for (let index = 0; index < 450; index++) {
          const { paymentId } = yield* given(shop)
          hidden.add((yield* shop.store.find(paymentId))?.authorization.nonce ?? "")
        }
        const { paymentId } = yield* given(shop, { validFor: 61 })
        yield* minutes(12)
        assert.strictEqual(yield* statusOf(shop, paymentId), "expired")
        assert.isAtMost(asked.conclusions, 7 * 300)
        hidden.clear()
        yield* minutes(4)
        const left = (yield* shop.store.page(0n, 1_000)).filter(({ status }) => status !== "expired")
        assert.lengthOf(left, 0)
      })
  )

  it.effect("are left as they are where their scheme is not configured any more", () =>
    Effect.gen(function* () {
      const shop = yield* LedgerShop.open()
      const { paymentId } = yield* given(shop)
      const { scheme } = shop
      yield* shop.restartWith([{ ...scheme, network: Network.make("ledger:other") }])
      yield* minutes(8)
      assert.strictEqual(yield* statusOf(shop, paymentId), "accepted")
      yield* shop.restartWith([TestScheme.facilitator(shop.ledger)])
      yield* minutes(3)
      assert.strictEqual(yield* statusOf(shop, paymentId), "expired")
    })
  )
})
