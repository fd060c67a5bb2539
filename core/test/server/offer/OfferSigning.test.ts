/** The signed offers of a 402: which options are signed, and how long a signer can hold the 402 up. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"

import * as Hash from "../../../src/platform/Hash.ts"
import * as Network from "../../../src/protocol/Network.ts"
import type { PaymentRequirements } from "../../../src/protocol/PaymentRequirements.ts"
import * as OfferSigning from "../../../src/server/offer/OfferSigning.ts"
import type { ReceiptSigner } from "../../../src/wire/pontage/TypedStatement.ts"

const signature = `0x${"ab".repeat(65)}`

const shopOf = (signTypedData: ReceiptSigner["signTypedData"]) => {
  const warned: Array<string> = []
  const shop = {
    receipts: { address: "0x2222222222222222222222222222222222222222", signTypedData },
    signer: { hash: Hash.fromWebCrypto(globalThis.crypto), origin: "https://shop.example" },
    warn: (topic: string) => Effect.sync(() => void warned.push(topic))
  }
  return { shop, warned }
}

const option = (network: string): PaymentRequirements => ({
  scheme: "exact",
  network: Network.make(network),
  maxAmountRequired: "10000",
  resource: "https://shop.example/report",
  payTo: "0x3333333333333333333333333333333333333333",
  asset: "0x4444444444444444444444444444444444444444"
})

describe("signed offers", () => {
  it.effect("are of options on EVM, each named by its place among all", () =>
    Effect.gen(function* () {
      const { shop } = shopOf(() => Promise.resolve(signature))
      const accepts = [option("ton:mainnet"), option("eip155:8453"), option("eip155:137")]
      const { hasFailed, offers } = yield* OfferSigning.sign(shop, "/report", accepts, 1)
      assert.deepStrictEqual(
        offers.map(({ acceptIndex, payload }) => [acceptIndex, payload.network]),
        [
          [1, "eip155:8453"],
          [2, "eip155:137"]
        ]
      )
      assert.isFalse(hasFailed)
    })
  )

  it.effect("hold the 402 up for one time limit, however many options the signer leaves without an answer", () =>
    Effect.gen(function* () {
      const { shop, warned } = shopOf(() => new Promise(() => undefined))
      const accepts = ["eip155:8453", "eip155:137", "eip155:1"].map(option)
      const signing = yield* Effect.forkChild(OfferSigning.sign(shop, "/report", accepts, 1))
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(signing.pollUnsafe()?._tag, "Success")
      assert.deepStrictEqual(yield* Fiber.join(signing), { offers: [], hasFailed: true })
      assert.lengthOf(warned, 3)
    })
  )
})
