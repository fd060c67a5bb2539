/**
 * The responses of x402 facilitators, whole, broken and in every spelling: nothing throws, and nothing reads better than it
 * was meant.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as fc from "fast-check"

import { isDead, PaymentState } from "../../../src/protocol/Settlement.ts"
import * as X402ClientApiResponse from "../../../src/wire/x402-api/X402ClientApiResponse.ts"
import * as X402ServerApiResponse from "../../../src/wire/x402-api/X402ServerApiResponse.ts"

const failed = (errorReason: unknown, more: object = {}) => ({
  success: false,
  errorReason,
  transaction: "",
  network: "base",
  ...more
})

const reasonOf = (word: string, more: object = {}) =>
  Result.getOrThrow(X402ClientApiResponse.readSettlement(failed(word, more))).reason

describe("a reason", () => {
  const table: Readonly<Record<string, X402ClientApiResponse.Reason["_tag"]>> = {
    invalid_exact_evm_nonce_already_used: "Used",
    insufficient_funds: "Refused",
    invalid_exact_evm_insufficient_balance: "Refused",
    invalid_exact_evm_payload_signature: "Refused",
    invalid_exact_evm_signature: "Refused",
    invalid_exact_evm_payload_authorization_valid_before: "Refused",
    invalid_exact_evm_payload_undeployed_smart_wallet: "Refused",
    invalid_exact_evm_token_version_mismatch: "Refused",
    invalid_exact_evm_transaction_simulation_failed: "Refused",
    asset_not_deployed_contract: "Refused",
    invalid_payment_requirements: "Refused",
    settlement_pending: "Pending",
    duplicate_settlement: "Busy",
    invalid_exact_evm_transaction_failed: "Reverted",
    invalid_exact_evm_transfer_event_mismatch: "Reverted",
    invalid_transaction_state: "Reverted",
    unexpected_settle_error: "Unknown",
    unexpected_verify_error: "Unknown",
    "fetch failed": "Unknown",
    settle_exact_svm_transaction_confirmation_timed_out: "Unlisted",
    something_new: "Unlisted"
  }
  for (const [word, tag] of Object.entries(table)) {
    it(`${word} is ${tag}`, () => assert.strictEqual(reasonOf(word)?._tag, tag))
  }

  it("is none where there is no word", () => {
    for (const nothing of [undefined, null, ""]) {
      const read = X402ClientApiResponse.readSettlement(JSON.parse(JSON.stringify(failed(nothing))))
      assert.isUndefined(Result.getOrThrow(read).reason)
    }
  })

  it("is pending where the message alone says so", () => {
    const errorMessage = "settlement_pending, but failed to persist for retry: no store"
    assert.strictEqual(reasonOf("invalid_exact_evm_transaction_failed", { errorMessage })?._tag, "Pending")
  })

  it("is passed on as a word of bounded length", () => {
    const reason = reasonOf("x".repeat(60_000))
    assert(reason?._tag === "Unlisted")
    assert.isAtMost(reason.failure.message.length, 300)
    assert.isAtMost(reason.failure.detail.length, 200)
  })
})

describe("a response", () => {
  it("names its network by CAIP-2 in both versions, and says nothing where it says nothing", () => {
    const said = { success: true, transaction: "0x1", network: "base-sepolia", payer: "", amount: null }
    assert.deepStrictEqual(Result.getOrThrow(X402ClientApiResponse.readSettlement(said)), {
      success: true,
      transaction: "0x1",
      network: "eip155:84532",
      payer: undefined,
      amount: undefined,
      word: undefined,
      reason: undefined
    })
  })

  it("of our own facilitator to a server of x402 is never read better than it was meant", () => {
    const states = fc.constantFrom(
      ...PaymentState.literals.filter((state) => state !== "included" && state !== "final")
    )
    const answers = fc.record({
      success: fc.constant(false),
      paymentId: fc.constant("pay_0123456789abcdefghijkl"),
      status: states,
      transaction: fc.constantFrom("", "0x1"),
      network: fc.constant("eip155:8453")
    })
    fc.assert(
      fc.property(fc.constantFrom(1 as const, 2 as const), answers, (version, answer) => {
        const said = X402ServerApiResponse.ofSettle({ version, network: "base" }, answer)
        const { reason, success } = Result.getOrThrow(
          X402ClientApiResponse.readSettlement(JSON.parse(JSON.stringify(said)))
        )
        assert.isFalse(success)
        const expected = isDead(answer.status) ? "Reverted" : version === 2 ? "Pending" : "Unknown"
        assert.strictEqual(reason?._tag, expected)
      })
    )
  })

  it("that is anything at all is read without a throw, and success is never made up", () => {
    let read = 0
    const part = fc.oneof(fc.jsonValue(), fc.string(), fc.boolean(), fc.constant(null))
    const answers = fc.oneof(
      fc.jsonValue(),
      fc.record(
        { success: part, isValid: part, transaction: part, network: part, errorReason: part },
        { requiredKeys: [] }
      )
    )
    fc.assert(
      fc.property(answers, (answer) => {
        const json: unknown = JSON.parse(JSON.stringify(answer))
        const settlement = Result.getOrUndefined(X402ClientApiResponse.readSettlement(json))
        const verification = Result.getOrUndefined(X402ClientApiResponse.readVerification(json))
        const fields = new Map(typeof json === "object" && json !== null ? Object.entries(json) : [])
        if (settlement !== undefined || verification !== undefined) read++
        if (settlement !== undefined) assert.strictEqual(settlement.success, fields.get("success"))
        if (verification !== undefined) assert.strictEqual(verification.isValid, fields.get("isValid"))
      }),
      { numRuns: 500 }
    )
    assert.isAbove(read, 10)
  })
})
