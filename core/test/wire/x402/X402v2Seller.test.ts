import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"

import * as Network from "../../../src/protocol/Network.ts"
import { openPayload } from "../../../src/protocol/PaymentPayload.ts"
import { x402v2Seller } from "../../../src/wire/x402/X402v2Seller.ts"
import * as X402 from "../X402Cases.ts"

const failureOf = (text: string) => Result.getOrThrow(Result.flip(x402v2Seller.readPayment(text)))

describe("readPayment", () => {
  it("reads what the peer's client writes, and what it repeats", () => {
    const { accepted, payment } = Result.getOrThrow(x402v2Seller.readPayment(X402.base64(X402.paymentV2)))
    assert.strictEqual(payment.scheme, "exact")
    assert.strictEqual(payment.network, "eip155:84532")
    assert.deepStrictEqual(Result.getOrThrow(openPayload(payment)), X402.signed)
    assert.deepStrictEqual(accepted, {
      scheme: "exact",
      network: "eip155:84532",
      maxAmountRequired: "1000",
      asset: X402.usdc,
      payTo: X402.payTo,
      maxTimeoutSeconds: 60,
      extra: X402.offerV2.extra
    })
  })

  it("reads one without extra, resource and extensions, and leaves unknown extensions alone", () => {
    const { extra: _, ...accepted } = X402.offerV2
    const least = { x402Version: 2, payload: X402.signed, accepted }
    assert.deepStrictEqual(Result.getOrThrow(x402v2Seller.readPayment(X402.base64(least))).accepted?.extra, {})
    const more = { ...X402.paymentV2, extensions: { bazaar: { info: { input: [1] } } }, other: null }
    assert.isTrue(Result.isSuccess(x402v2Seller.readPayment(X402.base64(more))))
  })

  it("knows a network of TON by x402's name, and by ours", () => {
    for (const network of ["tvm:-239", "ton:mainnet"]) {
      const repeated = { ...X402.paymentV2, accepted: { ...X402.offerV2, network } }
      const read = Result.getOrThrow(x402v2Seller.readPayment(X402.base64(repeated)))
      assert.strictEqual(read.payment.network, "ton:mainnet")
      assert.strictEqual(read.accepted?.network, "ton:mainnet")
    }
  })

  const { accepted } = X402.paymentV2
  const malformed: Readonly<Record<string, readonly [string, string]>> = {
    "an empty header": ["", "not_json"],
    "JSON that is not base64": [JSON.stringify(X402.paymentV2), "not_base64"],
    base64url: [X402.base64({ a: "???>>>" }).replaceAll("/", "_").replaceAll("+", "-"), "not_base64"],
    "broken padding": ["e30", "not_base64"],
    "base64 of no JSON": [Buffer.from("hello").toString("base64"), "not_json"],
    "base64 of no UTF-8": [Buffer.from([0x22, 0xff, 0x22]).toString("base64"), "not_json"],
    "more than 8 KiB": [X402.base64({ ...X402.paymentV2, more: "a".repeat(8192) }), "too_long"],
    "nesting without end": [Buffer.from("[".repeat(2000)).toString("base64"), "too_deep"],
    "a list": [X402.base64([X402.paymentV2]), "payment_fields"],
    "no version": [X402.base64({ ...X402.paymentV2, x402Version: undefined }), "payment_fields"],
    "no accepted": [X402.base64({ ...X402.paymentV2, accepted: undefined }), "payment_fields"],
    "a payload that is a text": [X402.base64({ ...X402.paymentV2, payload: "e30=" }), "payment_fields"],
    "an amount that is a number": [
      X402.base64({ ...X402.paymentV2, accepted: { ...accepted, amount: 1000 } }),
      "payment_fields"
    ],
    "an amount with a sign": [
      X402.base64({ ...X402.paymentV2, accepted: { ...accepted, amount: "-1" } }),
      "payment_fields"
    ],
    "a network that is a name": [
      X402.base64({ ...X402.paymentV2, accepted: { ...accepted, network: "base" } }),
      "payment_fields"
    ],
    "fields under __proto__": [
      Buffer.from(`{"x402Version":2,"payload":{},"__proto__":{"accepted":${JSON.stringify(accepted)}}}`).toString(
        "base64"
      ),
      "payment_fields"
    ]
  }
  for (const [name, [text, detail]] of Object.entries(malformed)) {
    it(`refuses ${name}`, () => {
      const error = failureOf(text)
      assert(error._tag === "ValidationError")
      assert.strictEqual(error.reason, "malformed")
      assert.strictEqual(error.detail, detail)
    })
  }

  for (const version of [0, 1, 3, "2", null]) {
    it(`does not speak version ${JSON.stringify(version)}`, () => {
      const error = failureOf(X402.base64({ ...X402.paymentV2, x402Version: version }))
      assert(error._tag === "ValidationError")
      assert.strictEqual(error.reason, "unsupported_version")
    })
  }
})

const token = "AAAAAAAAAAAAAAAAAAAAAA"

