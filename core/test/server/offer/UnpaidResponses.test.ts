/** The time for which a 402 without the signatures that its route wants is given. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"

import * as ServerSchemeRegistry from "../../../src/scheme/ServerSchemeRegistry.ts"
import { retryMillis } from "../../../src/server/offer/UnpaidResponses.ts"
import * as PaymentGate from "../../../src/server/PaymentGate.ts"
import * as PriceResolver from "../../../src/server/shop/PriceResolver.ts"
import { x402v2Seller } from "../../../src/wire/x402/X402v2Seller.ts"
import * as FakeFacilitator from "../FakeFacilitator.ts"
import * as FakeScheme from "../FakeScheme.ts"
import { request } from "../GateTestRequest.ts"

const signature = `0x${"ab".repeat(65)}`

/** A shop whose signer is down at first. */
const open = Effect.gen(function* () {
  const signer = { isDown: true, requests: 0 }
  const receipts = {
    address: "0x2222222222222222222222222222222222222222",
    signTypedData: async () => {
      signer.requests++
      if (signer.isDown) throw new Error("the key server is down")
      return signature
    }
  }
  const gate = yield* PaymentGate.make({
    origin: "https://shop.example",
    secret: "the shop's own secret, 32 long....",
    receipts
  }).pipe(
    Effect.provide([
      FakeFacilitator.make().layer,
      PriceResolver.layerDollar,
      ServerSchemeRegistry.layer([FakeScheme.evm()])
    ])
  )
  const terms = { scheme: "exact", network: "eip155:8453", payTo: FakeScheme.alice, price: "$0.01" }
  const route = yield* gate.route("GET /report", { ...terms, signedOffers: true, dialects: [x402v2Seller] })
  yield* gate.ready
  const isSigned = Effect.map(gate.decide(route, request("/report")), (decision) => {
    const { headers } = decision._tag === "Refused" ? decision.response : assert.fail(decision._tag)
    return Buffer.from(headers["PAYMENT-REQUIRED"] ?? "", "base64")
      .toString()
      .includes(signature)
  })
  return { isSigned, signer }
})

describe("a 402 whose signer has failed", () => {
  it.effect("is signed a short time after the signer works again", () =>
    Effect.gen(function* () {
      const { isSigned, signer } = yield* open
      assert.isFalse(yield* isSigned)
      signer.isDown = false
      yield* TestClock.adjust(retryMillis)
      assert.isTrue(yield* isSigned)
      yield* TestClock.adjust(retryMillis)
      assert.isTrue(yield* isSigned)
      assert.strictEqual(signer.requests, 2)
    })
  )

  it.effect("asks the signer once in that time, however many requests come", () =>
    Effect.gen(function* () {
      const { isSigned, signer } = yield* open
      for (let round = 1; round <= 3; round++) {
        const all = yield* Effect.all([isSigned, isSigned, isSigned], { concurrency: round === 1 ? 1 : "unbounded" })
        assert.deepStrictEqual(all, [false, false, false])
        assert.strictEqual(signer.requests, round)
        yield* TestClock.adjust(retryMillis)
      }
    })
  )
})
