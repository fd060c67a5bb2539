/** The whole protocol on TON: a shop that reads its offer's terms from its facilitator, and a payer. */
import { assert, describe, layer } from "@effect/vitest"
import {
  ServerSchemeRegistry,
  AsciiJson,
  type Decision,
  LocalFacilitator,
  PaymentGate,
  PaymentPayload,
  PaymentRequired,
  PriceResolver
} from "@pontage/core"
import * as Binding from "@pontage/core/Binding"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import { exactTon } from "../src/index.ts"
import { TonTestChain } from "../src/testing/index.ts"

const request = (target: string, headers: Readonly<Record<string, string>> = {}) => ({
  method: "GET",
  target,
  headers,
  header: (name: string) => headers[name],
  params: {},
  query: {},
  body: undefined,
  native: undefined
})

const bodyOf = (decision: Decision) => {
  if (decision._tag !== "Refused") throw new Error(`expected a refusal, got ${decision._tag}`)
  return Schema.decodeUnknownSync(PaymentRequired.PaymentRequired)(JSON.parse(decision.response.body))
}

describe("a shop that sells for Jettons", () => {
  layer(TonTestChain.layer(), { excludeTestServices: true })((it) => {
    it.effect("offers the terms of its facilitator, and accepts a payment for one request", () =>
      Effect.gen(function* () {
        const { accounts, balanceOf, jetton, network, rpcUrl } = yield* TonTestChain.TonTestChain
        const [signer] = accounts.newcomers
        const [relayer] = accounts.relayers
        const assets = [{ network, address: jetton.raw, symbol: jetton.symbol, decimals: jetton.decimals }]
        const facilitator = LocalFacilitator.layerMemory({
          schemes: [exactTon.facilitator({ signer: relayer, rpcUrl, network, assets })]
        })
        const sold = Effect.gen(function* () {
          const secret = "the shop's own secret, 32 long...."
          const gate = yield* PaymentGate.make({ origin: "https://shop.example", secret })
          const payTo = accounts.payee.address.toString()
          const route = yield* gate.route("GET /report", {
            scheme: "exact",
            network: "tvm:-217",
            price: "$0.01",
            payTo
          })
          yield* gate.ready
          const [offer] = bodyOf(yield* gate.decide(route, request("/report"))).accepts
          if (offer === undefined) return yield* Effect.die("there is an offer")
          const client = exactTon.client({ signer, network, rpcUrl, assets })
          const asset = client.asset(offer) ?? assert.fail("the payer knows the asset")
          const { challenge } = offer.extra ?? {}
          const binding = yield* Binding.make(typeof challenge === "string" ? challenge : "")
          const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
          const order = { requirements: offer, asset, validAfter: 0, validBefore: now + 60, binding }
          const { payload } = yield* client.sign(order)
          const envelope = PaymentPayload.sealPayload("exact", offer.network, payload)
          const paid = { "x-payment": AsciiJson.encode(envelope) }
          const other = yield* gate.decide(route, request("/report?other", paid))
          const decision = yield* gate.decide(route, request("/report", paid))
          return { decision, offer, other }
        })
        const { decision, offer, other } = yield* Effect.scoped(
          Effect.provide(sold, [
            facilitator,
            PriceResolver.layerDollar,
            ServerSchemeRegistry.layer([exactTon.server({ rpcUrl, network, assets })])
          ])
        )
        assert.strictEqual(offer.payTo, accounts.payee.raw)
        assert.strictEqual(offer.network, "ton:local")
        assert.strictEqual(offer.extra?.["responseDestination"], relayer.raw)
        assert.deepStrictEqual(offer.extra?.["kinds"], ["w5-internal", "external"])
        assert.strictEqual(bodyOf(other).reason, "binding_mismatch")
        assert.strictEqual(decision._tag, "Granted")
        assert.strictEqual(yield* balanceOf(accounts.payee.address), 10_000n)
      })
    )
  })
})
