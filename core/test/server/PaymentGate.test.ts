import { assert, describe, it } from "@effect/vitest"
import {
  ChainUnavailable,
  type Decision,
  type SettleAfter,
  FacilitatorUnavailable,
  type GateRequest,
  type Granted,
  invalid,
  Misconfigured,
  type PaymentFailure,
  PaymentGate,
  PriceResolver,
  type Refused,
  refuse,
  type RouteConfig,
  RouteToken,
  SettlementPending
} from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"

import * as ServerSchemeRegistry from "../../src/scheme/ServerSchemeRegistry.ts"
import * as FakeFacilitator from "./FakeFacilitator.ts"
import * as FakeScheme from "./FakeScheme.ts"
import { bodyOf, challengeIn, payment, request } from "./GateTestRequest.ts"

const { outcomes, settled } = FakeFacilitator
const { alice } = FakeScheme

const unpriced = { scheme: "exact", network: "eip155:8453", payTo: alice }
const report = { ...unpriced, price: "$0.01", description: "Daily report", mimeType: "text/plain" }

const secret = "the shop's own secret, 32 long...."

const schemes = [FakeScheme.evm(), FakeScheme.evm("eip155:1"), FakeScheme.ton()]

/** A gate that is ready, over a facilitator that says what it is told. */
const open = (says: Parameters<typeof FakeFacilitator.make>[0] = {}, options: { readonly origin?: string } = {}) =>
  Effect.gen(function* () {
    const facilitator = FakeFacilitator.make(says)
    const gate = yield* PaymentGate.make({
      origin: options.origin ?? "https://shop.example",
      secret
    }).pipe(Effect.provide([facilitator.layer, PriceResolver.layerDollar, ServerSchemeRegistry.layer(schemes)]))
    const sell = (config: RouteConfig) => Effect.tap(gate.route("GET /report", config), () => gate.ready)
    return { gate, sell, told: facilitator.told }
  })

type Gate = Effect.Success<ReturnType<typeof open>>["gate"]
type Route = Parameters<Gate["decide"]>[0]

/** Asks for the offer, then pays it. */
const pay = (gate: Gate, route: Route, asked: GateRequest, index = 0) =>
  Effect.gen(function* () {
    const challenge = challengeIn(yield* gate.decide(route, asked), index)
    const headers = { ...asked.headers, ...payment(challenge) }
    return yield* gate.decide(route, { ...asked, headers, header: (name) => headers[name] })
  })

const refused = (decision: Decision | { readonly _tag: "Uncharged" }): Refused["response"] => {
  assert(decision._tag === "Refused", `expected a refusal, got ${decision._tag}`)
  return decision.response
}

const granted = (decision: Decision | { readonly _tag: "Uncharged" }): Granted => {
  assert(decision._tag === "Granted", `expected a grant, got ${JSON.stringify(decision)}`)
  return decision
}

const settleAfter = (decision: Decision): SettleAfter => {
  assert(decision._tag === "SettleAfter", `expected a deferral, got ${decision._tag}`)
  return decision
}

const unknown = invalid("malformed", "unknown_payment", "no such payment")
const wrong = new Misconfigured({ message: "the RPC serves eip155:1" })
const unavailable = new FacilitatorUnavailable({ message: "connection refused by 10.0.0.7" })

