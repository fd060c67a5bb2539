import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"

import { sealPayload } from "../../../src/protocol/PaymentPayload.ts"
import { protocolSeller } from "../../../src/wire/pontage/ProtocolSeller.ts"
import { offer, settlement } from "./ProtocolCases.ts"

const payment = { protocolVersion: 2, scheme: "exact", network: "eip155:8453", payload: "e30=" } as const

const reading = (text: string) =>
  Result.map(protocolSeller.readPayment(text), ({ accepted, payment }) => {
    assert.isUndefined(accepted)
    return payment
  })

const failureOf = (text: string) => {
  const error = Result.getOrThrow(Result.flip(reading(text)))
  assert(error._tag === "ValidationError")
  return error
}

describe("readPayment", () => {
  it("reads what a payer writes", () => {
    const text = '{"protocolVersion":2,"scheme":"exact","network":"eip155:8453","payload":"e30="}'
    assert.deepStrictEqual(Result.getOrThrow(reading(text)), payment)
    assert.deepStrictEqual(sealPayload("exact", "eip155:8453", {}), payment)
  })

  it("ignores fields it does not know, and keeps none of them", () => {
    const result = reading(JSON.stringify({ ...payment, more: { deep: [1] }, toString: 1 }))
    assert.deepStrictEqual(Result.getOrThrow(result), payment)
  })

  const malformed: Readonly<Record<string, readonly [string, string]>> = {
    "the header twice, equal and joined by a host": [
      `${JSON.stringify(payment)}, ${JSON.stringify(payment)}`,
      "not_json"
    ],
    "an empty header": ["", "not_json"],
    "base64 of the payment": [Buffer.from(JSON.stringify(payment)).toString("base64"), "not_json"],
    "more than 8 KiB": [JSON.stringify({ ...payment, payload: "A".repeat(8_192) }), "too_long"],
    "nesting deeper than 8": [JSON.stringify({ ...payment, x: [[[[[[[[[]]]]]]]]] }), "too_deep"],
    "raw UTF-8": [JSON.stringify({ ...payment, scheme: "exäct" }), "not_ascii"],
    null: ["null", "payment_fields"],
    "a list": [JSON.stringify([payment]), "payment_fields"],
    "a text": [JSON.stringify("exact"), "payment_fields"],
    "a number": ["2", "payment_fields"],
    "an empty object": ["{}", "payment_fields"],
    "no version": [JSON.stringify({ ...payment, protocolVersion: undefined }), "payment_fields"],
    "the version as text": [JSON.stringify({ ...payment, protocolVersion: "2" }), "payment_fields"],
    "no scheme": [JSON.stringify({ ...payment, scheme: undefined }), "payment_fields"],
    "a scheme that is no text": [JSON.stringify({ ...payment, scheme: 1 }), "payment_fields"],
    "a network that is no text": [JSON.stringify({ ...payment, network: ["eip155:1"] }), "payment_fields"],
    "a payload that is an object": [JSON.stringify({ ...payment, payload: {} }), "payment_fields"],
    "a payload that is null": [JSON.stringify({ ...payment, payload: null }), "payment_fields"]
  }
  for (const [name, [value, detail]] of Object.entries(malformed)) {
    it(`refuses ${name}`, () => {
      const error = failureOf(value)
      assert.strictEqual(error.reason, "malformed")
      assert.strictEqual(error.detail, detail)
    })
  }

  for (const version of [0, 1, 3, 2.5, -2, 1e300]) {
    it(`does not speak version ${version}`, () => {
      const error = failureOf(JSON.stringify({ ...payment, protocolVersion: version }))
      assert.strictEqual(error.reason, "unsupported_version")
    })
  }

  it("says the version before it looks at other fields", () => {
    assert.strictEqual(failureOf('{"protocolVersion":1,"x402Version":1}').reason, "unsupported_version")
  })

  it("refuses fields that were put under Object.prototype, not in the payment", () => {
    const error = failureOf(
      '{"__proto__":{"protocolVersion":2,"scheme":"exact","network":"eip155:1","payload":"e30="}}'
    )
    assert.strictEqual(error.reason, "malformed")
    assert.isFalse("scheme" in {})
  })
})

const headersOf = (...schemes: ReadonlyArray<string>) =>
  protocolSeller.refusal({ error: "", accepts: schemes.map((scheme) => Object.assign({}, offer, { scheme })) }).headers

describe("refusal", () => {
  it("names version and schemes, once each, in order of first appearance", () => {
    assert.deepStrictEqual(headersOf("upto", "exact", "upto", "exact"), {
      "X-Payment": '{"protocolVersion":2,"schemes":["upto","exact"]}'
    })
    assert.deepStrictEqual(headersOf(), { "X-Payment": '{"protocolVersion":2,"schemes":[]}' })
  })

  it("stays one line of ASCII whatever a scheme is called", () => {
    assert.deepStrictEqual(headersOf("ex—\r\nact"), {
      "X-Payment": '{"protocolVersion":2,"schemes":["ex\\u2014\\r\\nact"]}'
    })
  })
})

describe("receiptHeaders", () => {
  it("is one line of ASCII JSON", () => {
    assert.deepStrictEqual(protocolSeller.receiptHeaders({ ...settlement, payer: "pé" }, { now: 0 }), {
      "X-Payment-Response": JSON.stringify({ ...settlement, payer: "pé" }).replace("é", "\\u00e9")
    })
  })
})

describe("recognises", () => {
  it("is told by the first character", () => {
    assert.isTrue(protocolSeller.recognises(' {"protocolVersion":2}'))
    assert.isFalse(protocolSeller.recognises("eyJ4NDAyVmVyc2lvbiI6MX0="))
  })
})
