import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"

import type { SellerDialect } from "../../src/wire/pontage/Dialect.ts"
import { protocolSeller } from "../../src/wire/pontage/ProtocolSeller.ts"
import * as SellerDialects from "../../src/wire/SellerDialects.ts"
import { x402v1Seller } from "../../src/wire/x402/X402v1Seller.ts"
import { x402v2Seller } from "../../src/wire/x402/X402v2Seller.ts"
import * as X402 from "./X402Cases.ts"

const all = SellerDialects.make([x402v1Seller, protocolSeller, x402v2Seller])

const ours = '{"protocolVersion":2,"scheme":"exact","network":"eip155:84532","payload":"e30="}'
const v1 = X402.base64(X402.paymentV1)
const v2 = X402.base64(X402.paymentV2)

type Headers = Readonly<Record<string, string | ReadonlyArray<string>>>

const read = (dialects: SellerDialects.SellerDialects, headers: Headers) =>
  SellerDialects.readPayment(dialects, (name) => headers[name])

const speakers = (
  dialects: SellerDialects.SellerDialects,
  headers: Headers
): ReadonlyArray<SellerDialect> | undefined => {
  const found = read(dialects, headers)
  return found && Result.isSuccess(found.presented) ? found.dialects.dialects : undefined
}

const failureOf = (dialects: SellerDialects.SellerDialects, headers: Headers) => {
  const found = read(dialects, headers)
  assert.isDefined(found)
  return { detail: Result.getOrThrow(Result.flip(found.presented)).detail, dialects: found.dialects.dialects }
}

describe("hear", () => {
  it("hears nothing where no payment is", () => {
    assert.isUndefined(read(all, {}))
    assert.isUndefined(read(SellerDialects.make([protocolSeller]), { "payment-signature": v2 }))
  })

  it("tells dialects of one header by what they say, in any order", () => {
    for (const dialects of [all, SellerDialects.make([protocolSeller, x402v2Seller, x402v1Seller])]) {
      assert.deepStrictEqual(speakers(dialects, { "x-payment": ours }), [protocolSeller])
      assert.deepStrictEqual(speakers(dialects, { "x-payment": v1 }), [x402v1Seller])
      assert.deepStrictEqual(speakers(dialects, { "payment-signature": v2 }), [x402v2Seller])
    }
  })

  it("answers what nobody recognises in a dialect of its header", () => {
    assert.deepStrictEqual(failureOf(SellerDialects.usual, { "x-payment": v1 }), {
      detail: "not_json",
      dialects: [protocolSeller]
    })
    assert.deepStrictEqual(failureOf(all, { "x-payment": "???" }), { detail: "not_base64", dialects: [x402v1Seller] })
    assert.deepStrictEqual(failureOf(all, { "payment-signature": ours }), {
      detail: "not_base64",
      dialects: [x402v2Seller]
    })
  })

  it("refuses payments of two dialects at once, in every dialect", () => {
    const { detail, dialects } = failureOf(all, { "x-payment": ours, "payment-signature": v2 })
    assert.strictEqual(detail, "mixed_dialects")
    assert.deepStrictEqual(dialects, all.dialects)
    assert.strictEqual(failureOf(all, { "x-payment": v1, "payment-signature": v2 }).detail, "mixed_dialects")
    assert.strictEqual(
      failureOf(SellerDialects.usual, { "x-payment": "", "payment-signature": "" }).detail,
      "mixed_dialects"
    )
  })

  it("refuses a header that came twice", () => {
    for (const headers of [{ "x-payment": [ours, ours] }, { "payment-signature": [v2, v2] }, { "x-payment": [] }]) {
      assert.strictEqual(failureOf(SellerDialects.usual, headers).detail, "duplicate_header")
    }
  })
})

describe("refusal", () => {
  it("offers ours and version 2 side by side, with our body", () => {
    const { body, headers, personal } = SellerDialects.refusal(SellerDialects.usual, X402.unpaid)
    assert.deepStrictEqual(Object.keys(headers), ["X-Payment"])
    assert.deepStrictEqual(Object.keys(personal?.("t", 0).headers ?? {}), ["PAYMENT-REQUIRED"])
    assert.deepStrictEqual(body, X402.unpaid)
  })

  it("has the body of the first dialect", () => {
    const { body, headers, personal } = SellerDialects.refusal(all, X402.unpaid)
    assert.deepStrictEqual(Object.keys(headers), ["X-Payment"])
    assert.deepStrictEqual(Object.keys(personal?.("t", 0).headers ?? {}), ["PAYMENT-REQUIRED"])
    assert.include(body as object, { x402Version: 1 })
  })
})

describe("make", () => {
  it("names every header once", () => {
    assert.strictEqual(all.paymentHeaders, "X-PAYMENT, PAYMENT-SIGNATURE")
    assert.strictEqual(all.exposed, "X-PAYMENT-RESPONSE, X-Payment, PAYMENT-REQUIRED, PAYMENT-RESPONSE, Retry-After")
  })
})
