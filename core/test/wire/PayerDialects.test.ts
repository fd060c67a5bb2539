import { assert, describe, it } from "@effect/vitest"

import { mppPayer } from "../../src/wire/mpp/MppPayer.ts"
import * as PayerDialects from "../../src/wire/PayerDialects.ts"
import { protocolPayer } from "../../src/wire/pontage/ProtocolPayer.ts"
import { x402v1Payer } from "../../src/wire/x402/X402v1Payer.ts"
import { x402v2Payer } from "../../src/wire/x402/X402v2Payer.ts"
import { base64, settlement } from "./X402Cases.ts"

const named = (name: string) => PayerDialects.ofPayment(PayerDialects.usual, { [name]: "" })

const read = (headers: Readonly<Record<string, string>>) =>
  PayerDialects.readReceipt(PayerDialects.usual, (name) => new Headers(headers).get(name))

const isPaid = (headers: Readonly<Record<string, string>>) =>
  PayerDialects.isPaid(PayerDialects.usual, (name) => new Headers(headers).get(name))

describe("usual", () => {
  it("prefers ours, then the newer of the others", () => {
    assert.deepStrictEqual(PayerDialects.usual, [protocolPayer, x402v2Payer, mppPayer, x402v1Payer])
  })
})

describe("ofPayment", () => {
  it("finds dialects by the header that paid, in any case, and all that share it", () => {
    assert.deepStrictEqual(named("X-Payment"), [protocolPayer, x402v1Payer])
    assert.deepStrictEqual(named("payment-signature"), [x402v2Payer])
    assert.deepStrictEqual(named("Authorization"), [mppPayer])
    assert.deepStrictEqual(named("payment-authorization"), [mppPayer])
    assert.deepStrictEqual(named("Cookie"), [])
    assert.deepStrictEqual(PayerDialects.ofPayment(PayerDialects.usual, {}), [])
  })
})

describe("isPaid", () => {
  it("sees payments, and no other use of a header that others share", () => {
    assert.isTrue(isPaid({ "X-Payment": "anything" }))
    assert.isTrue(isPaid({ Authorization: "Payment abc" }))
    assert.isTrue(isPaid({ "Payment-Authorization": "payment abc" }))
    assert.isFalse(isPaid({ Authorization: "Bearer Payment" }))
    assert.isFalse(isPaid({}))
  })
})

describe("readReceipt", () => {
  const { amount: _amount, paymentId: _paymentId, ...said } = settlement

  it("reads the first that a dialect finds", () => {
    const own = JSON.stringify(settlement)
    const foreign = base64({ ...said, transaction: "0xother" })
    assert.deepStrictEqual(read({ "X-Payment-Response": own, "PAYMENT-RESPONSE": foreign }), settlement)
    assert.deepStrictEqual(read({ "X-Payment-Response": "{}", "PAYMENT-RESPONSE": foreign }), {
      ...said,
      transaction: "0xother"
    })
  })

  it("reads the header that two dialects share", () => {
    assert.deepStrictEqual(read({ "X-PAYMENT-RESPONSE": base64({ ...said, network: "base-sepolia" }) }), said)
  })

  it("finds none where there is none", () => {
    assert.isUndefined(read({}))
    assert.isUndefined(read({ "X-PAYMENT-RESPONSE": "nothing", "PAYMENT-RESPONSE": base64({ success: false }) }))
  })
})
