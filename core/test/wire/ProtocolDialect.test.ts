import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"

import * as Network from "../../src/protocol/Network.ts"
import type { PaymentRequired } from "../../src/protocol/PaymentRequired.ts"
import type { PaymentRequirements } from "../../src/protocol/PaymentRequirements.ts"
import { protocolDialect } from "../../src/wire/ProtocolDialect.ts"

const payment = { protocolVersion: 2, scheme: "exact", network: "eip155:8453", payload: "e30=" } as const
const settlement = {
  success: true,
  transaction: "0xabc",
  network: "eip155:8453",
  payer: "0x857b06519E91e3A54538791bDbb0E22373e36b66",
  amount: "10000",
  paymentId: "pay_0123456789abcdefghijkl"
} as const
const offer: PaymentRequirements = {
  scheme: "exact",
  network: Network.make("eip155:8453"),
  maxAmountRequired: "10000",
  resource: "https://shop.example/report",
  payTo: "0x036CbD53842c5426634e7929541eC2318f3dCF7e"
}

const reading = (value: string | ReadonlyArray<string> | undefined) =>
  protocolDialect.readPayment((name) => (name === "x-payment" ? value : undefined))

const failureOf = (value: string | ReadonlyArray<string>) => {
  const result = reading(value)
  assert.isDefined(result)
  return Result.getOrThrow(Result.flip(result))
}

describe("readPayment", () => {
  it("no header is no payment", () => assert.isUndefined(reading(undefined)))

  it("reads what paymentHeaders writes", () => {
    const { "X-Payment": text } = protocolDialect.paymentHeaders(payment)
    assert.strictEqual(text, '{"protocolVersion":2,"scheme":"exact","network":"eip155:8453","payload":"e30="}')
    const result = reading(text)
    assert.deepStrictEqual(result && Result.getOrThrow(result), payment)
  })

  it("ignores fields it does not know, and keeps none of them", () => {
    const result = reading(JSON.stringify({ ...payment, more: { deep: [1] }, toString: 1 }))
    assert.deepStrictEqual(result && Result.getOrThrow(result), payment)
  })

  const malformed: Readonly<Record<string, readonly [string | ReadonlyArray<string>, string]>> = {
    "the header twice": [[JSON.stringify(payment), JSON.stringify(payment)], "duplicate_header"],
    "the header twice, equal and joined by a host": [
      `${JSON.stringify(payment)}, ${JSON.stringify(payment)}`,
      "not_json"
    ],
    "an empty list of headers": [[], "duplicate_header"],
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
  protocolDialect.refusalHeaders({ error: "", accepts: schemes.map((scheme) => Object.assign({}, offer, { scheme })) })

describe("refusalHeaders", () => {
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

describe("isRefusal", () => {
  const cases = [
    [402, "{}", true],
    [409, "{}", true],
    [503, "{}", true],
    [402, null, false],
    [503, null, false],
    [200, "{}", false],
    [400, "{}", false],
    [500, "{}", false]
  ] as const
  for (const [status, header, expected] of cases) {
    it(`${status} ${header === null ? "without" : "with"} the header: ${expected}`, () => {
      assert.strictEqual(
        protocolDialect.isRefusal(status, (name) => (name === "x-payment" ? header : null)),
        expected
      )
    })
  }
})

const read = (body: unknown) => protocolDialect.readRefusal(body)

describe("readRefusal", () => {
  const full: PaymentRequired = {
    error: "why",
    accepts: [{ ...offer, asset: "0x0", extra: { name: "USDC", nested: { a: [1, null] } }, maxTimeoutSeconds: 60 }],
    code: "EXPIRED_PAYMENT",
    detail: "expired",
    paymentId: "pay_0123456789abcdefghijkl",
    paymentState: "sent",
    retry: "same_payment"
  }

  it("reads error and accepts alone, and everything", () => {
    const least = { error: "why", accepts: [offer] }
    assert.deepStrictEqual(Result.getOrThrow(read(least)), least)
    assert.deepStrictEqual(Result.getOrThrow(read(full)), full)
  })

  it("ignores what it does not know", () => {
    assert.deepStrictEqual(Result.getOrThrow(read({ error: "", accepts: [], x402Version: 1 })), {
      error: "",
      accepts: []
    })
  })

  const wrong: Readonly<Record<string, unknown>> = {
    nothing: undefined,
    null: null,
    "no accepts": { error: "why" },
    "no error": { accepts: [] },
    "accepts that is no list": { error: "", accepts: offer },
    "an amount that is a number": { error: "", accepts: [{ ...offer, maxAmountRequired: 10000 }] },
    "an amount with a sign": { error: "", accepts: [{ ...offer, maxAmountRequired: "-1" }] },
    "a network that is none": { error: "", accepts: [{ ...offer, network: "mainnet" }] },
    "no recipient": { error: "", accepts: [{ ...offer, payTo: undefined }] },
    "a timeout of zero": { error: "", accepts: [{ ...offer, maxTimeoutSeconds: 0 }] },
    "a timeout that is no integer": { error: "", accepts: [{ ...offer, maxTimeoutSeconds: 1.5 }] },
    "a code that is none of the five": { error: "", accepts: [], code: "PAYMENT_FAILED" },
    "a reason that is none": { error: "", accepts: [], reason: "because" },
    "a next step that is none": { error: "", accepts: [], retry: "again" }
  }
  for (const [name, body] of Object.entries(wrong)) {
    it(`refuses ${name}`, () => {
      const error = Result.getOrThrow(Result.flip(read(body)))
      assert.strictEqual(error.reason, "malformed")
    })
  }
})

describe("the receipt", () => {
  it("is read as it was written", () => {
    const { "X-Payment-Response": text = "" } = protocolDialect.receiptHeaders(settlement)
    assert.match(text, /^[\x20-\x7e]+$/)
    const read = protocolDialect.readReceipt((name) => (name === "x-payment-response" ? text : null))
    assert.deepStrictEqual(read, settlement)
  })

  const none: ReadonlyArray<string | null> = [
    null,
    "",
    "{}",
    "null",
    "not json",
    JSON.stringify({ ...settlement, success: false }),
    JSON.stringify({ ...settlement, success: "true" }),
    JSON.stringify({ ...settlement, amount: 10000 }),
    JSON.stringify({ ...settlement, transaction: undefined }),
    "[".repeat(100)
  ]
  for (const text of none) {
    it(`${text?.slice(0, 60) ?? "no header"} is no receipt`, () => {
      assert.isUndefined(protocolDialect.readReceipt(() => text))
    })
  }
})
