import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"

import type { PaymentRequest } from "../../../src/facilitator/Facilitator.ts"
import * as PaymentReading from "../../../src/facilitator/lane/PaymentReading.ts"
import { sealPayload } from "../../../src/protocol/PaymentPayload.ts"
import type { SchemeFacilitator } from "../../../src/scheme/SchemeFacilitator.ts"
import * as TestLedger from "../../../src/testing/ledger/TestLedger.ts"
import * as TestScheme from "../../../src/testing/ledger/TestScheme.ts"
import * as LedgerShop from "../LedgerShop.ts"

/** A scheme facilitator that tells how often it was asked to read. */
const counting = () => {
  const scheme = TestScheme.facilitator(TestLedger.make())
  let reads = 0
  const counted: SchemeFacilitator = {
    ...scheme,
    read: (requirements, json) => {
      reads += 1
      return scheme.read(requirements, json)
    }
  }
  return { scheme: counted, reads: () => reads }
}

describe("a payment that is read", () => {
  it.effect("is the payment that was signed, read once by those who ask one after the other", () =>
    Effect.gen(function* () {
      const { scheme, reads } = counting()
      const request = yield* LedgerShop.pay()
      const first = yield* PaymentReading.read(scheme, request)
      assert.strictEqual(first.payment.authorization.payer, LedgerShop.payer)
      assert.strictEqual(yield* PaymentReading.read(scheme, request), first)
      assert.strictEqual(reads(), 1)
    })
  )

  it.effect("is read anew for another request, though it says the same", () =>
    Effect.gen(function* () {
      const { scheme, reads } = counting()
      const request = yield* LedgerShop.pay()
      yield* PaymentReading.read(scheme, request)
      yield* PaymentReading.read(scheme, { ...request })
      assert.strictEqual(reads(), 2)
    })
  )

  it.effect("is read anew after another one, since no reading is kept", () =>
    Effect.gen(function* () {
      const { scheme, reads } = counting()
      const [request, other] = [yield* LedgerShop.pay(), yield* LedgerShop.pay()]
      const first = yield* PaymentReading.read(scheme, request)
      yield* PaymentReading.read(scheme, other)
      assert.deepStrictEqual((yield* PaymentReading.read(scheme, request)).payment, first.payment)
      assert.strictEqual(reads(), 3)
    })
  )

  it.effect("is read anew by another scheme facilitator", () =>
    Effect.gen(function* () {
      const [one, other] = [counting(), counting()]
      const request = yield* LedgerShop.pay()
      yield* PaymentReading.read(one.scheme, request)
      assert.strictEqual((yield* PaymentReading.read(other.scheme, request)).scheme, other.scheme)
      assert.strictEqual(other.reads(), 1)
    })
  )

  it.effect("fails as often as it is asked for when it is none", () =>
    Effect.gen(function* () {
      const { scheme } = counting()
      const { paymentRequirements } = yield* LedgerShop.pay()
      const request: PaymentRequest = {
        paymentRequirements,
        paymentPayload: sealPayload("exact", TestScheme.network, { payer: "nobody" })
      }
      for (let asked = 0; asked < 2; asked++) {
        const failure = yield* Effect.flip(PaymentReading.read(scheme, request))
        assert.strictEqual(failure._tag === "ValidationError" && failure.reason, "malformed")
      }
    })
  )
})
