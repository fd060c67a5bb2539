/** Several facilitators over one store: what one has looked at, another may be settling. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"

import type { PaymentRequest } from "../../../src/facilitator/Facilitator.ts"
import type { PaymentStore } from "../../../src/facilitator/store/PaymentStore.ts"
import * as Binding from "../../../src/protocol/Binding.ts"
import { sealPayload } from "../../../src/protocol/PaymentPayload.ts"
import * as TestScheme from "../../../src/testing/ledger/TestScheme.ts"
import * as LedgerShop from "../LedgerShop.ts"

const { claim, idle } = LedgerShop

interface Twin {
  readonly payTo?: string
  readonly amount?: bigint
  readonly validFor?: number
}

/** Payments of one payer that carry the same nonce: at most one of them can ever be made. */
const twins = Effect.fnUntraced(function* (wishes: ReadonlyArray<Twin>) {
  const binding = yield* Binding.make("challenge-of-the-shop")
  return yield* Effect.forEach(wishes, ({ amount = LedgerShop.amount, payTo = LedgerShop.payee, validFor = 60 }) => {
    const offer = { ...LedgerShop.requirements, payTo, maxAmountRequired: `${amount}` }
    const validBefore = LedgerShop.start / 1000 + validFor
    const signing = { requirements: offer, asset: TestScheme.asset, validAfter: 0, validBefore, binding }
    return Effect.map(TestScheme.client(LedgerShop.payer).sign(signing), ({ payload }): PaymentRequest => ({
      paymentPayload: sealPayload("exact", TestScheme.network, payload),
      paymentRequirements: offer
    }))
  })
})

describe("two instances that are shown two payments under one nonce", () => {
  it.effect("settle the one on record, though the worker's process has just examined the other", () =>
    Effect.gen(function* () {
      let first: Effect.Effect<unknown> = Effect.void
      const shop = yield* LedgerShop.open({
        store: (honest): PaymentStore["Service"] => ({
          ...honest,
          claim: (payment, wish, intake) =>
            Effect.andThen(
              Effect.suspend(() => (payment.authorization.payTo === LedgerShop.payee ? Effect.void : first)),
              honest.claim(payment, wish, intake)
            )
        })
      })
      const [honest, cheap] = yield* twins([{}, { payTo: "acct-mallory", amount: 1n }])
      assert.isDefined(honest)
      assert.isDefined(cheap)
      const other = yield* LedgerShop.facilitatorOf([shop.scheme], shop.store, { leases: idle })
      let seller: Fiber.Fiber<unknown, unknown> | undefined
      first = Effect.gen(function* () {
        seller = yield* Effect.forkDetach(other.settle(honest, claim("a")))
        while ((yield* Effect.orDie(shop.store.page(0n, 1))).length === 0) yield* Effect.yieldNow
      })
      yield* Effect.exit(shop.facilitator.settle(cheap, claim("b", "elsewhere")))
      yield* TestClock.adjust("5 seconds")
      assert.isDefined(seller)
      yield* Fiber.join(seller)
      assert.strictEqual(shop.ledger.balanceOf("acct-mallory"), 0n)
      assert.strictEqual(shop.ledger.balanceOf(LedgerShop.payee), LedgerShop.amount)
    })
  )

  it.effect("take another validity under the same nonce for another authorization", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open()
      const [short, long] = yield* twins([{ validFor: 30 }, { validFor: 80 }])
      assert.isDefined(short)
      assert.isDefined(long)
      yield* facilitator.claim(short, claim("a"))
      const error = yield* Effect.flip(facilitator.settle(long, claim("a")))
      assert.strictEqual(error._tag === "ValidationError" && error.reason, "already_used")
      assert.strictEqual(ledger.submissions.length, 0)
    })
  )
})
