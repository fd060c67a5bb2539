import { createHash } from "node:crypto"

import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"

import * as PaymentId from "../../src/protocol/PaymentId.ts"

const evm = {
  asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
  payer: "0x857b06519E91e3A54538791bDbb0E22373e36b66",
  nonce: "0x4f0c1d3e5a6b7c8d9e0f112233445566778899aabbccddee0000000000000000"
}

const idOf = (network: string, { asset, nonce, payer }: typeof evm) =>
  `pay_${createHash("sha256").update(`${network},${asset},${payer},${nonce}`).digest("base64url").slice(0, 22)}`

describe("make", () => {
  it.effect("is pay_ and 22 characters of the hash of what the chain consumes", () =>
    Effect.gen(function* () {
      const id = yield* PaymentId.make("eip155:84532", evm)
      assert.strictEqual(id, idOf("eip155:84532", evm))
      assert.isTrue(PaymentId.isPaymentId(id))
    })
  )

  it.effect("is this one, for ever", () =>
    Effect.map(PaymentId.make("eip155:84532", evm), (id) => assert.strictEqual(id, "pay_KiZQz_astTZSoep7HkcfbG"))
  )

  it.effect("differs when any of the four does", () =>
    Effect.gen(function* () {
      const ids = yield* Effect.all([
        PaymentId.make("eip155:84532", evm),
        PaymentId.make("eip155:8453", evm),
        PaymentId.make("eip155:84532", { ...evm, asset: evm.payer }),
        PaymentId.make("eip155:84532", { ...evm, payer: evm.asset }),
        PaymentId.make("eip155:84532", { ...evm, nonce: `${evm.nonce.slice(0, -1)}1` })
      ])
      assert.strictEqual(new Set(ids).size, 5)
    })
  )
})

describe("isPaymentId", () => {
  for (const text of [
    "",
    "pay_",
    "pay_0123456789abcdefghijk",
    "pay_0123456789abcdefghijklm",
    "PAY_0123456789abcdefghijkl"
  ]) {
    it(`${JSON.stringify(text)} is none`, () => assert.isFalse(PaymentId.isPaymentId(text)))
  }
  for (const text of ["pay_0123456789abcdefghij/l", "pay_0123456789abcdefghijkl\n", " pay_0123456789abcdefghijkl"]) {
    it(`${JSON.stringify(text)} is none`, () => assert.isFalse(PaymentId.isPaymentId(text)))
  }
})
