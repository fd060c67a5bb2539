import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"

import { openPayload } from "../../../src/protocol/PaymentPayload.ts"
import type { ValidationReason } from "../../../src/protocol/ValidationError.ts"
import * as MetaSeller from "../../../src/wire/x402/X402MetaSeller.ts"
import * as X402 from "../X402Cases.ts"

const { metaSeller } = MetaSeller

const textIn = (meta: object | undefined) => MetaSeller.headersIn(meta)(metaSeller.paymentHeader)
const failureOf = (payment: unknown) =>
  Result.getOrThrow(Result.flip(metaSeller.readPayment(String(textIn({ "x402/payment": payment })))))

const nested = (depth: number): unknown => JSON.parse("[".repeat(depth) + "]".repeat(depth))

describe("headersIn", () => {
  it("reads a payment as the gate reads a header, and nothing else", () => {
    const read = MetaSeller.headersIn({ "x402/payment": { a: 1 }, origin: "https://page.example" })
    assert.strictEqual(read("x402/payment"), '{"a":1}')
    assert.isUndefined(read("origin"))
    assert.isUndefined(textIn({}))
    assert.isUndefined(textIn(undefined))
    assert.isUndefined(textIn(Object.create({ "x402/payment": {} })))
  })

  it("makes what cannot be written a payment that cannot be read", () => {
    let deep: unknown = 0
    for (let depth = 0; depth < 100_000; depth++) deep = [deep]
    assert.strictEqual(textIn({ "x402/payment": deep }), "")
    assert.strictEqual(textIn({ "x402/payment": undefined }), "")
  })
})

describe("readPayment", () => {
  it("reads what the peer's client sends, and what it repeats", () => {
    const text = String(textIn({ "x402/payment": X402.paymentV2 }))
    const { accepted, payment } = Result.getOrThrow(metaSeller.readPayment(text))
    assert.deepStrictEqual(Result.getOrThrow(openPayload(payment)), X402.signed)
    assert.include(accepted, { network: "eip155:84532", maxAmountRequired: "1000", payTo: X402.payTo })
  })

  const cases: Readonly<Record<string, readonly [unknown, ValidationReason, string]>> = {
    "another version": [{ ...X402.paymentV2, x402Version: 1 }, "unsupported_version", "x402_version"],
    "base64, as over HTTP": [X402.base64(X402.paymentV2), "malformed", "payment_fields"],
    "no offer": [{ ...X402.paymentV2, accepted: undefined }, "malformed", "payment_fields"],
    "too much": [{ ...X402.paymentV2, more: "x".repeat(8192) }, "malformed", "too_long"],
    "nesting without end": [{ ...X402.paymentV2, more: nested(500) }, "malformed", "too_deep"],
    nothing: [undefined, "malformed", "not_json"]
  }
  for (const [name, [payment, reason, detail]] of Object.entries(cases)) {
    it(`refuses ${name}`, () => assert.include(failureOf(payment), { reason, detail }))
  }
})

const token = "AAAAAAAAAAAAAAAAAAAAAA"

const bodyOf = (required: Parameters<typeof metaSeller.refusal>[0]) =>
  metaSeller.refusal(required).personal?.(token, 0).body

describe("refusal", () => {
  it("is the payment request, to the byte, where no payment was shown", () => {
    assert.deepStrictEqual(metaSeller.refusal(X402.unpaid).headers, {})
    assert.strictEqual(JSON.stringify(bodyOf(X402.unpaid)), JSON.stringify(X402.requestTo(token)))
  })

  it("is the same with our words beside it where one was refused", () => {
    const words = { code: "INSUFFICIENT_BALANCE", detail: "balance" } as const
    assert.deepStrictEqual<unknown>(bodyOf({ ...X402.unpaid, error: "not enough", ...words }), {
      ...X402.requestTo(token),
      error: "invalid_exact_evm_insufficient_balance",
      ...words,
      message: "not enough"
    })
  })

  it("offers nothing where nothing is offered", () => {
    assert.deepStrictEqual<unknown>(bodyOf({ error: "not on sale", accepts: [], retry: "same_payment" }), {
      x402Version: 2,
      error: "not on sale",
      accepts: [],
      retry: "same_payment",
      message: "not on sale"
    })
  })
})

describe("the receipt", () => {
  it("is an object under its key, or its text for the gate", () => {
    const { paymentId: _, ...said } = X402.settlement
    const meta = MetaSeller.receiptMeta(X402.settlement)
    assert.deepStrictEqual(meta, { "x402/payment-response": said })
    const { "x402/payment-response": text } = metaSeller.receiptHeaders(X402.settlement, { now: 0 })
    assert.deepStrictEqual(JSON.parse(text ?? ""), said)
  })
})
