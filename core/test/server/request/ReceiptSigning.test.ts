import { createHash } from "node:crypto"

import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"

import * as Hash from "../../../src/platform/Hash.ts"
import type { SoldResponse } from "../../../src/server/http/Decision.ts"
import * as StatementSigning from "../../../src/server/offer/StatementSigning.ts"
import * as ReceiptSigning from "../../../src/server/request/ReceiptSigning.ts"
import type { ReceiptSigner, TypedStatement } from "../../../src/wire/pontage/TypedStatement.ts"

const signature = `0x${"ab".repeat(65)}`
const sale: ReceiptSigning.Sale = {
  method: "GET",
  target: "/report?day=1",
  payTo: "0x3333333333333333333333333333333333333333",
  asset: "0x4444444444444444444444444444444444444444",
  settlement: {
    success: true,
    transaction: "0x1234",
    network: "eip155:8453",
    payer: "0x1111111111111111111111111111111111111111",
    amount: "10000",
    paymentId: "pay_1"
  }
}
const brief = {
  version: 1,
  network: "eip155:8453",
  resourceUrl: "https://shop.example/report?day=1",
  payer: sale.settlement.payer,
  issuedAt: 1_700_000_000,
  transaction: "0x1234"
} as const
const purchase = {
  ...brief,
  method: "GET",
  payTo: sale.payTo,
  asset: sale.asset,
  amount: "10000",
  paymentId: "pay_1",
  responseStatus: 0,
  responseSha256: ""
}

const shopOf = (signTypedData: ReceiptSigner["signTypedData"] | undefined) => {
  const warned: Array<string> = []
  const receipts = signTypedData === undefined ? undefined : { address: "0x22", signTypedData }
  const warn = (kind: string) => Effect.sync(() => void warned.push(kind))
  const hash = Hash.fromWebCrypto(globalThis.crypto)
  return { warned, shop: { receipts, signer: { hash, origin: "https://shop.example" }, warn } }
}

const atNoon = TestClock.setTime(1_700_000_000_999)

describe("a receipt", () => {
  it.effect("says what was bought, for what, by which payment, and when", () =>
    Effect.gen(function* () {
      yield* atNoon
      const statements: Array<TypedStatement> = []
      const { shop, warned } = shopOf(async (statement) => {
        statements.push(statement)
        return signature
      })
      assert.deepStrictEqual(yield* ReceiptSigning.sign(shop, sale, true), {
        purchase: { format: "pontage-eip712", payload: purchase, signature },
        brief: { format: "eip712", payload: brief, signature }
      })
      const [full, short] = statements
      assert.deepStrictEqual(full?.message, {
        ...purchase,
        version: 1n,
        issuedAt: 1_700_000_000n,
        responseStatus: 0n
      })
      assert.strictEqual(full?.domain.name, "Pontage receipt")
      assert.deepStrictEqual(short?.message, { ...brief, version: 1n, issuedAt: 1_700_000_000n })
      assert.lengthOf(warned, 0)
      assert.deepStrictEqual(yield* ReceiptSigning.sign(shop, sale, false), {
        purchase: { format: "pontage-eip712", payload: purchase, signature }
      })
    })
  )

  it.effect("covers the response that it is signed with", () =>
    Effect.gen(function* () {
      const { shop } = shopOf(() => Promise.resolve(signature))
      const body = new TextEncoder().encode("It will rain.")
      const response: SoldResponse = { status: 203, body, encoding: undefined }
      const receipt = yield* ReceiptSigning.signPurchase(shop, sale, response)
      assert.strictEqual(receipt?.payload.responseStatus, 203)
      assert.strictEqual(receipt?.payload.responseSha256, createHash("sha256").update(body).digest("hex"))
      const plain = yield* ReceiptSigning.signPurchase(shop, sale, { ...response, encoding: "Identity" })
      assert.strictEqual(plain?.payload.responseStatus, 203)
      // The payer's client decodes the body, and could not find the digest again.
      const packed = yield* ReceiptSigning.signPurchase(shop, sale, { ...response, encoding: "gzip" })
      assert.deepInclude(packed?.payload, { responseStatus: 0, responseSha256: "" })
    })
  )

  it.effect("is left out without a signer", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* ReceiptSigning.sign(shopOf(undefined).shop, sale, true), {})
    })
  )

  // The buyer has paid: nothing that a signer does may cost the response.
  const broken: ReadonlyArray<readonly [string, ReceiptSigner["signTypedData"]]> = [
    ["rejects", () => Promise.reject(new Error("the key is 0xsecret"))],
    [
      "throws",
      () => {
        throw new Error("no")
      }
    ],
    ["returns no text", () => Promise.resolve(undefined as never)],
    ["returns another text", () => Promise.resolve("0xab\r\nX: y")],
    ["returns a signature that is too short", () => Promise.resolve(signature.slice(0, -2))]
  ]
  it.effect.each(broken)("is left out if the signer %s, and the operator is warned", ([, signTypedData]) =>
    Effect.gen(function* () {
      const { shop, warned } = shopOf(signTypedData)
      assert.deepStrictEqual(yield* ReceiptSigning.sign(shop, sale, false), {})
      assert.deepStrictEqual(warned, ["receipt signer"])
    })
  )

  it.effect("is left out if the signer gives no answer for two seconds", () =>
    Effect.gen(function* () {
      const { shop, warned } = shopOf(() => new Promise(() => undefined))
      const signing = yield* Effect.forkChild(ReceiptSigning.sign(shop, sale, false))
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(yield* Fiber.join(signing), {})
      assert.deepStrictEqual(warned, ["receipt signer"])
    })
  )

  it.effect("is left out for a URL that would fill the header", () =>
    Effect.gen(function* () {
      const { shop, warned } = shopOf(() => Promise.resolve(signature))
      const room = StatementSigning.maximumUrlLength - "https://shop.example".length
      const at = (target: string) => ReceiptSigning.signPurchase(shop, { ...sale, target })
      assert.isDefined(yield* at(`/${"a".repeat(room - 1)}`))
      assert.isUndefined(yield* at(`/${"a".repeat(room)}`))
      assert.deepStrictEqual(warned, ["long receipt"])
    })
  )
})