describe("an unpaid request", () => {
  it.effect("is told what would be accepted", () =>
    Effect.gen(function* () {
      const { gate, sell, told } = yield* open()
      const decision = yield* gate.decide(yield* sell(report), request("/report?day=1"))
      const { headers, status } = refused(decision)
      assert.strictEqual(status, 402)
      const { "PAYMENT-REQUIRED": sideBySide = "", ...ours } = headers
      assert.match(sideBySide, /^[A-Za-z0-9+/]+=*$/)
      assert.deepStrictEqual(ours, {
        "Content-Type": "application/json",
        "Cache-Control": "no-store",
        "X-Payment": '{"protocolVersion":2,"schemes":["exact"]}'
      })
      const { accepts, error, ...more } = bodyOf(decision)
      assert.include(error, "Payment required")
      assert.deepStrictEqual(more, {})
      assert.deepStrictEqual(accepts, [
        {
          scheme: "exact",
          network: accepts[0]!.network,
          maxAmountRequired: "10000",
          resource: "https://shop.example/report?day=1",
          description: "Daily report",
          mimeType: "text/plain",
          payTo: alice,
          maxTimeoutSeconds: 60,
          asset: FakeScheme.usdc,
          extra: {
            name: "USD Coin",
            version: "2",
            challenge: challengeIn(decision),
            routeToken: RouteToken.of(accepts[0]!.extra) ?? ""
          }
        }
      ])
      assert.strictEqual(accepts[0]!.network, "eip155:8453")
      assert.match(challengeIn(decision), /^[A-Za-z0-9_-]{43}$/)
      assert.match(RouteToken.of(accepts[0]!.extra) ?? "", /^[A-Za-z0-9_-]{22}$/)
      assert.deepStrictEqual(told, [])
    })
  )

  it.effect("from another origin may be read there", () =>
    Effect.gen(function* () {
      const { gate, sell } = yield* open()
      const route = yield* sell(report)
      for (const _ of [1, 2]) {
        const { headers } = refused(yield* gate.decide(route, request("/report", { origin: "https://page.example" })))
        assert.strictEqual(
          headers["Access-Control-Expose-Headers"],
          "X-Payment, X-Payment-Response, PAYMENT-REQUIRED, PAYMENT-RESPONSE, Retry-After"
        )
      }
      const plain = refused(yield* gate.decide(route, request("/report")))
      assert.notProperty(plain.headers, "Access-Control-Expose-Headers")
    })
  )

  it.effect("costs nothing to decide the second time", () =>
    Effect.gen(function* () {
      const { gate, sell } = yield* open()
      const route = yield* sell(report)
      assert.isFalse(PaymentGate.isDecision(gate.decideNow(route, request("/report"))))
      yield* gate.decide(route, request("/report"))
      const now = gate.decideNow(route, request("/report"))
      assert.isTrue(PaymentGate.isDecision(now))
    })
  )

  it.effect("gets another challenge for every request, price and epoch, and the same for HEAD as for GET", () =>
    Effect.gen(function* () {
      const { gate, sell } = yield* open()
      const route = yield* sell(report)
      const dearer = yield* gate.route("GET /dear", { ...report, price: "$0.02" })
      const elsewhere = yield* Effect.flatMap(open({}, { origin: "https://other.example" }), (other) =>
        Effect.flatMap(other.sell(report), (its) => other.gate.decide(its, request("/report")))
      )
      const ask = (asked: GateRequest, whose = route) => Effect.map(gate.decide(whose, asked), challengeIn)
      const challenges = [
        yield* ask(request("/report")),
        yield* ask(request("/report?day=1")),
        yield* ask(request("/report", {}, { method: "POST" })),
        yield* ask(request("/report", {}, { bodyDigest: "abc" })),
        yield* ask(request("/report"), dearer),
        challengeIn(elsewhere)
      ]
      assert.strictEqual(yield* ask(request("/report", {}, { method: "HEAD" })), challenges[0])
      yield* TestClock.adjust("15 minutes")
      challenges.push(yield* ask(request("/report")))
      assert.strictEqual(new Set(challenges).size, challenges.length)
    })
  )

  it.effect("is offered every option, and names each scheme once", () =>
    Effect.gen(function* () {
      const { gate, sell } = yield* open()
      const { price, payTo, scheme } = { price: "$1", payTo: alice, scheme: "exact" }
      const route = yield* sell({
        accepts: [
          { scheme, price, payTo, network: "evm:8453" },
          { scheme, price, payTo, network: "eip155:8453", asset: "DAI" },
          { scheme, price, payTo: "UQabc", network: "tvm:-239", extra: { note: "hello" } }
        ]
      })
      const decision = yield* gate.decide(route, request("/report"))
      assert.deepStrictEqual(
        bodyOf(decision).accepts.map((one) => [one.network, one.maxAmountRequired, one.extra?.["note"]]),
        [
          ["eip155:8453", "1000000", undefined],
          ["eip155:8453", "1000000000000000000", undefined],
          ["ton:mainnet", "1000000", "hello"]
        ]
      )
      assert.strictEqual(refused(decision).headers["X-Payment"], '{"protocolVersion":2,"schemes":["exact"]}')
    })
  )

  it.effect("gets a resource made of the origin, whatever host it names", () =>
    Effect.gen(function* () {
      const { gate, sell } = yield* open()
      const route = yield* sell(report)
      const spoofed = { host: "evil.example", "x-forwarded-host": "evil.example" }
      for (const [target, path] of [
        ["http://evil.example/report", "/report"],
        ["//evil.example/report", "//evil.example/report"],
        ["/report", "/report"]
      ] as const) {
        const [offer] = bodyOf(yield* gate.decide(route, request(target, spoofed))).accepts
        assert.strictEqual(offer?.resource, `https://shop.example${path}`)
      }
      const named = yield* sell({ ...report, resource: "urn:report" })
      assert.strictEqual(bodyOf(yield* gate.decide(named, request("/report"))).accepts[0]?.resource, "urn:report")
    })
  )

  it.effect("gets no challenge where the route does without", () =>
    Effect.gen(function* () {
      const { gate, sell } = yield* open()
      const decision = yield* gate.decide(yield* sell({ ...report, binding: "off" }), request("/report"))
      assert.deepStrictEqual(bodyOf(decision).accepts[0]?.extra, { name: "USD Coin", version: "2" })
    })
  )

  it.effect("is refused in ASCII headers and whole bodies, whatever the description holds", () =>
    Effect.gen(function* () {
      const { gate, sell } = yield* open()
      const decision = yield* gate.decide(yield* sell({ ...report, description: "Täglich — ☂" }), request("/report"))
      assert.strictEqual(bodyOf(decision).accepts[0]?.description, "Täglich — ☂")
      for (const value of Object.values(refused(decision).headers)) assert.match(value, /^[\x20-\x7e]*$/)
    })
  )
})

describe("OPTIONS", () => {
  it.effect("gets a response without running anything", () =>
    Effect.gen(function* () {
      const { gate, sell, told } = yield* open()
      const decision = yield* gate.decide(
        yield* sell(report),
        request("/report", payment(undefined), { method: "OPTIONS" })
      )
      assert.strictEqual(refused(decision).status, 204)
      assert.deepStrictEqual(told, [])
    })
  )
})