const offersIn = (...given: Parameters<typeof x402v2Seller.refusal>) =>
  x402v2Seller.refusal(...given).personal?.(token, 0).headers?.["PAYMENT-REQUIRED"] ?? ""

describe("refusal", () => {
  it("is the peer's payment request to the byte, beside our own words", () => {
    const { body, headers } = x402v2Seller.refusal(X402.unpaid)
    assert.deepStrictEqual(headers, {})
    assert.strictEqual(offersIn(X402.unpaid), X402.base64(X402.requestTo(token)))
    assert.deepStrictEqual(body, { error: X402.unpaid.error })
  })

  it("names a network of TON as x402 does", () => {
    const offered = { ...X402.requirements, network: Network.make("ton:mainnet") }
    const offer = { ...X402.offerV2, network: "tvm:-239", extra: { ...X402.offerV2.extra, retryToken: token } }
    assert.deepStrictEqual(X402.unbase64(offersIn({ ...X402.unpaid, accepts: [offered] })), {
      ...X402.requestV2,
      accepts: [offer]
    })
    const settled = { ...X402.settlement, network: "ton:mainnet" }
    const { "PAYMENT-RESPONSE": receipt = "" } = x402v2Seller.receiptHeaders(settled, { now: 0 })
    assert.deepInclude(X402.unbase64(receipt) as object, { success: true, network: "tvm:-239" })
  })

  it("says in the peer's word why a payment was refused", () => {
    const words = { code: "INVALID_SIGNATURE", detail: "payer_mismatch", retry: "never" } as const
    const { body } = x402v2Seller.refusal({ ...X402.unpaid, ...words })
    assert.deepStrictEqual(X402.unbase64(offersIn({ ...X402.unpaid, ...words })), {
      ...X402.requestTo(token),
      error: "invalid_exact_evm_signature"
    })
    assert.include(body as object, { code: "INVALID_SIGNATURE", retry: "never" })
  })

  it("names the payment flow of what is charged before its handler runs", () => {
    const offer = { ...X402.offerV2, extra: { ...X402.offerV2.extra, paymentFlow: "upfront", retryToken: token } }
    const before = X402.unbase64(offersIn(X402.unpaid, "before-handler"))
    assert.deepStrictEqual(before, { ...X402.requestV2, accepts: [offer] })
    assert.deepStrictEqual(X402.unbase64(offersIn(X402.unpaid, "after-handler")), X402.requestTo(token))
  })

  it("can be repeated in a payment that is short enough, however long the query of the request is", () => {
    const resource = `https://shop.example/weather?city=${"ü".repeat(6000)}`
    const text = offersIn({ error: "", accepts: [{ ...X402.requirements, resource }] })
    assert.isBelow(text.length, 4096)
    const request = {
      ...X402.requestTo(token),
      resource: { ...X402.requestV2.resource, url: "https://shop.example/weather" }
    }
    assert.deepStrictEqual(X402.unbase64(text), request)
    const payment = X402.base64({ ...X402.paymentV2, resource: request.resource })
    assert.isTrue(Result.isSuccess(x402v2Seller.readPayment(payment)))
  })

  it.each([
    [`/${"a/".repeat(7000)}`, 2048],
    [`/${"a".repeat(14_000)}?day=1`, "https://shop.example/".length]
  ])("stays short for a path of 14,000 characters", (path, longest) => {
    const resource = `https://shop.example${path}`
    const text = offersIn({ error: "", accepts: [{ ...X402.requirements, resource }] })
    assert.isBelow(text.length, 4096)
    const { resource: place } = X402.unbase64(text) as { readonly resource: { readonly url: string } }
    assert.isAtMost(place.url.length, longest)
    assert.isTrue(place.url.startsWith("https://shop.example/"))
  })

  it("offers nothing where nothing is offered", () => {
    assert.deepStrictEqual(x402v2Seller.refusal({ error: "later", accepts: [] }).headers, {})
    assert.strictEqual(offersIn({ error: "later", accepts: [] }), "")
  })
})

describe("receiptHeaders", () => {
  it("carry a signed receipt as the extension offer-receipt", () => {
    const payload = {
      version: 1,
      network: "eip155:1",
      resourceUrl: "u",
      payer: "p",
      issuedAt: 1,
      transaction: "t"
    } as const
    const receipt = { format: "eip712", payload, signature: "0x00" } as const
    const { "PAYMENT-RESPONSE": text } = x402v2Seller.receiptHeaders(X402.settlement, {
      now: 0,
      receipts: { brief: receipt }
    })
    const { paymentId: _, ...said } = X402.settlement
    const extensions = { "offer-receipt": { info: { receipt } } }
    assert.deepStrictEqual(X402.unbase64(text), { ...said, extensions })
  })

  it("is the peer's settlement", () => {
    const { paymentId: _, ...said } = X402.settlement
    const { "PAYMENT-RESPONSE": text } = x402v2Seller.receiptHeaders(X402.settlement, { now: 0 })
    assert.deepStrictEqual(X402.unbase64(text), said)
  })
})
