import { assert, describe, it } from "@effect/vitest"
import { Network, type PaymentRequirements } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import { exactEvm } from "../../src/index.ts"

const network = Network.make("eip155:8453")
const schemeServer = exactEvm.server({ rpcUrl: "http://127.0.0.1:1" })
const usdc = schemeServer.asset(network, undefined)
const payee = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"

const requirements: PaymentRequirements.PaymentRequirements = {
  scheme: "exact",
  network,
  maxAmountRequired: "1000",
  resource: "https://shop.example/weather",
  payTo: payee,
  asset: usdc?.address ?? ""
}

const authorization = {
  from: "0x857b06519e91e3a54538791bdbb0e22373e36b66",
  to: payee,
  value: "1000",
  validAfter: "0",
  validBefore: "1740672154",
  nonce: "0xf3746613c2d920b5fdabc0856f2aeb2d4f88ee6037b8cc5d04a71a4462f13480"
}

const reading = (payload: unknown, offer: Partial<PaymentRequirements.PaymentRequirements> = {}) =>
  Effect.result(schemeServer.read?.({ ...requirements, ...offer }, payload) ?? Effect.die("it cannot read"))

describe("exactEvm.server reads what was signed", () => {
  it.effect("in the words that all schemes share, without a chain", () =>
    Effect.gen(function* () {
      const payment = Result.getOrThrow(yield* reading({ signature: "0x00", authorization }))
      assert.deepStrictEqual(payment.authorization, {
        payer: "0x857b06519E91e3A54538791bDbb0E22373e36b66",
        payTo: payee,
        asset: requirements.asset ?? "",
        amount: 1000n,
        nonce: authorization.nonce,
        validAfter: 0,
        validBefore: 1740672154,
        binding: undefined
      })
    })
  )

  it.effect("and nothing that is not what it says", () =>
    Effect.gen(function* () {
      const binding = { challenge: "c".repeat(43), salt: "s".repeat(22) }
      const cases = [
        [{ signature: "0x00", authorization, binding }, {}, "nonce_not_bound"],
        [{ signature: "0x00", authorization }, { asset: payee }, "asset_not_settled"],
        [{ signature: "0x00" }, {}, "payload_fields"],
        [{ signature: "0x00", authorization: { ...authorization, value: "1e3" } }, {}, "payload_fields"]
      ] as const
      for (const [payload, offer, detail] of cases) {
        const failure = Result.getOrThrow(Result.flip(yield* reading(payload, offer)))
        assert.strictEqual(failure.detail, detail)
      }
    })
  )
})