describe("a price", () => {
  it.effect("of zero lets every request pass, and nobody is asked", () =>
    Effect.gen(function* () {
      const { gate, sell, told } = yield* open()
      const route = yield* sell({ ...report, price: "$0.00" })
      assert.strictEqual((yield* gate.decide(route, request("/report", payment(undefined))))._tag, "Free")
      assert.deepStrictEqual(told, [])
    })
  )

  it.effect("by request sees the request, and is asked again when the payment comes", () =>
    Effect.gen(function* () {
      const { gate, sell, told } = yield* open()
      const seen: Array<unknown> = []
      const route = yield* sell({
        ...unpriced,
        getPrice: (asked) => {
          seen.push(asked)
          return asked.query["free"] === "yes" ? "$0" : `$0.0${String(asked.params["n"])}`
        }
      })
      const query = { x: ["1", "2"], nested: { deep: "1" } }
      const more = { params: { n: "3" }, query, body: { b: 1 }, native: "host" }
      const asked = request("/report/3?another=1", { a: "b" }, more)
      assert.strictEqual(bodyOf(yield* gate.decide(route, asked)).accepts[0]?.maxAmountRequired, "30000")
      assert.deepStrictEqual(seen[0], {
        method: "GET",
        path: "/report/3",
        params: { n: "3" },
        query,
        headers: { a: "b" },
        body: { b: 1 },
        native: "host"
      })
      granted(yield* pay(gate, route, asked))
      assert.strictEqual(told[0]?.ask === "settle" && told[0].request.paymentRequirements.maxAmountRequired, "30000")
      const changed = { ...asked, params: { n: "4" } }
      assert.strictEqual(bodyOf(yield* gate.decide(route, changed)).accepts[0]?.maxAmountRequired, "40000")
      const gift = request("/report?free=yes", {}, { query: { free: "yes" } })
      assert.strictEqual((yield* gate.decide(route, gift))._tag, "Free")
    })
  )

  it.effect("that rose since the offer refuses the payment, unless it was taken before", () =>
    Effect.gen(function* () {
      const { gate, sell, told } = yield* open()
      let price = "$0.01"
      const route = yield* sell({ ...unpriced, getPrice: async () => price })
      const challenge = challengeIn(yield* gate.decide(route, request("/report")))
      price = "$0.02"
      const decision = yield* gate.decide(route, request("/report", payment(challenge)))
      assert.strictEqual(bodyOf(decision).reason, "binding_mismatch")
      assert.strictEqual(bodyOf(decision).accepts[0]?.maxAmountRequired, "20000")
      assert.isTrue(told.every(isForKnown))
    })
  )

  for (const [what, getPrice] of [
    [
      "throws",
      () => {
        throw new Error("database password is hunter2")
      }
    ],
    ["rejects", () => Promise.reject(new Error("down"))],
    ["says no price", () => "free"],
    ["says nothing", () => undefined as unknown as string],
    ["says a bigint", () => 10_000n as unknown as string],
    ["says a number", () => 0.01 as unknown as string],
    ["says an object that cannot be written", () => Object.create(null) as string],
    ["throws what cannot be written", () => Promise.reject(Object.create(null))],
    ["says too many digits", () => "$0.0000001"]
  ] as const) {
    it.effect(`that ${what} is a 500 without running or asking anything`, () =>
      Effect.gen(function* () {
        const { gate, sell, told } = yield* open()
        const route = yield* sell({ ...unpriced, getPrice })
        for (const headers of [{}, payment(undefined)]) {
          const decision = yield* gate.decide(route, request("/report", headers))
          assert.strictEqual(refused(decision).status, 500)
          assert.strictEqual(refused(decision).headers["Cache-Control"], "no-store")
          assert.deepStrictEqual(bodyOf(decision).accepts, [])
          assert.notInclude(refused(decision).body, "hunter2")
        }
        assert.deepStrictEqual(told, [])
      })
    )
  }
})

describe("a price that does not come", () => {
  for (const [millis, config] of [
    [10_000, {}],
    [50, { priceTimeoutMillis: 50 }]
  ] as const) {
    it.effect(`is a 500 after ${millis} ms`, () =>
      Effect.gen(function* () {
        const { gate, sell, told } = yield* open()
        const route = yield* sell({ ...unpriced, ...config, getPrice: () => new Promise<string>(() => {}) })
        const deciding = yield* Effect.forkChild(gate.decide(route, request("/report", payment(undefined))))
        yield* TestClock.adjust(millis - 1)
        assert.isUndefined(deciding.pollUnsafe())
        yield* TestClock.adjust(1)
        assert.strictEqual(refused(yield* Fiber.join(deciding)).status, 500)
        assert.deepStrictEqual(told, [])
      })
    )
  }
})

describe("a request target that parsers read differently", () => {
  for (const target of ["/report?size=large#", "/report#?size=small", "/report??size=small"]) {
    it.effect(`${target} is a 400, paid or not`, () =>
      Effect.gen(function* () {
        const { gate, sell, told } = yield* open()
        const route = yield* sell(report)
        for (const headers of [{}, payment(undefined)]) {
          const answer = refused(yield* gate.decide(route, request(target, headers)))
          assert.strictEqual(answer.status, 400)
          assert.strictEqual(answer.headers["Cache-Control"], "no-store")
        }
        assert.deepStrictEqual(told, [])
      })
    )
  }
})

