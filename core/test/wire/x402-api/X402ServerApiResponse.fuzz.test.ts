/**
 * An x402 server can read every response of the facilitator about a payment, and reads nothing better than was meant.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import * as fc from "fast-check"

import { PaymentErrorCode } from "../../../src/protocol/PaymentError.ts"
import { isSettled, PaymentState } from "../../../src/protocol/Settlement.ts"
import { ValidationReason } from "../../../src/protocol/ValidationError.ts"
import type { SettleResponse, VerifyResponse } from "../../../src/wire/pontage/FacilitatorApi.ts"
import * as X402ServerApiResponse from "../../../src/wire/x402-api/X402ServerApiResponse.ts"
import { networksV1, settle, verify } from "../X402PeerAnswers.ts"

const hex = (length: number) => fc.stringMatching(new RegExp(`^[0-9a-fA-F]{${length}}$`)).map((digits) => `0x${digits}`)

const words = {
  detail: fc.oneof(
    fc.constantFrom("other_network", "network_not_settled", "not_yet_valid", "requirements_fields", "in_flight", ""),
    fc.string()
  ),
  message: fc.string()
}
const code = fc.constantFrom(...PaymentErrorCode.literals)
const reason = fc.constantFrom(...ValidationReason.literals)
const payer = fc.oneof(hex(40), fc.constant(""))
const good = fc.constant(true)
const bad = fc.constant(false)

const verifications: fc.Arbitrary<typeof VerifyResponse.Type> = fc.oneof(
  fc.record({ isValid: good, payer }, { requiredKeys: ["isValid"] }),
  fc.record({ isValid: bad, payer, code, ...words }, { requiredKeys: ["isValid", "code", "detail", "message"] }),
  fc.record({ isValid: bad, payer, reason, ...words }, { requiredKeys: ["isValid", "reason", "detail", "message"] })
)

const places = { paymentId: fc.constantFrom("", "pay_0123456789abcdefghijkl"), network: fc.constant("eip155:8453") }
const never = { ...places, success: bad, status: fc.constant("rejected" as const), transaction: fc.constant("") }
const moving = PaymentState.literals.filter((state) => !isSettled(state))

const settlements: fc.Arbitrary<typeof SettleResponse.Type> = fc.oneof(
  fc.record({
    ...places,
    success: good,
    status: fc.constantFrom("included" as const, "final" as const),
    transaction: hex(64),
    payer,
    amount: fc.constant("1000")
  }),
  fc.record({ ...never, code, ...words }),
  fc.record({ ...never, reason, ...words }),
  fc.record({
    ...places,
    success: bad,
    status: fc.constantFrom(...moving),
    transaction: fc.oneof(fc.constant(""), hex(64)),
    message: words.message
  })
)

const strict = { onExcessProperty: "error" } as const

const callers = (version: 1 | 2) =>
  fc.record({
    version: fc.constant(version),
    network: version === 1 ? fc.constantFrom(...networksV1) : fc.string()
  })

for (const version of [1, 2] as const) {
  describe(`version ${version}`, () => {
    it("reads every response to /verify, as good exactly when it is", () => {
      const read = Schema.decodeUnknownSync(verify[version])
      fc.assert(
        fc.property(callers(version), verifications, (caller, answer) => {
          const said: unknown = JSON.parse(JSON.stringify(X402ServerApiResponse.ofVerify(caller, answer)))
          const heard = read(said, strict)
          assert.strictEqual(heard.isValid, answer.isValid)
          assert.strictEqual(heard.invalidReason === undefined, answer.isValid)
          assert.strictEqual(heard.payer, answer.payer === "" ? undefined : answer.payer)
        }),
        { numRuns: 500 }
      )
    })

    it("reads every response to /settle, as moved money exactly when it has moved", () => {
      const read = Schema.decodeUnknownSync(settle[version])
      fc.assert(
        fc.property(callers(version), settlements, (caller, answer) => {
          const said: unknown = JSON.parse(JSON.stringify(X402ServerApiResponse.ofSettle(caller, answer)))
          const heard = read(said, strict)
          assert.strictEqual(heard.success, answer.success)
          assert.strictEqual(heard.errorReason === undefined, answer.success)
          assert.strictEqual(heard.transaction, answer.transaction)
          assert.strictEqual(heard.network, caller.network)
        }),
        { numRuns: 500 }
      )
    })

    it("the response passes the service's own description unchanged", () => {
      const writeVerify = Schema.encodeSync(X402ServerApiResponse.X402VerifyResponse)
      const writeSettle = Schema.encodeSync(X402ServerApiResponse.X402SettleResponse)
      fc.assert(
        fc.property(callers(version), verifications, settlements, (caller, verification, settlement) => {
          const verified = X402ServerApiResponse.ofVerify(caller, verification)
          assert.deepStrictEqual<unknown>(writeVerify(verified), verified)
          const settled = X402ServerApiResponse.ofSettle(caller, settlement)
          assert.deepStrictEqual<unknown>(writeSettle(settled), settled)
        })
      )
    })
  })
}

describe("an outcome that is not known yet", () => {
  const caller = { version: 2, network: "eip155:8453" } as const
  const answer = { success: false, paymentId: "pay_1", transaction: "0x1", network: "eip155:8453" }

  it("is pending in every state that may still move money, and in no other", () => {
    for (const status of PaymentState.literals) {
      if (isSettled(status)) continue
      const { errorReason } = { errorReason: "", ...X402ServerApiResponse.ofSettle(caller, { ...answer, status }) }
      const isOver = status === "rejected" || status === "failed" || status === "expired"
      assert.strictEqual(errorReason, isOver ? "invalid_transaction_state" : "settlement_pending")
    }
  })

  it("is never pending where a payment was refused", () => {
    const refused = { ...answer, status: "rejected", code: "INVALID_SIGNATURE", detail: "in_flight" } as const
    assert.deepInclude(X402ServerApiResponse.ofSettle(caller, refused), { errorReason: "invalid_exact_evm_signature" })
  })
})
