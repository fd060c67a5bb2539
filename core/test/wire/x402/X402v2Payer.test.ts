import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"

import { x402v2Payer } from "../../../src/wire/x402/X402v2Payer.ts"
import * as X402 from "../X402Cases.ts"

const headOf = (status: number, headers: Readonly<Record<string, unknown>>) => ({
  status,
  header: (name: string) => {
    const value = headers[name]
    if (value === undefined) return null
    return typeof value === "string" ? value : X402.base64(value)
  }
})

const read = (headers: Readonly<Record<string, unknown>>, body?: unknown) => {
  const head = headOf(402, headers)
  assert.isTrue(x402v2Payer.mayRefuse(head))
  const refusal = x402v2Payer.readRefusal(head, body)
  assert.isDefined(refusal)
  return refusal
}

describe("readRefusal", () => {
  it("reads the peer's offer in our words", () => {
    const { required } = Result.getOrThrow(read({ "payment-required": X402.requestV2 }))
    assert.strictEqual(required.error, "Payment required")
    assert.deepStrictEqual(required.accepts, [X402.requirements])
  })

  it("leaves out what it cannot read, and pays the others by their own words", () => {
    const raw = { ...X402.offerV2, extra: { ...X402.offerV2.extra, unheard: { of: [1, null] } }, novelty: true }
    const request = {
      ...X402.requestV2,
      accepts: [{ ...X402.offerV2, amount: "1e3" }, { ...X402.offerV2, network: "base" }, "?", raw],
      extensions: { "sign-in": { info: { statement: "hello" } } }
    }
    const { paymentHeaders, required } = Result.getOrThrow(read({ "payment-required": request }))
    assert.strictEqual(required.accepts.length, 1)
    const { "PAYMENT-SIGNATURE": text } = paymentHeaders(0, X402.signed)
    assert.deepStrictEqual(X402.unbase64(text), {
      x402Version: 2,
      payload: X402.signed,
      extensions: request.extensions,
      resource: X402.requestV2.resource,
      accepted: raw
    })
  })

  it("writes a payment to the byte as the peer's client does", () => {
    const { paymentHeaders } = Result.getOrThrow(read({ "payment-required": X402.requestV2 }))
    assert.strictEqual(paymentHeaders(0, X402.signed)["PAYMENT-SIGNATURE"], X402.base64(X402.paymentV2))
  })

  it("knows a network of TON by x402's name, and repeats the offer as it came", () => {
    const offer = { ...X402.offerV2, network: "tvm:-239" }
    const { paymentHeaders, required } = Result.getOrThrow(
      read({ "payment-required": { ...X402.requestV2, accepts: [offer] } })
    )
    assert.strictEqual(required.accepts[0]?.network, "ton:mainnet")
    const { "PAYMENT-SIGNATURE": text } = paymentHeaders(0, X402.signed)
    assert.deepInclude(X402.unbase64(text) as object, { accepted: offer })
    const outcome = { success: true, transaction: "ab", network: "tvm:-239", payer: "" }
    const { header } = headOf(200, { "payment-response": outcome })
    assert.strictEqual(x402v2Payer.readReceipt(header)?.network, "ton:mainnet")
    const other = headOf(200, { "payment-response": { ...outcome, network: "no network" } })
    assert.strictEqual(x402v2Payer.readReceipt(other.header)?.network, "no network")
  })

  it("bounds what no payer signs for", () => {
    const offer = { ...X402.offerV2, maxTimeoutSeconds: 1e9 }
    const { required } = Result.getOrThrow(read({ "payment-required": { ...X402.requestV2, accepts: [offer] } }))
    assert.strictEqual(required.accepts[0]?.maxTimeoutSeconds, 86_400)
  })

  it("takes the words of a server of ours from the body, and of another from its one word", () => {
    const header = { "payment-required": { ...X402.requestV2, error: "invalid_exact_evm_nonce_already_used" } }
    const other = Result.getOrThrow(read(header, {})).required
    assert.include(other, { reason: "already_used", detail: "invalid_exact_evm_nonce_already_used" })
    const ours = Result.getOrThrow(read(header, { error: "…", paymentState: "sent", retry: "same_payment" })).required
    assert.include(ours, { paymentState: "sent", retry: "same_payment" })
    assert.notProperty(ours, "reason")
  })

  it("reads a settlement that failed, which offers nothing again", () => {
    const outcome = { success: false, errorReason: "settlement_pending", transaction: "0xab", network: "eip155:84532" }
    const { required } = Result.getOrThrow(read({ "payment-response": outcome }))
    assert.deepStrictEqual(required, {
      error: "settlement_pending",
      accepts: [],
      retry: "same_payment",
      detail: "settlement_pending"
    })
  })

  const malformed: Readonly<Record<string, unknown>> = {
    "no base64": "{}",
    "a list": [],
    "another version": { ...X402.requestV2, x402Version: 3 },
    "offers that are no list": { ...X402.requestV2, accepts: {} },
    "nesting without end": Buffer.from("[".repeat(5000)).toString("base64")
  }
  for (const [name, value] of Object.entries(malformed)) {
    it(`refuses ${name}`, () => {
      const error = Result.getOrThrow(Result.flip(read({ "payment-required": value })))
      assert.strictEqual(error.reason, "malformed")
    })
  }
})

describe("mayRefuse", () => {
  const failed = { success: false, transaction: "", network: "eip155:84532" }
  const cases: ReadonlyArray<readonly [string, number, Readonly<Record<string, unknown>>, boolean]> = [
    ["a 402 with offers", 402, { "payment-required": "x" }, true],
    ["a 409 with offers", 409, { "payment-required": "x" }, true],
    ["a 200 with offers", 200, { "payment-required": "x" }, false],
    ["a 402 without any", 402, {}, false],
    ["a 402 whose settlement failed", 402, { "payment-response": failed }, true],
    ["a 500 whose settlement succeeded", 500, { "payment-response": { ...failed, success: true } }, false]
  ]
  for (const [name, status, headers, expected] of cases) {
    it(`${name}: ${expected}`, () => assert.strictEqual(x402v2Payer.mayRefuse(headOf(status, headers)), expected))
  }
})

const receipt = (value: unknown) => x402v2Payer.readReceipt(headOf(200, { "payment-response": value }).header)

describe("readReceipt", () => {
  it("reads the peer's, with and without what it may leave out", () => {
    const { paymentId: _, ...said } = X402.settlement
    assert.deepStrictEqual(receipt(said), said)
    const { amount: _amount, payer: _payer, ...least } = said
    assert.deepStrictEqual(receipt({ ...least, payer: null, extensions: {} }), least)
    assert.deepStrictEqual(receipt({ ...said, amount: "01" }), { ...least, payer: X402.payer })
  })

  const { success: _, ...rest } = X402.settlement
  for (const value of [
    { ...rest, success: false },
    { ...rest, success: true, transaction: "" },
    {},
    "",
    "{}",
    "AAAA"
  ]) {
    it(`${JSON.stringify(value).slice(0, 60)} is none`, () => assert.isUndefined(receipt(value)))
  }
})
