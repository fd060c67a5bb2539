import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"

import * as Network from "../../../src/protocol/Network.ts"
import { openPayload } from "../../../src/protocol/PaymentPayload.ts"
import { x402v1Seller } from "../../../src/wire/x402/X402v1Seller.ts"
import * as X402 from "../X402Cases.ts"

const failureOf = (text: string) => Result.getOrThrow(Result.flip(x402v1Seller.readPayment(text)))

describe("readPayment", () => {
  it("reads what the peer's client writes", () => {
    const { accepted, payment } = Result.getOrThrow(x402v1Seller.readPayment(X402.base64(X402.paymentV1)))
    assert.isUndefined(accepted)
    assert.strictEqual(payment.network, "eip155:84532")
    assert.deepStrictEqual(Result.getOrThrow(openPayload(payment)), X402.signed)
  })

  for (const name of ["mainnet", "eip155:84532", "", "toString", "__proto__", "solana"]) {
    it(`knows no network "${name}"`, () => {
      const error = failureOf(X402.base64({ ...X402.paymentV1, network: name }))
      assert(error._tag === "PaymentError")
      assert.strictEqual(error.code, "NETWORK_MISMATCH")
      assert.include(error.message, "base-sepolia")
    })
  }

  for (const version of [0, 2, 3, "1", null]) {
    it(`does not speak version ${JSON.stringify(version)}`, () => {
      const error = failureOf(X402.base64({ ...X402.paymentV1, x402Version: version }))
      assert(error._tag === "ValidationError")
      assert.strictEqual(error.reason, "unsupported_version")
    })
  }

  const malformed: Readonly<Record<string, string>> = {
    "an empty header": "",
    "no base64": "{}",
    "a list": X402.base64([]),
    "no scheme": X402.base64({ ...X402.paymentV1, scheme: undefined }),
    "no payload": X402.base64({ ...X402.paymentV1, payload: undefined }),
    "too much": X402.base64({ ...X402.paymentV1, more: "a".repeat(8192) })
  }
  for (const [name, text] of Object.entries(malformed)) {
    it(`refuses ${name}`, () => {
      const error = failureOf(text)
      assert(error._tag === "ValidationError")
      assert.strictEqual(error.reason, "malformed")
    })
  }
})

describe("refusal", () => {
  it("is the peer's body, with the networks it can name and no other", () => {
    const elsewhere = { ...X402.requirements, network: Network.make("ton:mainnet") }
    const { body, headers } = x402v1Seller.refusal({ ...X402.unpaid, accepts: [elsewhere, X402.requirements] })
    assert.deepStrictEqual(headers, {})
    assert.deepStrictEqual(body, {
      x402Version: 1,
      error: "X-PAYMENT header is required",
      accepts: [X402.offerV1],
      message: X402.unpaid.error
    })
  })

  it("fills in every field that the peer's schema asks for", () => {
    const { asset: _a, description: _d, extra: _e, maxTimeoutSeconds: _t, mimeType: _m, ...least } = X402.requirements
    const { body } = x402v1Seller.refusal({ error: "", accepts: [least] })
    assert.deepStrictEqual((body as { accepts: unknown }).accepts, [
      { ...X402.offerV1, description: "", mimeType: "", asset: "", extra: {} }
    ])
  })

  it("says why in a word of the closed list", () => {
    const { body } = x402v1Seller.refusal({ ...X402.unpaid, reason: "already_used", detail: "spent" })
    assert.include(body as object, { error: "duplicate_settlement", reason: "already_used" })
  })
})

describe("canOffer", () => {
  it("only on the networks of the closed list", () => {
    assert.isTrue(x402v1Seller.canOffer("exact", "eip155:8453"))
    assert.isFalse(x402v1Seller.canOffer("exact", "eip155:31337"))
    assert.isFalse(x402v1Seller.canOffer("exact", "tron:mainnet"))
  })
})

describe("receiptHeaders", () => {
  it("names the network as the peer does", () => {
    const { "X-PAYMENT-RESPONSE": text } = x402v1Seller.receiptHeaders(X402.settlement, { now: 0 })
    assert.deepStrictEqual(X402.unbase64(text), {
      success: true,
      transaction: X402.settlement.transaction,
      network: "base-sepolia",
      payer: X402.payer
    })
  })
})