describe("a paid request", () => {
  it.effect("runs once the money has moved, with a receipt that nobody shares", () =>
    Effect.gen(function* () {
      const { gate, sell, told } = yield* open()
      const route = yield* sell(report)
      const decision = granted(yield* pay(gate, route, request("/report", { origin: "https://page.example" })))
      const settlement = {
        success: true as const,
        transaction: "0xfeed",
        network: "eip155:8453",
        payer: "0xpayer",
        amount: "10000",
        paymentId: "pay_0123456789abcdefghijkl",
        ifRefused: {
          routeToken: RouteToken.of(bodyOf(yield* gate.decide(route, request("/report"))).accepts[0]?.extra) ?? "",
          runs: 4,
          until: 1_800_000_000_000
        }
      }
      assert.deepStrictEqual(decision.settlement, settlement)
      assert.deepStrictEqual(decision.headers, {
        "X-Payment-Response": JSON.stringify(settlement),
        "Cache-Control": "private",
        Vary: "X-Payment, PAYMENT-SIGNATURE",
        "Access-Control-Expose-Headers":
          "X-Payment, X-Payment-Response, PAYMENT-REQUIRED, PAYMENT-RESPONSE, Retry-After"
      })
      const [asked] = told
      assert(asked?.ask === "settle")
      assert.strictEqual(asked.request.paymentRequirements.resource, "https://shop.example/report")
      assert.match(asked.claim?.id ?? "", /^[A-Za-z0-9_-]{22}$/)
      assert.match(asked.claim?.resource ?? "", /^[A-Za-z0-9_-]{43}$/)
      assert.deepStrictEqual(outcomes(told), [])
      yield* decision.finish("served")
      assert.deepStrictEqual(told.at(-1), {
        ask: "finish",
        paymentId: settlement.paymentId,
        claimId: asked.claim?.id ?? "",
        outcome: "served"
      })
    })
  )

  it.effect("claims with a new id each time, for a resource that method, target and body make", () =>
    Effect.gen(function* () {
      const { gate, sell, told } = yield* open()
      const route = yield* sell(report)
      for (const asked of [
        request("/report"),
        request("/report"),
        request("/report", {}, { method: "HEAD" }),
        request("/report?x"),
        request("/report", {}, { method: "POST" }),
        request("/report", {}, { bodyDigest: "abc" })
      ]) {
        granted(yield* pay(gate, route, asked))
      }
      const claims = told.flatMap((one) => (one.ask === "settle" ? [one.claim] : []))
      assert.strictEqual(new Set(claims.map((claim) => claim?.id)).size, 6)
      const resources = claims.map((claim) => claim?.resource)
      assert.strictEqual(resources[0], resources[1])
      assert.strictEqual(resources[0], resources[2])
      assert.strictEqual(new Set(resources).size, 4)
    })
  )

  it.effect("keeps the cache header that the route names", () =>
    Effect.gen(function* () {
      const { gate, sell } = yield* open()
      const route = yield* sell({ ...report, cache: "public, max-age=60" })
      assert.strictEqual(
        granted(yield* pay(gate, route, request("/report"))).headers["Cache-Control"],
        "public, max-age=60"
      )
    })
  )

  it.effect("may quote the challenge of the epoch before, and no older one", () =>
    Effect.gen(function* () {
      const { gate, sell, told } = yield* open()
      const route = yield* sell(report)
      const challenge = challengeIn(yield* gate.decide(route, request("/report")))
      yield* TestClock.adjust("15 minutes")
      granted(yield* gate.decide(route, request("/report", payment(challenge))))
      assert.strictEqual(
        told[0]?.ask === "settle" && told[0].request.paymentRequirements.extra?.["challenge"],
        challenge
      )
      yield* TestClock.adjust("15 minutes")
      const decision = yield* gate.decide(route, request("/report", payment(challenge)))
      assert.strictEqual(bodyOf(decision).reason, "binding_mismatch")
    })
  )

  it.effect("may name its network by an alias; the facilitator never sees it", () =>
    Effect.gen(function* () {
      const { gate, sell, told } = yield* open()
      const route = yield* sell(report)
      const challenge = challengeIn(yield* gate.decide(route, request("/report")))
      granted(yield* gate.decide(route, request("/report", payment(challenge, { network: "evm:8453" }))))
      assert.strictEqual(told[0]?.ask === "settle" && told[0].request.paymentPayload.network, "eip155:8453")
    })
  )

  it.effect("pays the asset whose challenge it quotes; without one the first", () =>
    Effect.gen(function* () {
      const { gate, sell, told } = yield* open()
      const terms = { scheme: "exact", price: "$1", payTo: alice, network: "eip155:8453" }
      const route = yield* sell({ accepts: [terms, { ...terms, asset: "DAI" }] })
      granted(yield* pay(gate, route, request("/report"), 1))
      granted(yield* gate.decide(route, request("/report", payment(undefined))))
      assert.deepStrictEqual(
        told.map((one) => one.ask === "settle" && one.request.paymentRequirements.asset),
        [FakeScheme.dai, FakeScheme.usdc]
      )
    })
  )
})

/** Whether the facilitator was asked for nothing but a payment it has on record already. */
const isForKnown = (one: FakeFacilitator.Told) => one.ask === "settle" && one.claim?.onlyKnown === true

describe("a payment that is bound to no offer made now", () => {
  it.effect("is refused when the facilitator has it not on record", () =>
    Effect.gen(function* () {
      const { gate, sell, told } = yield* open()
      const route = yield* sell(report)
      const decision = yield* gate.decide(route, request("/report", payment("A".repeat(43))))
      assert.strictEqual(refused(decision).status, 402)
      assert.include(bodyOf(decision), { reason: "binding_mismatch", detail: "other_request" })
      assert.deepStrictEqual(told.map(isForKnown), [true])
    })
  )

  it.effect("is granted when it was taken before, at a higher price", () =>
    Effect.gen(function* () {
      const { gate, sell } = yield* open({ settle: () => Effect.succeed(settled({ amount: "10777" })) })
      const route = yield* sell(report)
      const decision = granted(yield* gate.decide(route, request("/report", payment("A".repeat(43)))))
      assert.strictEqual(decision.settlement.amount, "10777")
    })
  )
})

