import { assert, describe, it } from "@effect/vitest"
import {
  type Decision,
  PaymentGate,
  PaymentPayload,
  PriceResolver,
  protocolSeller,
  type PaymentRequirements,
  RetryToken,
  type RouteConfig,
  SettlementPending,
  x402v1Seller,
  x402v2Seller
} from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import * as ServerSchemeRegistry from "../../src/scheme/ServerSchemeRegistry.ts"
import * as X402 from "../wire/X402Cases.ts"
import * as FakeFacilitator from "./FakeFacilitator.ts"
import * as FakeScheme from "./FakeScheme.ts"
import { challengeIn, payment, request } from "./GateTestRequest.ts"

const single = { network: "eip155:8453", payTo: FakeScheme.alice, price: "$0.01" }
const everything = { ...single, dialects: [x402v1Seller, protocolSeller, x402v2Seller] }
const secret = "the shop's own secret, 32 long...."

const openWith = Effect.fnUntraced(function* (says: Parameters<typeof FakeFacilitator.make>[0]) {
  const facilitator = FakeFacilitator.make(says)
  const gate = yield* PaymentGate.make({
    origin: "https://shop.example",
    secret
  }).pipe(
    Effect.provide([
      facilitator.layer,
      PriceResolver.layerDollar,
      ServerSchemeRegistry.layer([FakeScheme.evm(), FakeScheme.ton()])
    ])
  )
  const sell = (config: RouteConfig) => Effect.tap(gate.route("GET /report", config), () => gate.ready)
  return { gate, sell, told: facilitator.told }
})

const open = openWith({})

/** Whether the facilitator was asked for nothing but a payment it has on record already. */
const isForKnown = (one: FakeFacilitator.Told) => one.ask === "settle" && one.claim?.onlyKnown === true

const refused = (decision: Decision) => {
  assert(decision._tag === "Refused", `expected a refusal, got ${decision._tag}`)
  const body: unknown = JSON.parse(decision.response.body)
  return { ...decision.response, body }
}

const Offered = Schema.Struct({ accepts: Schema.NonEmptyArray(Schema.Record(Schema.String, Schema.Json)) })

const offersOf = (value: unknown) => Schema.decodeUnknownSync(Offered)(value).accepts

/** The first offer of version 2 in a response. */
const offerIn = (decision: Decision) => offersOf(X402.unbase64(refused(decision).headers["PAYMENT-REQUIRED"]))[0]

const paidV2 = (accepted: unknown, payload: unknown = X402.signed) => ({
  "payment-signature": X402.base64({ x402Version: 2, payload, accepted })
})

const one = (field: string, value: unknown) => (offer: object) => ({ ...offer, [field]: value })

const paidV1 = { "x-payment": X402.base64({ ...X402.paymentV1, network: "base" }) }

