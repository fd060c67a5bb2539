import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"

import { CurrentCaller } from "../../src/facilitator/Caller.ts"
import * as LedgerShop from "./LedgerShop.ts"

const { as, claim } = LedgerShop

const nobodys = "pay_0000000000000000000000"

/** The refusal's message without the payment's id: an unknown payment has another. */
const refusalOf = <A>(
  effect: Effect.Effect<A, { readonly _tag: string; readonly message: string }>,
  paymentId: string
) => Effect.map(Effect.flip(effect), (error) => ({ ...error, message: error.message.replaceAll(paymentId, "<id>") }))

describe("another caller's payment", () => {
  it.effect("has no end to tell and no record to show, in the very words for one that is not there", () =>
    Effect.gen(function* () {
      const { facilitator } = yield* LedgerShop.open()
      const { paymentId } = yield* as("victim", facilitator.settle(yield* LedgerShop.pay(), claim("a")))
      for (const stranger of ["other", ""]) {
        for (const claimId of ["made-up-claim-00000", claim("a").id]) {
          const refused = yield* refusalOf(as(stranger, facilitator.finish(paymentId, claimId, "served")), paymentId)
          const unknown = yield* refusalOf(as(stranger, facilitator.finish(nobodys, claimId, "served")), nobodys)
          assert.deepStrictEqual(refused, unknown)
          assert.strictEqual(refused.message, "no payment <id> is known here")
        }
        assert.isUndefined(yield* as(stranger, facilitator.payment(paymentId)))
      }
      const own = yield* as("victim", facilitator.payment(paymentId))
      assert.strictEqual(own?.execution, "running")
      const ended = yield* as("victim", facilitator.finish(paymentId, claim("a").id, "served"))
      assert.strictEqual(ended.execution, "served")
    })
  )

  it.effect("is shown to who sees all, and its run is not theirs to end", () =>
    Effect.gen(function* () {
      const { facilitator } = yield* LedgerShop.open()
      const { paymentId } = yield* as("victim", facilitator.settle(yield* LedgerShop.pay(), claim("a")))
      const bookkeeper = { name: "audit", notify: false, seesAll: true }
      const asBookkeeper = Effect.provideService(CurrentCaller, bookkeeper)
      assert.strictEqual((yield* asBookkeeper(facilitator.payment(paymentId)))?.paymentId, paymentId)
      yield* Effect.flip(asBookkeeper(facilitator.finish(paymentId, claim("a").id, "served")))
      assert.strictEqual((yield* as("victim", facilitator.payment(paymentId)))?.execution, "running")
    })
  )
})