describe("a payment is refused before anybody is asked", () => {
  const cases: ReadonlyArray<
    readonly [string, Readonly<Record<string, string | ReadonlyArray<string>>>, object, object]
  > = [
    ["that is no JSON", { "x-payment": "{" }, {}, { reason: "malformed", detail: "not_json" }],
    ["that came twice", { "x-payment": ["{}", "{}"] }, {}, { reason: "malformed", detail: "duplicate_header" }],
    ["of another version", { "x-payment": '{"protocolVersion":1}' }, {}, { reason: "unsupported_version" }],
    ["of another scheme", payment(undefined, { scheme: "upto" }), {}, { reason: "unsupported_scheme" }],
    ["on a network that is not offered", payment(undefined, { network: "eip155:1" }), {}, { code: "NETWORK_MISMATCH" }],
    ["on a network that is none", payment(undefined, { network: "<script>" }), {}, { code: "NETWORK_MISMATCH" }],
    [
      "unbound where it must be",
      payment(undefined),
      { binding: "required" },
      { reason: "binding_mismatch", detail: "binding_missing" }
    ],
    ["bound where nothing binds", payment("A".repeat(43)), { binding: "off" }, { reason: "binding_mismatch" }],
    [
      "with a payload that is no base64",
      { "x-payment": '{"protocolVersion":2,"scheme":"exact","network":"eip155:8453","payload":"!"}' },
      {},
      { reason: "malformed", detail: "payload_encoding" }
    ],
    [
      "with a payload that is no object",
      { "x-payment": '{"protocolVersion":2,"scheme":"exact","network":"eip155:8453","payload":"MQ=="}' },
      {},
      { reason: "malformed", detail: "payload_fields" }
    ],
    ["with a binding of the wrong form", payment("short"), {}, { reason: "malformed", detail: "payload_fields" }]
  ]
  for (const [what, headers, changes, expected] of cases) {
    it.effect(what, () =>
      Effect.gen(function* () {
        const { gate, sell, told } = yield* open()
        const route = yield* sell({ ...report, ...changes })
        const decision = yield* gate.decide(route, request("/report", headers))
        assert.strictEqual(refused(decision).status, 402)
        assert.strictEqual(refused(decision).headers["Cache-Control"], "no-store")
        assert.deepInclude(bodyOf(decision), expected)
        assert.strictEqual(bodyOf(decision).accepts.length, 1)
        assert.deepStrictEqual(told, [])
      })
    )
  }

  it.effect("bound by another route's challenge where nothing binds", () =>
    Effect.gen(function* () {
      const { gate, sell, told } = yield* open()
      const challenge = challengeIn(yield* gate.decide(yield* sell(report), request("/report")))
      const loose = yield* sell({ ...report, binding: "off" })
      const decision = yield* gate.decide(loose, request("/report", payment(challenge)))
      assert.strictEqual(bodyOf(decision).reason, "binding_mismatch")
      assert.deepStrictEqual(told, [])
    })
  )

  it.effect("bound to another request of the same route", () =>
    Effect.gen(function* () {
      const { gate, sell, told } = yield* open()
      const route = yield* sell(report)
      const challenge = challengeIn(yield* gate.decide(route, request("/report?day=1")))
      for (const other of [
        request("/report?day=2", payment(challenge)),
        request("/report", payment(challenge)),
        request("/report?day=1", payment(challenge), { method: "POST" }),
        request("/report?day=1", payment(challenge), { bodyDigest: "abc" })
      ]) {
        assert.strictEqual(bodyOf(yield* gate.decide(route, other)).reason, "binding_mismatch")
      }
      assert.isTrue(told.every(isForKnown))
    })
  )
})

describe("the facilitator's response", () => {
  const id = "pay_0123456789abcdefghijkl"
  const failures: ReadonlyArray<readonly [string, PaymentFailure, number, object, boolean]> = [
    [
      "insufficient balance",
      refuse("INSUFFICIENT_BALANCE", "low", "has 1, needs 2"),
      402,
      { code: "INSUFFICIENT_BALANCE", detail: "low" },
      false
    ],
    ["unavailable", unavailable, 503, { retry: "same_payment", detail: "facilitator_unavailable" }, true],
    [
      "chain down",
      new ChainUnavailable({ network: "eip155:8453", message: "x" }),
      503,
      { retry: "same_payment" },
      true
    ],
    [
      "pending",
      new SettlementPending({ paymentId: id, status: "sent", message: "wait" }),
      503,
      { retry: "same_payment", paymentId: id, paymentState: "sent" },
      true
    ]
  ]
  for (const [what, failure, status, expected, retried] of failures) {
    it.effect(`${what} is ${status}`, () =>
      Effect.gen(function* () {
        const { gate, sell, told } = yield* open({ settle: () => Effect.fail(failure) })
        const decision = yield* pay(gate, yield* sell(report), request("/report"))
        const answer = refused(decision)
        assert.strictEqual(answer.status, status)
        assert.strictEqual(/^[1-9]$/.test(answer.headers["Retry-After"] ?? ""), retried)
        assert.strictEqual(answer.headers["Cache-Control"], "no-store")
        assert.deepInclude(bodyOf(decision), expected)
        assert.strictEqual(bodyOf(decision).accepts.length, 1)
        assert.notInclude(answer.body, "10.0.0.7")
        assert.deepStrictEqual(outcomes(told), [])
      })
    )
  }

  for (const [execution, expected, retryAfter] of [
    ["held", { retry: "wait", paymentId: id, paymentState: "final" }, "2"],
    ["spent", { retry: "never", reason: "already_used", paymentId: id }, undefined],
    ["conflict", { retry: "never", reason: "already_used", paymentId: id }, undefined]
  ] as const) {
    it.effect(`${execution} is 409`, () =>
      Effect.gen(function* () {
        const { gate, sell, told } = yield* open({ settle: () => Effect.succeed(settled({ execution })) })
        const decision = yield* pay(gate, yield* sell(report), request("/report"))
        assert.strictEqual(refused(decision).status, 409)
        assert.strictEqual(refused(decision).headers["Retry-After"], retryAfter)
        assert.strictEqual(refused(decision).headers["Cache-Control"], "no-store")
        assert.deepInclude(bodyOf(decision), expected)
        assert.strictEqual(bodyOf(decision).accepts.length, 1)
        assert.deepStrictEqual(outcomes(told), [])
      })
    )
  }

  for (const [status, code, retry] of [
    ["accepted", 503, "same_payment"],
    ["planned", 503, "same_payment"],
    ["sent", 503, "same_payment"],
    ["failed", 402, "new_payment"],
    ["expired", 402, "new_payment"],
    ["rejected", 402, "new_payment"]
  ] as const) {
    it.effect(`granted with a transfer that is ${status} is ${code} and gives the run back`, () =>
      Effect.gen(function* () {
        const { gate, sell, told } = yield* open({ settle: () => Effect.succeed(settled({ status })) })
        const decision = yield* pay(gate, yield* sell(report), request("/report"))
        assert.strictEqual(refused(decision).status, code)
        assert.deepInclude(bodyOf(decision), { retry, paymentId: id, paymentState: status })
        assert.deepStrictEqual(outcomes(told), ["unanswered"])
      })
    )
  }

  it.effect("nothing about the claim is 503: two requests could run", () =>
    Effect.gen(function* () {
      const { gate, sell } = yield* open({ settle: () => Effect.succeed(settled({ execution: undefined })) })
      assert.strictEqual(refused(yield* pay(gate, yield* sell(report), request("/report"))).status, 503)
    })
  )

  it.effect("by a defect is 503, closed", () =>
    Effect.gen(function* () {
      const { gate, sell } = yield* open({ settle: () => Effect.die(new TypeError("x is not a function")) })
      const decision = yield* pay(gate, yield* sell(report), request("/report"))
      assert.strictEqual(refused(decision).status, 503)
      assert.notInclude(refused(decision).body, "not a function")
    })
  )
})

