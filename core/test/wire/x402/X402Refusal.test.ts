import { assert, describe, it } from "vitest"

import * as X402Refusal from "../../../src/wire/x402/X402Refusal.ts"

const problem = (kind: string, detail: string) => ({
  type: `https://paymentauth.org/problems/${kind}`,
  title: "T",
  status: 402,
  detail
})

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

  // As mppx answers a paid request by x402 that it refuses: a sentence, which alone reads like an escaped exception.
  describe("of problem details", () => {
    const sentence = "Payment verification failed: the authorization was used already."
    it.each([
      ["verification-failed", sentence, {}],
      ["verification-failed", "Payment verification failed: settlement_pending.", { retry: "same_payment" }],
      ["verification-failed", "Payment verification failed: settlement_pending: not yet.", { retry: "same_payment" }],
      ["verification-failed", "Payment verification failed: duplicate_settlement.", { retry: "same_payment" }],
      [
        "verification-failed",
        "Payment verification failed: invalid_exact_evm_transaction_failed.",
        { retry: "same_payment" }
      ],
      [
        "verification-failed",
        "Payment verification failed: invalid_exact_evm_nonce_already_used.",
        { reason: "already_used" }
      ],
      ["verification-failed", "Payment verification failed: constructor.", {}],
      ["payment-expired", "Payment expired: settlement_pending.", { code: "EXPIRED_PAYMENT" }],
      ["internal-payment-error", "An internal payment error occurred.", { retry: "same_payment" }]
    ])("%s, %s, are the problem's", (kind, detail, verdict) => {
      assert.deepStrictEqual(X402Refusal.words(problem(kind, detail), detail), { ...verdict, detail: kind } as never)
    })
  })

  it("are none where nothing is said", () => assert.deepStrictEqual(X402Refusal.words({ detail: "x" }, ""), {}))
})
