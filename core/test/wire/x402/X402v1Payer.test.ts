import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"

import { x402v1Payer } from "../../../src/wire/x402/X402v1Payer.ts"
import * as X402 from "../X402Cases.ts"

const head = (status: number, headers: Readonly<Record<string, string>> = { "content-type": "application/json" }) => ({
  status,
  header: (name: string) => headers[name] ?? null
})

const body = { x402Version: 1, error: "X-PAYMENT header is required", accepts: [X402.offerV1] }

const read = (value: unknown) => x402v1Payer.readRefusal(head(402), value)

const understood = (value: unknown) => {
  const refusal = read(value)
  assert.isDefined(refusal)
  return Result.getOrThrow(refusal)
}

describe("readRefusal", () => {
  it("reads the peer's offer in our words", () => {
    assert.deepStrictEqual(understood(body).required.accepts, [X402.requirements])
  })

  it("leaves out networks without a name it knows, and writes the name of the others back as it came", () => {
    const solana = { ...X402.offerV1, network: "solana" }
    const { paymentHeaders, required } = understood({ ...body, accepts: [solana, { scheme: 1 }, X402.offerV1] })
    assert.strictEqual(required.accepts.length, 1)
    assert.strictEqual(paymentHeaders(0, X402.signed)["X-PAYMENT"], X402.base64(X402.paymentV1))
  })

  it("says what the peer's word means", () => {
    const { required } = understood({ ...body, error: "insufficient_funds" })
    assert.strictEqual(required.code, "INSUFFICIENT_BALANCE")
  })

  for (const value of [undefined, null, [], "x402Version", { ...body, x402Version: 2 }, { error: "", accepts: [] }]) {
    it(`${JSON.stringify(value)?.slice(0, 50)} is not of this dialect`, () => assert.isUndefined(read(value)))
  }

  it("refuses offers that are no list", () => {
    const refusal = read({ ...body, accepts: "all" })
    assert.isDefined(refusal)
    assert.isTrue(Result.isFailure(refusal))
  })
})

describe("mayRefuse", () => {
  it("a JSON answer that is a failure", () => {
    assert.isTrue(x402v1Payer.mayRefuse(head(402)))
    assert.isTrue(x402v1Payer.mayRefuse(head(402, { "content-type": "application/json; charset=utf-8" })))
    assert.isFalse(x402v1Payer.mayRefuse(head(200)))
    assert.isFalse(x402v1Payer.mayRefuse(head(402, { "content-type": "text/html" })))
    assert.isFalse(x402v1Payer.mayRefuse(head(402, {})))
  })
})

const receipt = (text: string) => x402v1Payer.readReceipt((name) => (name === "x-payment-response" ? text : null))

describe("readReceipt", () => {
  it("reads the peer's", () => {
    const { network, payer, success, transaction } = X402.settlement
    const said = { success, transaction, network: "base-sepolia", payer }
    assert.deepStrictEqual(receipt(X402.base64(said)), { success, transaction, network, payer })
  })

  for (const text of [
    "",
    "{}",
    X402.base64({ success: false }),
    X402.base64({ ...X402.settlement, transaction: "" })
  ]) {
    it(`${text.slice(0, 40)} is none`, () => assert.isUndefined(receipt(text)))
  }
})
