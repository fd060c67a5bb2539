import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as fc from "fast-check"

import * as MetaPayer from "../../../src/wire/x402/X402MetaPayer.ts"
import * as X402 from "../X402Cases.ts"

const { metaPayer, toResponse } = MetaPayer

const asked = (request: unknown): MetaPayer.ToolResponse => ({
  isError: true,
  structuredContent: request,
  content: [{ type: "text", text: JSON.stringify(request) }]
})

const textOnly = (text: string): MetaPayer.ToolResponse => ({ isError: true, content: [{ type: "text", text }] })

const { paymentId: _, ...receipt } = X402.settlement
const paid = (value: unknown) => ({ _meta: { "x402/payment-response": value } })

const refusalOf = async (answer: MetaPayer.ToolResponse) => {
  const response = toResponse(answer)
  const head = { status: response.status, header: (name: string) => response.headers.get(name) }
  assert.isTrue(metaPayer.mayRefuse(head))
  const refusal = metaPayer.readRefusal(head, await response.json())
  assert.isDefined(refusal)
  return refusal
}

describe("requestIn", () => {
  it("finds the request in the structured content, or else in the first text", () => {
    const text = JSON.stringify(X402.requestV2)
    assert.strictEqual(MetaPayer.requestIn(asked(X402.requestV2)), text)
    assert.strictEqual(MetaPayer.requestIn(textOnly(text)), text)
    assert.strictEqual(MetaPayer.requestIn({ ...textOnly(text), structuredContent: { error: "?" } }), text)
  })

  const others: Readonly<Record<string, MetaPayer.ToolResponse>> = {
    "a result that is no error": { ...asked(X402.requestV2), isError: false },
    "a result that says nothing of an error": { structuredContent: X402.requestV2 },
    "an error that was paid for": { ...asked(X402.requestV2), ...paid(receipt) },
    "another version": asked({ ...X402.requestV2, x402Version: 1 }),
    "offers that are no list": asked({ ...X402.requestV2, accepts: {} }),
    "a list": asked([X402.requestV2]),
    "a text that is no JSON": textOnly("no such city"),
    "a second text": {
      isError: true,
      content: [
        { type: "text", text: "sorry" },
        { type: "text", text: JSON.stringify(X402.requestV2) }
      ]
    },
    "a text of another kind": { isError: true, content: [{ type: "x", text: JSON.stringify(X402.requestV2) }] },
    "a text that is too long": textOnly(JSON.stringify({ ...X402.requestV2, more: "x".repeat(65_536) })),
    "a text that is too deep": textOnly(`{"x402Version":2,"accepts":${"[".repeat(40)}${"]".repeat(40)}}`),
    nothing: {}
  }
  for (const [name, answer] of Object.entries(others)) {
    it(`${name} is none`, () => assert.isUndefined(MetaPayer.requestIn(answer)))
  }

  it("never throws, whatever a server makes of a result", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), fc.jsonValue(), fc.jsonValue(), (structuredContent, content, meta) => {
        const answer = { isError: true, structuredContent, content, _meta: { "x402/payment-response": meta } }
        assert.strictEqual(toResponse(answer).status, 500)
      })
    )
  })
})

const failed = { success: false, errorReason: "insufficient_funds", transaction: "", network: X402.settlement.network }
const wordsBeside = async (outcome: object) => {
  const { required } = Result.getOrThrow(await refusalOf({ ...asked(X402.requestV2), ...paid(outcome) }))
  return [required.code, required.retry]
}

describe("a failed settlement beside a request", () => {
  it("says why", async () => assert.deepStrictEqual(await wordsBeside(failed), ["INSUFFICIENT_BALANCE", undefined]))

  it("is open where it names a transaction", async () => {
    const [, retry] = await wordsBeside({ ...failed, transaction: "0xab" })
    assert.strictEqual(retry, "same_payment")
  })
})

const readReceipt = (value: unknown) => {
  const { headers } = toResponse({ content: [], ...paid(value) })
  return metaPayer.readReceipt((name) => headers.get(name))
}

