import { assert, describe, it } from "vitest"

import * as X402Refusal from "../../../src/wire/x402/X402Refusal.ts"

describe("words", () => {
  it("are ours where the body has them", () => {
    const body = { error: "no", code: "EXPIRED_PAYMENT", detail: "expired", more: 1 }
    assert.deepStrictEqual(X402Refusal.words(body, "settlement_pending"), {
      code: "EXPIRED_PAYMENT",
      detail: "expired"
    })
    assert.deepStrictEqual(X402Refusal.words({ retry: "wait", detail: "in_flight" }, undefined), {
      retry: "wait",
      detail: "in_flight"
    })
  })

  // A framework's error body is `{"detail": ...}`: taken for ours, it would hide that the payment is on its way.
  for (const body of [{ detail: "Payment Required" }, { detail: "x", paymentId: "y" }, { code: 402 }, {}, undefined]) {
    it(`are the server's one word beside ${JSON.stringify(body)}`, () => {
      const words = X402Refusal.words(body, "settlement_pending")
      assert.deepStrictEqual(words, { detail: "settlement_pending", retry: "same_payment" })
    })
  }

  it("are none where nothing is said", () => assert.deepStrictEqual(X402Refusal.words({ detail: "x" }, ""), {}))
})