describe("after-handler", () => {
  const late: RouteConfig = { ...report, settle: "after-handler" }

  it.effect("claims first, settles when the handler did well, with the same claim", () =>
    Effect.gen(function* () {
      const { gate, sell, told } = yield* open()
      const decision = settleAfter(yield* pay(gate, yield* sell(late), request("/report")))
      assert.deepStrictEqual(
        told.map(({ ask }) => ask),
        ["claim"]
      )
      const paid = granted(yield* decision.complete(200))
      assert.property(paid.headers, "X-Payment-Response")
      assert.deepStrictEqual(
        told.map(({ ask }) => ask),
        ["claim", "settle"]
      )
      const [claim, settle] = told
      assert(claim?.ask === "claim" && settle?.ask === "settle")
      assert.deepStrictEqual(claim.claim, settle.claim)
      assert.deepStrictEqual(claim.request, settle.request)
      yield* paid.finish("served")
      assert.deepStrictEqual(outcomes(told), ["served"])
    })
  )

  it.effect("charges nothing for a response of 400 or above, or a handler that is given up", () =>
    Effect.gen(function* () {
      const { gate, sell, told } = yield* open()
      const route = yield* sell(late)
      for (const status of [400, 404, 500]) {
        const decision = settleAfter(yield* pay(gate, route, request("/report")))
        assert.strictEqual((yield* decision.complete(status))._tag, "Uncharged")
      }
      yield* settleAfter(yield* pay(gate, route, request("/report"))).abandon("failed")
      yield* settleAfter(yield* pay(gate, route, request("/report"))).abandon("notRun")
      assert.deepStrictEqual(outcomes(told), ["failed", "failed", "failed", "failed", "notRun"])
      assert.notInclude(
        told.map(({ ask }) => ask),
        "settle"
      )
    })
  )

  it.effect("settles a response below 400", () =>
    Effect.gen(function* () {
      const { gate, sell } = yield* open()
      const route = yield* sell(late)
      for (const status of [200, 204, 302, 399]) {
        granted(yield* settleAfter(yield* pay(gate, route, request("/report"))).complete(status))
      }
    })
  )

  it.effect("replaces the response when the settlement fails, and gives the run back", () =>
    Effect.gen(function* () {
      for (const [says, status, end] of [
        [Effect.fail(refuse("INSUFFICIENT_BALANCE", "low", "emptied meanwhile")), 402, "unanswered"],
        [Effect.fail(unavailable), 503, "unanswered"],
        [Effect.succeed(settled({ status: "sent" })), 503, "unanswered"],
        [Effect.succeed(settled({ execution: "held" })), 409, "notRun"],
        [Effect.succeed(settled({ execution: undefined })), 503, "unanswered"]
      ] as const) {
        const { gate, sell, told } = yield* open({ settle: () => says })
        const decision = settleAfter(yield* pay(gate, yield* sell(late), request("/report")))
        assert.strictEqual(refused(yield* decision.complete(200)).status, status)
        assert.deepStrictEqual(outcomes(told), [end])
      }
    })
  )

  it.effect("does not run on a claim that is not granted", () =>
    Effect.gen(function* () {
      for (const [says, status] of [
        [Effect.succeed(settled({ execution: "held", status: "accepted" })), 409],
        [Effect.succeed(settled({ execution: "spent" })), 409],
        [Effect.succeed(settled({ execution: "conflict" })), 409],
        [Effect.succeed(settled({ execution: undefined })), 503],
        [Effect.fail(unavailable), 503],
        [Effect.fail(refuse("EXPIRED_PAYMENT", "expired", "too late")), 402]
      ] as const) {
        const { gate, sell, told } = yield* open({ claim: () => says })
        assert.strictEqual(refused(yield* pay(gate, yield* sell(late), request("/report"))).status, status)
        assert.deepStrictEqual(outcomes(told), [])
      }
    })
  )
})

/** A grant that came late, and what the facilitator says of it then. */
const lateGrants = [
  ["is not begun if another claim runs meanwhile", 409, Effect.succeed(settled({ execution: "held" }))],
  ["is not begun if it was served meanwhile", 409, Effect.succeed(settled({ execution: "spent" }))],
  ["is not begun while nobody can say", 503, Effect.fail(unavailable)]
] as const

