import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

/** Every offer of a route can be paid: the part that payers repeat fits the longest header that is read. */
import * as ServerSchemeRegistry from "../../src/scheme/ServerSchemeRegistry.ts"
import * as PaymentGate from "../../src/server/PaymentGate.ts"
import * as PriceResolver from "../../src/server/shop/PriceResolver.ts"
import type { ResponseHead, PayerDialect, SellerDialect } from "../../src/wire/pontage/Dialect.ts"
import { protocolPayer } from "../../src/wire/pontage/ProtocolPayer.ts"
import { protocolSeller } from "../../src/wire/pontage/ProtocolSeller.ts"
import { metaPayer } from "../../src/wire/x402/X402MetaPayer.ts"
import { metaSeller } from "../../src/wire/x402/X402MetaSeller.ts"
import { x402v1Payer } from "../../src/wire/x402/X402v1Payer.ts"
import { x402v1Seller } from "../../src/wire/x402/X402v1Seller.ts"
import { x402v2Payer } from "../../src/wire/x402/X402v2Payer.ts"
import { x402v2Seller } from "../../src/wire/x402/X402v2Seller.ts"
import * as FakeFacilitator from "./FakeFacilitator.ts"
import * as FakeScheme from "./FakeScheme.ts"
import { request } from "./GateTestRequest.ts"

/** Longer than what any scheme of ours signs for an account that is there. */
const payload = { signature: "0".repeat(2_450) }

const longest = {
  network: "eip155:8453",
  payTo: FakeScheme.alice,
  price: "$9999999999999.999999",
  description: "€".repeat(1024),
  mimeType: `text/${"x".repeat(250)}`,
  maxTimeoutSeconds: 86_400,
  extra: { words: "€".repeat(337) }
}

/** Its extension of x402 has 2048 bytes. */
const longestCall = { query: { type: "object", description: "x".repeat(1_683) } }

const opened = Effect.gen(function* () {
  const shop = { origin: "https://shop.example", secret: "s".repeat(32) }
  const { layer } = FakeFacilitator.make()
  return yield* PaymentGate.make(shop).pipe(
    Effect.provide([layer, PriceResolver.layerDollar, ServerSchemeRegistry.layer([FakeScheme.evm()])])
  )
})

const pairs: ReadonlyArray<readonly [string, SellerDialect, PayerDialect]> = [
  ["our own", protocolSeller, protocolPayer],
  ["version 1", x402v1Seller, x402v1Payer],
  ["version 2", x402v2Seller, x402v2Payer],
  ["results of tools", metaSeller, metaPayer]
]

describe("the largest offer", () => {
  const both = pairs.flatMap(([name, seller, payer]) =>
    (["none", "same"] as const).flatMap((repeat) =>
      (["no call", "a described call"] as const).map((call) => [name, repeat, call, seller, payer] as const)
    )
  )
  it.effect.each(both)(
    "of %s, with responses that come again: %s, and %s, can be paid",
    ([, repeat, call, seller, payer]) =>
      Effect.gen(function* () {
        const gate = yield* opened
        const resource = seller === metaSeller ? { resource: `mcp://tool/${"x".repeat(1000)}` } : {}
        const described = call === "no call" ? {} : { input: longestCall }
        const route = yield* gate.route("GET /report", {
          ...longest,
          ...resource,
          ...described,
          repeat,
          dialects: [seller]
        })
        yield* gate.ready
        for (const target of [`/${"a".repeat(2_000)}`, `/report?${"b".repeat(6_000)}`, `/${"c/".repeat(3_000)}`]) {
          const refused = yield* gate.decide(route, request(target))
          assert(refused._tag === "Refused")
          const { body, headers, status } = refused.response
          const fields = new Headers(Object.entries(headers).map(([name, value]): [string, string] => [name, value]))
          const head: ResponseHead = { status, header: (name) => fields.get(name) }
          const read = payer.readRefusal(head, JSON.parse(body))
          assert(read !== undefined)
          const text = Result.getOrThrow(read).paymentHeaders(0, payload)[payer.paymentHeader]
          assert.isString(text)
          const presented = seller.readPayment(text ?? "")
          assert.isTrue(
            Result.isSuccess(presented),
            `${text?.length} bytes: ${JSON.stringify(presented).slice(0, 200)}`
          )
          // Node takes 16 KiB of headers altogether.
          assert.isBelow(text?.length ?? 0, 11_000)
        }
      })
  )

  it.effect.each([
    [
      { extra: { words: "€".repeat(338) } },
      "extra takes 1026 bytes as JSON; payers repeat it, and at most 1024 bytes fit"
    ],
    [{ mimeType: "x".repeat(256) }, "mimeType"],
    [{ description: "x".repeat(1025) }, "description"]
  ] as const)("is not exceeded by %o", ([more, message]) =>
    Effect.gen(function* () {
      const gate = yield* opened
      assert.include((yield* Effect.flip(gate.route("GET /report", { ...longest, ...more }))).message, message)
    })
  )
})
