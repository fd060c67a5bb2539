import { assert, describe, it } from "@effect/vitest"

import { PaymentErrorCode, refuse } from "../../../src/protocol/PaymentError.ts"
import {
  ChainUnavailable,
  FacilitatorUnavailable,
  Misconfigured,
  SettlementPending
} from "../../../src/protocol/ProtocolError.ts"
import { PaymentState } from "../../../src/protocol/Settlement.ts"
import { invalid, ValidationReason } from "../../../src/protocol/ValidationError.ts"
import * as Refusal from "../../../src/wire/pontage/Refusal.ts"

const secret = "http://10.0.0.1:8545 said no"

describe("fromFailure", () => {
  it("knows the five codes of the protocol", () => {
    assert.deepStrictEqual(
      [...PaymentErrorCode.literals],
      ["INSUFFICIENT_BALANCE", "INVALID_SIGNATURE", "EXPIRED_PAYMENT", "NETWORK_MISMATCH", "INVALID_RECIPIENT"]
    )
  })

  for (const code of PaymentErrorCode.literals) {
    it(`${code} is 402 with the code`, () => {
      assert.deepStrictEqual(Refusal.fromFailure(refuse(code, "detail", "words")), {
        status: 402,
        body: { error: "words", code, detail: "detail" },
        retryAfter: undefined
      })
    })
  }

  for (const reason of ValidationReason.literals) {
    const isUsed = reason === "already_used"
    it(`${reason} is ${isUsed ? 409 : 402} with the reason`, () => {
      assert.deepStrictEqual(Refusal.fromFailure(invalid(reason, "detail", "words")), {
        status: isUsed ? 409 : 402,
        body: { error: "words", reason, detail: "detail", ...(isUsed && { retry: "never" }) },
        retryAfter: undefined
      })
    })
  }

  for (const status of PaymentState.literals) {
    it(`a pending settlement that is ${status} is 503 with the payment's name: the same payment again`, () => {
      const failure = new SettlementPending({ paymentId: "pay_1", status, message: "words" })
      assert.deepStrictEqual(Refusal.fromFailure(failure), {
        status: 503,
        body: { error: "words", paymentId: "pay_1", paymentState: status, retry: "same_payment" },
        retryAfter: 2
      })
    })
  }

  const infrastructure = [
    [new FacilitatorUnavailable({ message: secret }), "facilitator_unavailable"],
    [new ChainUnavailable({ network: "eip155:1", message: secret }), "chain_unavailable"],
    [new Misconfigured({ message: secret }), "misconfigured"]
  ] as const
  for (const [failure, detail] of infrastructure) {
    it(`${failure._tag} is 503, tells nothing of the inside and blames nobody`, () => {
      const { body, retryAfter, status } = Refusal.fromFailure(failure)
      assert.strictEqual(status, 503)
      assert.strictEqual(body.detail, detail)
      assert.strictEqual(body.retry, "same_payment")
      assert.isUndefined(body.code)
      assert.isUndefined(body.reason)
      assert.isAbove(retryAfter ?? 0, 0)
      assert.notInclude(JSON.stringify(body), "10.0.0.1")
    })
  }
})

it("a facilitator that has named a time for the repeat is taken at its word", () => {
  const failure = new FacilitatorUnavailable({ message: secret, retryAfter: 41 })
  assert.strictEqual(Refusal.fromFailure(failure).retryAfter, 41)
})

describe("fromExecution", () => {
  const payment = { paymentId: "pay_1", status: "included" } as const
  const cases = [
    ["held", "in_flight", "wait", 2],
    ["spent", "spent", "never", undefined],
    ["conflict", "other_resource", "never", undefined]
  ] as const
  for (const [execution, detail, retry, retryAfter] of cases) {
    it(`${execution} is 409`, () => {
      const refusal = Refusal.fromExecution(execution, payment)
      assert.strictEqual(refusal.status, 409)
      assert.strictEqual(refusal.body.detail, detail)
      assert.strictEqual(refusal.body.retry, retry)
      assert.strictEqual(refusal.body.paymentId, "pay_1")
      assert.strictEqual(refusal.body.paymentState, "included")
      assert.strictEqual(refusal.retryAfter, retryAfter)
    })
  }
})

describe("fromUnsettled", () => {
  for (const status of PaymentState.literals) {
    const isDead = status === "rejected" || status === "failed" || status === "expired"
    it(`${status} is ${isDead ? "402 and asks for a new payment" : "503 and asks for the same payment"}`, () => {
      const { body, retryAfter, status: code } = Refusal.fromUnsettled({ paymentId: "pay_1", status })
      assert.strictEqual(code, isDead ? 402 : 503)
      assert.strictEqual(body.retry, isDead ? "new_payment" : "same_payment")
      assert.strictEqual(body.paymentState, status)
      assert.strictEqual(retryAfter === undefined, isDead)
    })
  }
})

describe("the refusals without a payment", () => {
  it("unpaid is 402 and blames nobody", () => {
    assert.strictEqual(Refusal.unpaid.status, 402)
    assert.deepStrictEqual(Object.keys(Refusal.unpaid.body), ["error"])
  })

  it("not on sale yet is 503: the same request again", () => {
    assert.strictEqual(Refusal.notReady.status, 503)
    assert.strictEqual(Refusal.notReady.body.retry, "same_payment")
    assert.isAbove(Refusal.notReady.retryAfter ?? 0, 0)
  })

  it("unpriced is 500", () => assert.strictEqual(Refusal.unpriced.status, 500))
})