describe("a run that is granted when half of its lease may be over", () => {
  const slowly = Effect.delay(Effect.succeed(settled()), "30 seconds")
  for (const [name, status, says] of lateGrants) {
    it.effect(name, () =>
      Effect.gen(function* () {
        const { gate, sell, told } = yield* open({ settle: () => slowly, claim: () => says })
        const route = yield* sell(report)
        const paying = yield* Effect.forkChild(pay(gate, route, request("/report")))
        yield* TestClock.adjust("30 seconds")
        assert.strictEqual(refused(yield* Fiber.join(paying)).status, status)
        const ids = told.map((one) => (one.ask === "finish" ? one.claimId : one.claim?.id))
        assert.strictEqual(new Set(ids).size, 1)
      })
    )
  }

  it.effect("is confirmed by the same claim, and begins", () =>
    Effect.gen(function* () {
      const { gate, sell, told } = yield* open({ settle: () => slowly })
      const route = yield* sell(report)
      const paying = yield* Effect.forkChild(pay(gate, route, request("/report")))
      yield* TestClock.adjust("30 seconds")
      granted(yield* Fiber.join(paying))
      assert.deepStrictEqual(
        told.map(({ ask }) => ask),
        ["settle", "claim"]
      )
    })
  )
})

describe("a run", () => {
  it.effect("is spoken for every 20 seconds, with the same claim, until it ends", () =>
    Effect.gen(function* () {
      const { gate, sell, told } = yield* open()
      const decision = granted(yield* pay(gate, yield* sell(report), request("/report")))
      yield* TestClock.adjust("19 seconds")
      assert.deepStrictEqual(
        told.map(({ ask }) => ask),
        ["settle"]
      )
      yield* TestClock.adjust("41 seconds")
      assert.deepStrictEqual(
        told.map(({ ask }) => ask),
        ["settle", "claim", "claim", "claim"]
      )
      const ids = told.map((one) => (one.ask === "finish" ? "" : one.claim?.id))
      assert.strictEqual(new Set(ids).size, 1)
      yield* decision.finish("served")
      yield* TestClock.adjust("5 minutes")
      assert.deepStrictEqual(
        told.map(({ ask }) => ask),
        ["settle", "claim", "claim", "claim", "finish"]
      )
    })
  )

  it.effect("goes on being spoken for when one renewal fails", () =>
    Effect.gen(function* () {
      const { gate, sell, told } = yield* open({ claim: () => Effect.fail(unavailable) })
      granted(yield* pay(gate, yield* sell(report), request("/report")))
      yield* TestClock.adjust("60 seconds")
      assert.deepStrictEqual(
        told.map(({ ask }) => ask),
        ["settle", "claim", "claim", "claim"]
      )
    })
  )

  it.effect("ends once: the first report counts", () =>
    Effect.gen(function* () {
      const { gate, sell, told } = yield* open()
      const decision = granted(yield* pay(gate, yield* sell(report), request("/report")))
      yield* decision.finish("served")
      yield* decision.finish("failed")
      assert.deepStrictEqual(outcomes(told), ["served"])
    })
  )

  it.effect("is reported again while the facilitator is away, every five seconds for ten minutes", () =>
    Effect.gen(function* () {
      const { gate, sell, told } = yield* open({ finish: () => Effect.fail(unavailable) })
      const decision = granted(yield* pay(gate, yield* sell(report), request("/report")))
      const reporting = yield* Effect.forkChild(decision.finish("served"))
      yield* TestClock.adjust("10 minutes")
      assert.strictEqual(outcomes(told).length, 123)
      assert.isDefined(reporting.pollUnsafe())
    })
  )

  it.effect("is reported in the background when its transfer is pending", () =>
    Effect.gen(function* () {
      const { gate, sell, told } = yield* open({
        settle: () => Effect.succeed(settled({ status: "sent" })),
        finish: () => Effect.fail(unavailable)
      })
      assert.strictEqual(refused(yield* pay(gate, yield* sell(report), request("/report"))).status, 503)
      assert.strictEqual(outcomes(told).length, 1)
      yield* TestClock.adjust("10 minutes")
    })
  )

  it.effect("is not reported again when the facilitator says that there is nothing to end", () =>
    Effect.gen(function* () {
      const { gate, sell, told } = yield* open({ finish: () => Effect.fail(unknown) })
      yield* granted(yield* pay(gate, yield* sell(report), request("/report"))).finish("served")
      assert.deepStrictEqual(outcomes(told), ["served"])
    })
  )

  it.effect("is waited for when the gate is closed", () =>
    Effect.gen(function* () {
      const told = yield* Effect.scoped(
        Effect.gen(function* () {
          const { gate, sell, told } = yield* open({
            finish: (paymentId) =>
              Effect.andThen(Effect.sleep("2 seconds"), Effect.die(`reported ${paymentId}`)).pipe(
                Effect.ensuring(Effect.sync(() => ended.push(paymentId)))
              )
          })
          const decision = granted(yield* pay(gate, yield* sell(report), request("/report")))
          yield* Effect.forkDetach(decision.finish("served"))
          yield* Effect.yieldNow
          yield* Effect.forkDetach(TestClock.adjust("3 seconds"))
          return told
        })
      )
      assert.deepStrictEqual(outcomes(told), ["served"])
      assert.strictEqual(ended.length, 1)
    })
  )
})

const ended: Array<string> = []

const cold = (prove: Parameters<typeof FakeScheme.evm>[1], says: Parameters<typeof FakeFacilitator.make>[0] = {}) =>
  Effect.gen(function* () {
    const facilitator = FakeFacilitator.make(says)
    const gate = yield* PaymentGate.make({
      origin: "https://shop.example",
      secret
    }).pipe(
      Effect.provide([
        facilitator.layer,
        PriceResolver.layerDollar,
        ServerSchemeRegistry.layer([FakeScheme.evm("eip155:8453", prove)])
      ])
    )
    return { gate, route: yield* gate.route("GET /report", report), told: facilitator.told }
  })

