import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"

import type { PaymentRequired } from "../../../src/protocol/PaymentRequired.ts"
import { protocolPayer } from "../../../src/wire/pontage/ProtocolPayer.ts"
import { offer, settlement } from "./ProtocolCases.ts"

describe("mayRefuse", () => {
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
        protocolPayer.mayRefuse({ status, header: (name) => (name === "x-payment" ? header : null) }),
        expected
      )
    })
  }
})

const head = { status: 402, header: () => null }

const read = (body: unknown) => {
  const refusal = protocolPayer.readRefusal(head, body)
  assert.isDefined(refusal)
  return Result.map(refusal, ({ required }) => required)
}

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

describe("paymentHeaders", () => {
  it("is the envelope of the option that is paid", () => {
    const refusal = protocolPayer.readRefusal(head, { error: "", accepts: [{ ...offer, scheme: "upto" }, offer] })
    assert.isDefined(refusal)
    assert.deepStrictEqual(Result.getOrThrow(refusal).paymentHeaders(1, {}), {
      "X-Payment": '{"protocolVersion":2,"scheme":"exact","network":"eip155:8453","payload":"e30="}'
    })
  })
})

describe("the receipt", () => {
  it("is read as it was written", () => {
    const text = JSON.stringify(settlement)
    const read = protocolPayer.readReceipt((name) => (name === "x-payment-response" ? text : null))
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
      assert.isUndefined(protocolPayer.readReceipt(() => text))
    })
  }
})