describe("a route that says nothing of dialects", () => {
  it.effect("offers ours and x402 version 2 side by side", () =>
    Effect.gen(function* () {
      const { gate, sell } = yield* open
      const decision = yield* gate.decide(yield* sell(single), request("/report"))
      const { body, headers, status } = refused(decision)
      assert.strictEqual(status, 402)
      assert.strictEqual(headers["Cache-Control"], "no-store")
      assert.notProperty(body, "x402Version")
      const [ours] = offersOf(body)
      const offer = offerIn(decision)
      const token = RetryToken.of(offer["extra"] as PaymentRequirements.PaymentRequirements["extra"])
      assert.isDefined(token)
      assert.deepStrictEqual(offer, {
        scheme: "exact",
        network: "eip155:8453",
        amount: "10000",
        asset: FakeScheme.usdc,
        payTo: FakeScheme.alice,
        maxTimeoutSeconds: 60,
        extra: { ...(ours["extra"] as object), paymentFlow: "upfront", retryToken: token }
      })
    })
  )

  it.effect("gives each response in x402 a token of its own, and shows the facilitator the one that is repeated", () =>
    Effect.gen(function* () {
      const { gate, sell, told } = yield* open
      const route = yield* sell(single)
      const tokens: Array<unknown> = []
      for (let round = 0; round < 3; round++) {
        const offer = offerIn(yield* gate.decide(route, request("/report")))
        tokens.push(Reflect.get(offer["extra"] as object, RetryToken.key))
        yield* gate.decide(route, request("/report", paidV2(offer)))
      }
      assert.strictEqual(new Set(tokens).size, 3)
      assert.deepStrictEqual(
        told.flatMap((one) => (one.ask === "settle" ? [RetryToken.of(one.request.paymentRequirements.extra)] : [])),
        tokens
      )
    })
  )

  it.effect("says in version 2 when it charges before its handler has run, and only then", () =>
    Effect.gen(function* () {
      const { gate, sell } = yield* open
      const decision = yield* gate.decide(yield* sell({ ...single, settle: "after-handler" }), request("/report"))
      assert.notProperty(offerIn(decision)["extra"], "paymentFlow")
    })
  )

  it.effect("takes a payment of version 2 and responds in it alone", () =>
    Effect.gen(function* () {
      const { gate, sell, told } = yield* open
      const route = yield* sell(single)
      const offer = offerIn(yield* gate.decide(route, request("/report")))
      const decision = yield* gate.decide(route, request("/report", paidV2(offer)))
      assert(decision._tag === "Granted")
      assert.notProperty(decision.headers, "X-Payment-Response")
      assert.deepStrictEqual(X402.unbase64(decision.headers["PAYMENT-RESPONSE"]), {
        success: true,
        payer: "0xpayer",
        transaction: "0xfeed",
        network: "eip155:8453",
        amount: "10000",
        ifRefused: {
          routeToken: Reflect.get(offer["extra"] as object, "routeToken"),
          runs: 4,
          until: 1_800_000_000_000
        }
      })
      const [asked] = told
      assert(asked?.ask === "settle")
      assert.deepStrictEqual(
        asked.request.paymentPayload,
        PaymentPayload.sealPayload("exact", "eip155:8453", X402.signed)
      )
      assert.strictEqual(asked.request.paymentRequirements.maxAmountRequired, "10000")
    })
  )

  it.effect("does not see a payment of version 1", () =>
    Effect.gen(function* () {
      const { gate, sell, told } = yield* open
      const { body } = refused(yield* gate.decide(yield* sell(single), request("/report", paidV1)))
      assert.include(body as object, { reason: "malformed", detail: "not_json" })
      assert.deepStrictEqual(told, [])
    })
  )

  it.effect("runs nothing for two payments in one request", () =>
    Effect.gen(function* () {
      const { gate, sell, told } = yield* open
      const route = yield* sell(single)
      const first = yield* gate.decide(route, request("/report"))
      const headers = { ...paidV2(offerIn(first)), ...payment(challengeIn(first)) }
      const { body, headers: answered, status } = refused(yield* gate.decide(route, request("/report", headers)))
      assert.strictEqual(status, 402)
      assert.include(body as object, { reason: "malformed", detail: "mixed_dialects" })
      assert.property(answered, "X-Payment")
      assert.property(answered, "PAYMENT-REQUIRED")
      assert.deepStrictEqual(told, [])
    })
  )

  const tampered: Readonly<Record<string, readonly [(offer: object) => object, object]>> = {
    "a smaller amount": [one("amount", "9999"), { detail: "accepted_amount" }],
    "a larger amount": [one("amount", "10001"), { detail: "accepted_amount" }],
    "another recipient": [one("payTo", FakeScheme.alice.replace("a", "b")), { detail: "accepted_recipient" }],
    "the recipient in another case": [
      one("payTo", FakeScheme.alice.toUpperCase().replace("0X", "0x")),
      { detail: "accepted_recipient" }
    ],
    "another asset": [one("asset", FakeScheme.dai), { detail: "accepted_asset" }],
    "another timeout": [one("maxTimeoutSeconds", 59), { detail: "accepted_timeout" }],
    "another token name": [one("extra", { name: "USD coin", version: "2" }), { detail: "accepted_extra" }]
  }
  for (const [name, [tamper, words]] of Object.entries(tampered)) {
    it.effect(`refuses an offer repeated with ${name}, and asks for nothing but a record`, () =>
      Effect.gen(function* () {
        const { gate, sell, told } = yield* open
        const route = yield* sell(single)
        const offer = offerIn(yield* gate.decide(route, request("/report")))
        const { body, headers, status } = refused(yield* gate.decide(route, request("/report", paidV2(tamper(offer)))))
        assert.strictEqual(status, 402)
        assert.include(body as object, words)
        assert.deepStrictEqual(offersOf(X402.unbase64(headers["PAYMENT-REQUIRED"]))[0]["amount"], "10000")
        assert.notProperty(headers, "X-Payment")
        assert.isTrue(told.every(isForKnown))
      })
    )
  }

  for (const settle of ["before-handler", "after-handler"] as const) {
    it.effect(`does not ask for another payment while one of the price before is on its way, ${settle}`, () =>
      Effect.gen(function* () {
        const onItsWay = Effect.fail(new SettlementPending({ paymentId: "pay_1", status: "sent", message: "not yet" }))
        const { gate, sell, told } = yield* openWith({ settle: () => onItsWay, claim: () => onItsWay })
        let price = "$0.01"
        const { network, payTo } = single
        const route = yield* sell({ network, payTo, settle, getPrice: () => price })
        const headers = paidV2(offerIn(yield* gate.decide(route, request("/report"))))
        assert.strictEqual(refused(yield* gate.decide(route, request("/report", headers))).status, 503)
        price = "$0.02"
        assert.strictEqual(refused(yield* gate.decide(route, request("/report", headers))).status, 503)
        assert.deepStrictEqual(
          told.map((one) => one.ask !== "finish" && one.claim?.onlyKnown),
          [undefined, true]
        )
      })
    )
  }

  it.effect("settles the offer that is repeated, of several on one network", () =>
    Effect.gen(function* () {
      const { gate, sell, told } = yield* open
      const { network, payTo, price } = single
      const accept = (asset: string) => ({ scheme: "exact", network, payTo, price, asset })
      const route = yield* sell({ accepts: [accept("USDC"), accept("DAI")] })
      const decision = yield* gate.decide(route, request("/report"))
      const [, dai] = offersOf(X402.unbase64(refused(decision).headers["PAYMENT-REQUIRED"]))
      yield* gate.decide(route, request("/report", paidV2(dai)))
      const [asked] = told
      assert(asked?.ask === "settle")
      assert.strictEqual(asked.request.paymentRequirements.asset, FakeScheme.dai)
    })
  )

  it.effect("takes a bound payment of version 2 only where it belongs", () =>
    Effect.gen(function* () {
      const { gate, sell, told } = yield* open
      const route = yield* sell({ ...single, binding: "required" })
      const first = yield* gate.decide(route, request("/report?day=1"))
      const offer = offerIn(first)
      const unbound = refused(yield* gate.decide(route, request("/report?day=1", paidV2(offer))))
      assert.include(unbound.body as object, { reason: "binding_mismatch", detail: "binding_missing" })
      assert.deepStrictEqual(told, [])
      const binding = { challenge: challengeIn(first), salt: "A".repeat(22) }
      const bound = paidV2(offer, { ...X402.signed, binding })
      const elsewhere = yield* gate.decide(route, request("/report?day=2", bound))
      assert.include(refused(elsewhere).body as object, { reason: "binding_mismatch" })
      assert.strictEqual((yield* gate.decide(route, request("/report?day=1", bound)))._tag, "Granted")
    })
  )
})