describe("a gate that is not ready", () => {
  const down = new ChainUnavailable({ network: "eip155:8453", message: "no response" })

  it.effect("sells nothing while the chain is away, asks again, and then sells", () =>
    Effect.gen(function* () {
      let asked = 0
      const { gate, route, told } = yield* cold(() => (++asked < 4 ? Effect.fail(down) : Effect.void))
      for (const headers of [{}, payment(undefined)]) {
        const decision = yield* gate.decide(route, request("/report", headers))
        assert.strictEqual(refused(decision).status, 503)
        assert.strictEqual(refused(decision).headers["Retry-After"], "5")
        assert.deepStrictEqual(bodyOf(decision).accepts, [])
      }
      assert.deepStrictEqual(told, [])
      const ready = yield* Effect.forkChild(gate.ready)
      for (let second = 0; second < 10; second++) yield* TestClock.adjust("1 second")
      assert.strictEqual(asked, 4)
      assert.isDefined(ready.pollUnsafe())
      assert.strictEqual(refused(yield* gate.decide(route, request("/report"))).status, 402)
    })
  )

  it.effect("sells nothing while the facilitator is away", () =>
    Effect.gen(function* () {
      const { gate, route } = yield* cold(() => Effect.void, { supported: Effect.fail(unavailable) })
      yield* TestClock.adjust("10 minutes")
      assert.strictEqual(refused(yield* gate.decide(route, request("/report"))).status, 503)
    })
  )

  it.effect("puts into its offers what the facilitator demands of them, and the operator's word before it", () =>
    Effect.gen(function* () {
      const extra = { relayer: "the-facilitator's", kinds: ["relayed"], challenge: "not-the-gate's" }
      const { gate, route } = yield* cold(() => Effect.void, {
        supported: Effect.succeed({ kinds: FakeFacilitator.kinds.map((kind) => ({ ...kind, extra })), signers: {} })
      })
      const own = yield* gate.route("GET /own", { ...report, extra: { relayer: "the-operator's" } })
      yield* gate.ready
      const extraOf = (sold: typeof route) =>
        Effect.map(gate.decide(sold, request("/report")), (decision) => bodyOf(decision).accepts[0]?.extra)
      const offered = yield* extraOf(route)
      assert.strictEqual(offered?.["relayer"], "the-facilitator's")
      assert.deepStrictEqual(offered?.["kinds"], ["relayed"])
      assert.notStrictEqual(offered?.["challenge"], "not-the-gate's")
      assert.strictEqual((yield* extraOf(own))?.["relayer"], "the-operator's")
    })
  )

  it.effect("sells nothing that the facilitator does not settle, and says so", () =>
    Effect.gen(function* () {
      const { gate, route } = yield* cold(() => Effect.void, {
        supported: Effect.succeed({ kinds: FakeFacilitator.kinds.slice(1), signers: {} })
      })
      const error = yield* Effect.flip(gate.ready)
      assert.include(
        error.message,
        'does not settle "exact" on eip155:8453; it settles exact on eip155:1, exact on ton:mainnet'
      )
      assert.strictEqual(refused(yield* gate.decide(route, request("/report", payment(undefined)))).status, 503)
    })
  )

  it.effect("waits for a network that the facilitator is not connected to yet", () =>
    Effect.gen(function* () {
      for (const pending of ["eip155:8453", "eip155"]) {
        let asked = 0
        const { gate, route } = yield* cold(() => Effect.void, {
          supported: Effect.sync(() =>
            asked++ === 0
              ? { kinds: [], signers: {}, pending: [pending] }
              : { kinds: FakeFacilitator.kinds, signers: {} }
          )
        })
        assert.strictEqual(refused(yield* gate.decide(route, request("/report"))).status, 503)
        yield* TestClock.adjust("2 seconds")
        yield* gate.ready
        assert.strictEqual(refused(yield* gate.decide(route, request("/report"))).status, 402)
      }
    })
  )

  it.effect("does not wait for a network because another one is not connected", () =>
    Effect.gen(function* () {
      const { gate } = yield* cold(() => Effect.void, {
        supported: Effect.succeed({ kinds: [], signers: {}, pending: ["eip155:1", "ton"] })
      })
      assert.include((yield* Effect.flip(gate.ready)).message, 'does not settle "exact" on eip155:8453')
    })
  )

  it.effect("stays closed when the chain contradicts, and does not ask again", () =>
    Effect.gen(function* () {
      let asked = 0
      const { gate, route } = yield* cold(() => {
        asked++
        return Effect.fail(wrong)
      })
      assert.strictEqual(yield* Effect.flip(gate.ready), wrong)
      yield* TestClock.adjust("10 minutes")
      assert.strictEqual(asked, 1)
      assert.strictEqual(refused(yield* gate.decide(route, request("/report"))).status, 503)
    })
  )

  it.effect("asks once for all routes made together, and again for an asset that comes later", () =>
    Effect.gen(function* () {
      const proven: Array<ReadonlyArray<string>> = []
      const { gate, route } = yield* cold((_, assets) =>
        Effect.sync(() => {
          proven.push(assets.map(({ symbol }) => symbol))
        })
      )
      yield* gate.route("GET /again", report)
      yield* gate.ready
      assert.deepStrictEqual(proven, [["USDC"]])
      const later = yield* gate.route("GET /later", { ...report, asset: "DAI" })
      assert.strictEqual(refused(yield* gate.decide(later, request("/report"))).status, 503)
      yield* gate.ready
      assert.deepStrictEqual(proven, [["USDC"], ["USDC", "DAI"]])
      assert.strictEqual(refused(yield* gate.decide(later, request("/report"))).status, 402)
      assert.strictEqual(refused(yield* gate.decide(route, request("/report"))).status, 402)
    })
  )

  it.effect("still serves what is free", () =>
    Effect.gen(function* () {
      const { gate } = yield* cold(() => Effect.fail(down))
      const free = yield* gate.route("GET /free", { ...report, price: "$0" })
      assert.strictEqual((yield* gate.decide(free, request("/free")))._tag, "Free")
    })
  )
})
