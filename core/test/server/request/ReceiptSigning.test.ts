import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"

import * as ReceiptSigning from "../../../src/server/request/ReceiptSigning.ts"
import type { ReceiptSigner, ReceiptStatement } from "../../../src/wire/pontage/SignedReceipt.ts"

const signature = `0x${"ab".repeat(65)}`
const settlement = {
  success: true,
  transaction: "0x1234",
  network: "eip155:8453",
  payer: "0x1111111111111111111111111111111111111111",
  amount: "10000",
  paymentId: "pay_1"
} as const
const now = 1_700_000_000_999

const shopOf = (signReceipt: ReceiptSigner["signReceipt"] | undefined) => {
  const warned: Array<string> = []
  const receipts = signReceipt === undefined ? undefined : { address: "0x22", signReceipt }
  const warn = (kind: string) => Effect.sync(() => void warned.push(kind))
  return { warned, shop: { receipts, signer: { origin: "https://shop.example" }, warn } }
}

describe("a receipt", () => {
  it.effect("says who paid for which URL, by which transaction, and when", () =>
    Effect.gen(function* () {
      const statements: Array<ReceiptStatement> = []
      const { shop, warned } = shopOf(async (statement) => {
        statements.push(statement)
        return signature
      })
      const payload = {
        version: 1,
        network: "eip155:8453",
        resourceUrl: "https://shop.example/report?day=1",
        payer: settlement.payer,
        issuedAt: 1_700_000_000,
        transaction: "0x1234"
      } as const
      const receipt = yield* ReceiptSigning.sign(shop, "/report?day=1", settlement, now)
      assert.deepStrictEqual(receipt, { format: "eip712", payload, signature })
      assert.deepStrictEqual(statements, [payload])
      assert.lengthOf(warned, 0)
    })
  )

  it.effect("is left out without a signer", () =>
    Effect.gen(function* () {
      assert.isUndefined(yield* ReceiptSigning.sign(shopOf(undefined).shop, "/report", settlement, now))
    })
  )

  // The buyer has paid: nothing that a signer does may cost the response.
  const broken: ReadonlyArray<readonly [string, ReceiptSigner["signReceipt"]]> = [
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
  it.effect.each(broken)("is left out if the signer %s, and the operator is warned", ([, signReceipt]) =>
    Effect.gen(function* () {
      const { shop, warned } = shopOf(signReceipt)
      assert.isUndefined(yield* ReceiptSigning.sign(shop, "/report", settlement, now))
      assert.deepStrictEqual(warned, ["receipt signer"])
    })
  )

  it.effect("is left out if the signer gives no answer for two seconds", () =>
    Effect.gen(function* () {
      const { shop, warned } = shopOf(() => new Promise(() => undefined))
      const signing = yield* Effect.forkChild(ReceiptSigning.sign(shop, "/report", settlement, now))
      yield* TestClock.adjust("2 seconds")
      assert.isUndefined(yield* Fiber.join(signing))
      assert.deepStrictEqual(warned, ["receipt signer"])
    })
  )

  it.effect("is left out for a URL that would fill the header", () =>
    Effect.gen(function* () {
      const { shop, warned } = shopOf(() => Promise.resolve(signature))
      const room = ReceiptSigning.maximumUrlLength - "https://shop.example".length
      assert.isDefined(yield* ReceiptSigning.sign(shop, `/${"a".repeat(room - 1)}`, settlement, now))
      assert.isUndefined(yield* ReceiptSigning.sign(shop, `/${"a".repeat(room)}`, settlement, now))
      assert.deepStrictEqual(warned, ["long receipt"])
    })
  )
})