describe("a route that speaks version 1 too", () => {
  it.effect("has its body, and our other offers in headers", () =>
    Effect.gen(function* () {
      const { gate, sell } = yield* open
      const ton = { scheme: "exact", network: "ton:mainnet", payTo: "UQshop", price: "$0.01" }
      const route = yield* sell({ dialects: everything.dialects, accepts: [ton, { scheme: "exact", ...single }] })
      const decision = yield* gate.decide(route, request("/report"))
      const { body, headers } = refused(decision)
      assert.include(body as object, { x402Version: 1, error: "X-PAYMENT header is required" })
      assert.deepStrictEqual(
        offersOf(body).map(({ network }) => network),
        ["base"]
      )
      assert.strictEqual(headers["X-Payment"], '{"protocolVersion":2,"schemes":["exact"]}')
      assert.strictEqual(offerIn(decision)["network"], "tvm:-239")
    })
  )

  it.effect("takes payments of all three, and responds to each in its own", () =>
    Effect.gen(function* () {
      const { gate, sell } = yield* open
      const route = yield* sell(everything)
      const first = yield* gate.decide(route, request("/report"))
      const challenge = offerIn(first)["extra"] as { challenge: string }
      const cases = [
        [paidV1, "X-PAYMENT-RESPONSE"],
        [paidV2(offerIn(first)), "PAYMENT-RESPONSE"],
        [payment(challenge.challenge), "X-Payment-Response"]
      ] as const
      for (const [headers, receipt] of cases) {
        const decision = yield* gate.decide(route, request("/report", headers))
        assert(decision._tag === "Granted")
        assert.deepStrictEqual(
          Object.keys(decision.headers).filter((name) => name.toLowerCase().includes("response")),
          [receipt]
        )
        assert.strictEqual(decision.headers["Vary"], "X-PAYMENT, PAYMENT-SIGNATURE")
      }
    })
  )

  it.effect("refuses a network name that is none in words of version 1", () =>
    Effect.gen(function* () {
      const { gate, sell, told } = yield* open
      const headers = { "x-payment": X402.base64({ ...X402.paymentV1, network: "moonbase" }) }
      const { body, status } = refused(yield* gate.decide(yield* sell(everything), request("/report", headers)))
      assert.strictEqual(status, 402)
      assert.include(body as object, { x402Version: 1, error: "invalid_network", code: "NETWORK_MISMATCH" })
      assert.deepStrictEqual(told, [])
    })
  )
})

