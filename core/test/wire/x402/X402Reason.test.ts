import { assert, describe, it } from "@effect/vitest"

import { PaymentErrorCode } from "../../../src/protocol/PaymentError.ts"
import { ValidationReason } from "../../../src/protocol/ValidationError.ts"
import * as X402Reason from "../../../src/wire/x402/X402Reason.ts"
import { reasonsV1 } from "../X402PeerAnswers.ts"

const closed = new Set<string>(reasonsV1.literals)

const verdicts: ReadonlyArray<X402Reason.Verdict> = [
  ...PaymentErrorCode.literals.map((code) => ({ code, detail: "" })),
  { code: "EXPIRED_PAYMENT", detail: "not_yet_valid" },
  ...ValidationReason.literals.map((reason) => ({ reason, detail: "" })),
  { detail: "in_flight", paymentState: "sent", retry: "wait" },
  { paymentState: "sent", retry: "same_payment" },
  { paymentState: "expired", detail: "expired", retry: "new_payment" },
  { detail: "chain_unavailable", retry: "same_payment" },
  { detail: "price_unavailable" }
]

describe("ofVerdict", () => {
  for (const verdict of verdicts) {
    it(`version 1 stays in its closed list: ${JSON.stringify(verdict)}`, () => {
      assert.isTrue(closed.has(X402Reason.ofVerdict(1, verdict)), X402Reason.ofVerdict(1, verdict))
    })
  }

  const exact: ReadonlyArray<readonly [X402Reason.Verdict, string]> = [
    [{ code: "INSUFFICIENT_BALANCE" }, "invalid_exact_evm_insufficient_balance"],
    [{ code: "INVALID_SIGNATURE" }, "invalid_exact_evm_signature"],
    [{ code: "EXPIRED_PAYMENT" }, "invalid_exact_evm_payload_authorization_valid_before"],
    [{ code: "EXPIRED_PAYMENT", detail: "not_yet_valid" }, "invalid_exact_evm_payload_authorization_valid_after"],
    [{ code: "NETWORK_MISMATCH" }, "invalid_exact_evm_network_mismatch"],
    [{ code: "NETWORK_MISMATCH", detail: "network_not_settled" }, "invalid_network"],
    [{ code: "INVALID_RECIPIENT" }, "invalid_exact_evm_recipient_mismatch"],
    [{ reason: "malformed", detail: "payment_fields" }, "invalid_payload"],
    [{ reason: "malformed", detail: "requirements_fields" }, "invalid_payment_requirements"],
    [{ reason: "amount_mismatch" }, "invalid_exact_evm_payload_authorization_value_mismatch"],
    [{ reason: "already_used" }, "invalid_exact_evm_nonce_already_used"],
    [{ paymentState: "sent", retry: "same_payment" }, "settlement_pending"],
    [{ paymentState: "failed", retry: "new_payment" }, "invalid_transaction_state"]
  ]
  for (const [verdict, word] of exact) {
    it(`version 2 spells ${JSON.stringify(verdict)} as its code does`, () =>
      assert.strictEqual(X402Reason.ofVerdict(2, verdict), word))
  }
})

describe("toVerdict", () => {
  for (const version of [1, 2] as const) {
    for (const code of PaymentErrorCode.literals) {
      it(`reads back what version ${version} says for ${code}`, () =>
        assert.strictEqual(X402Reason.toVerdict(X402Reason.ofVerdict(version, { code })).code, code))
    }
  }

  const spelled: ReadonlyArray<readonly [string, X402Reason.Verdict]> = [
    ["invalid_exact_evm_payload_signature", { code: "INVALID_SIGNATURE" }],
    ["invalid_exact_evm_signature", { code: "INVALID_SIGNATURE" }],
    ["invalid_exact_svm_payload_signature", { code: "INVALID_SIGNATURE" }],
    ["invalid_exact_tvm_payload_invalid_signature", { code: "INVALID_SIGNATURE" }],
    ["invalid_exact_tvm_payload_seqno_mismatch", { reason: "already_used" }],
    ["invalid_exact_tvm_payload_valid_until_expired", { code: "EXPIRED_PAYMENT" }],
    ["invalid_exact_tvm_payload_amount_mismatch", { reason: "amount_mismatch" }],
    ["invalid_exact_tvm_payload_asset_mismatch", { reason: "asset_mismatch" }],
    ["invalid_exact_tvm_payload_recipient_mismatch", { code: "INVALID_RECIPIENT" }],
    ["insufficient_funds", { code: "INSUFFICIENT_BALANCE" }],
    ["invalid_exact_evm_nonce_already_used", { reason: "already_used" }],
    ["invalid_exact_evm_transaction_failed", { retry: "same_payment" }],
    ["settlement_pending", { retry: "same_payment" }],
    ["invalid_exact_evm_token_name_mismatch", {}],
    ["some_new_word", {}],
    ["No matching payment requirements", {}],
    ["No matching payment requirements found", {}],
    ["Payment required to access this tool", {}],
    ["Payment settlement failed: timeout", { retry: "same_payment" }],
    ["Payment required", {}],
    ["Unsupported x402 version: 9", {}],
    ["fetch failed", { retry: "same_payment" }],
    ["Facilitator settle failed (500): <empty response>", { retry: "same_payment" }]
  ]
  for (const [word, verdict] of spelled) {
    it(`${word}: ${JSON.stringify(verdict)}`, () =>
      assert.deepStrictEqual(X402Reason.toVerdict(word), { ...verdict, detail: word }))
  }

  it("keeps a stranger's word short", () => {
    assert.strictEqual(X402Reason.toVerdict("a b".repeat(1000)).detail?.length, 200)
  })
})