describe("toResponse", () => {
  it("is 402 for a request, 500 for a failure, 200 for the rest", () => {
    assert.strictEqual(toResponse(asked(X402.requestV2)).status, 402)
    assert.strictEqual(toResponse(textOnly("no such city")).status, 500)
    assert.strictEqual(toResponse({ content: [] }).status, 200)
    assert.strictEqual(toResponse({ ...asked(X402.requestV2), ...paid(receipt) }).status, 500)
  })

  it("is 409 where a server of ours says that the payment is good for nothing any more", () => {
    assert.strictEqual(toResponse(asked({ ...X402.requestV2, retry: "never" })).status, 409)
    assert.strictEqual(toResponse(asked({ ...X402.requestV2, retry: "new_payment" })).status, 402)
  })

  it("carries a receipt in any language, and none that is too long", () => {
    assert.deepStrictEqual(readReceipt({ ...receipt, payer: "Zoë — 本" }), { ...receipt, payer: "Zoë — 本" })
    assert.isUndefined(readReceipt({ ...receipt, more: "x".repeat(9000) }))
    assert.isUndefined(readReceipt(JSON.stringify(receipt)))
  })
})

describe("receiptOf", () => {
  it("reads the receipt of a payment that has moved money, and no other", () => {
    assert.deepStrictEqual(MetaPayer.receiptOf(paid(receipt)), receipt)
    assert.isUndefined(MetaPayer.receiptOf(paid({ ...receipt, success: false })))
    assert.isUndefined(MetaPayer.receiptOf(paid({ ...receipt, transaction: "" })))
    assert.isUndefined(MetaPayer.receiptOf({ _meta: Object.create(paid(receipt)._meta) }))
    assert.isUndefined(MetaPayer.receiptOf({ _meta: [receipt] }))
    assert.isUndefined(MetaPayer.receiptOf({}))
  })
})

describe("readRefusal", () => {
  it("reads the peer's offer in our words, and writes the payment to the byte as the peer does", async () => {
    const { paymentHeaders, required } = Result.getOrThrow(await refusalOf(asked(X402.requestV2)))
    assert.strictEqual(required.error, "Payment required")
    assert.deepStrictEqual(required.accepts, [X402.requirements])
    const headers = paymentHeaders(0, X402.signed)
    assert.deepStrictEqual(headers, { "x402/payment": JSON.stringify(X402.paymentV2) })
    assert.deepStrictEqual(MetaPayer.metaOf(headers), { "x402/payment": X402.paymentV2 })
  })

  it("repeats what it does not understand as it came", async () => {
    const raw = { ...X402.offerV2, novelty: { of: [1, null] } }
    const request = { ...X402.requestV2, accepts: ["?", raw], extensions: { "sign-in": { info: 1 } } }
    const { paymentHeaders } = Result.getOrThrow(await refusalOf(asked(request)))
    const { "x402/payment": payment } = MetaPayer.metaOf(paymentHeaders(0, X402.signed))
    assert.deepStrictEqual(payment, {
      x402Version: 2,
      payload: X402.signed,
      extensions: request.extensions,
      resource: X402.requestV2.resource,
      accepted: raw
    })
  })

  it("takes the words of a server of ours, and another's one word", async () => {
    const ours = { ...X402.requestV2, error: "settlement_pending", retry: "wait", message: "Wait a little." }
    const said = Result.getOrThrow(await refusalOf(asked(ours))).required
    assert.include(said, { error: "Wait a little.", retry: "wait" })
    const word = { ...X402.requestV2, error: "invalid_exact_evm_nonce_already_used" }
    assert.include(Result.getOrThrow(await refusalOf(asked(word))).required, { reason: "already_used" })
    const sentence = { ...X402.requestV2, error: "Payment settlement failed: timeout" }
    assert.include(Result.getOrThrow(await refusalOf(asked(sentence))).required, { retry: "same_payment" })
  })

  it("refuses a request that lacks what it needs", async () => {
    const refusal = await refusalOf(asked({ ...X402.requestV2, error: 4 }))
    assert.strictEqual(Result.getOrThrow(Result.flip(refusal)).reason, "malformed")
  })
})