describe("a route's dialects", () => {
  const mistakes: Readonly<Record<string, readonly [RouteConfig, string]>> = {
    "an empty list": [{ ...single, dialects: [] }, "dialects is empty"],
    "one twice": [{ ...single, dialects: [x402v2Seller, x402v2Seller] }, "twice"],
    "one that has no name for the network": [
      { network: "ton:mainnet", payTo: "UQshop", price: "$0.01", dialects: [x402v1Seller] },
      "x402 version 1 has no name for ton:mainnet"
    ],
    "one that needs the body after another that writes it": [
      { ...single, dialects: [protocolSeller, x402v1Seller] },
      "x402 version 1 puts its offers into the body of a refusal"
    ],
    "one that needs the body after another that leaves it empty": [
      { ...single, dialects: [x402v2Seller, protocolSeller] },
      "our own puts its offers into the body of a refusal"
    ],
    "a text": [{ ...single, dialects: "x402" as unknown as [] }, "expected a list"],
    "a scheme client": [{ ...single, dialects: [{}] as unknown as [] }, "expected a list"]
  }
  for (const [name, [config, words]] of Object.entries(mistakes)) {
    it.effect(`${name} is a mistake at start`, () =>
      Effect.gen(function* () {
        const { gate } = yield* open
        const error = yield* Effect.flip(gate.route("GET /report", config))
        assert.include(error.message, words)
      })
    )
  }
})
