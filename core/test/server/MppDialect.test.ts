import { assert, describe, it } from "@effect/vitest"
import {
  type Decision,
  mppSeller,
  PaymentGate,
  PriceResolver,
  protocolSeller,
  type RouteConfig,
  SettlementPending,
  x402v1Seller,
  x402v2Seller
} from "@pontage/core"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"

import * as ServerSchemeRegistry from "../../src/scheme/ServerSchemeRegistry.ts"
import * as MppText from "../../src/wire/mpp/MppText.ts"
import * as FakeFacilitator from "./FakeFacilitator.ts"
import * as FakeScheme from "./FakeScheme.ts"
import { payment, request } from "./GateTestRequest.ts"
import { verdictOf } from "./LedgerGate.ts"

/** A route that sells by the Machine Payments Protocol beside other dialects, at its gate. */
const single = { network: "eip155:8453", payTo: FakeScheme.alice, price: "$0.01" } as const
const dialects = [protocolSeller, x402v2Seller, mppSeller()]

const open = Effect.fnUntraced(function* (
  config: Partial<RouteConfig> = {},
  says: Parameters<typeof FakeFacilitator.make>[0] = {}
) {
  const facilitator = FakeFacilitator.make(says)
  const gate = yield* PaymentGate.make({
    origin: "https://shop.example",
    secret: "the shop's own secret, 32 long...."
  }).pipe(
    Effect.provide([
      facilitator.layer,
      PriceResolver.layerDollar,
      ServerSchemeRegistry.layer([FakeScheme.evm(), FakeScheme.ton()])
    ])
  )
  const route = yield* gate.route("GET /report", {
    ...(config.accepts === undefined && single),
    dialects,
    ...config
  } as RouteConfig)
  yield* gate.ready
  const get = (
    headers: Parameters<typeof request>[1] = {},
    target = "/report",
    more: Parameters<typeof request>[2] = {}
  ) => gate.decide(route, request(target, headers, more))
  return { get, told: facilitator.told }
})

interface Challenge {
  readonly [name: string]: string
}

const challengesIn = (decision: Decision): ReadonlyArray<Challenge> => {
  assert(decision._tag === "Refused", `expected a refusal, got ${decision._tag}`)
  const header = decision.response.headers["WWW-Authenticate"] ?? ""
  return header
    .split(/, (?=Payment )/)
    .filter((text) => text !== "")
    .map((text) => Object.fromEntries([...text.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name, value])))
}

const challengeIn = (decision: Decision): Challenge => {
  const [challenge] = challengesIn(decision)
  assert(challenge !== undefined, "expected a challenge")
  return challenge
}

const payer = `0x${"b0".repeat(20)}`

const paid = (challenge: Challenge, name = "authorization") => ({
  [name]: `Payment ${MppText.encode({
    challenge,
    payload: {
      type: "authorization",
      from: payer,
      to: FakeScheme.alice,
      value: "10000",
      validAfter: "0",
      validBefore: "100",
      nonce: `0x${"00".repeat(32)}`,
      signature: "0x00"
    }
  })}`
})

const answered = (challenge: Challenge, fields: Record<string, unknown>): Challenge => {
  const request = JSON.parse(Buffer.from(challenge["request"] ?? "", "base64url").toString("utf8"))
  return { ...challenge, request: MppText.encode({ ...request, ...fields }) }
}

describe("an unpaid request", () => {
  it.effect("gets challenges beside the other dialects' offers, with an id of its own each time", () =>
    Effect.gen(function* () {
      const { get } = yield* open()
      const first = yield* get()
      assert(first._tag === "Refused")
      assert.property(first.response.headers, "PAYMENT-REQUIRED")
      assert.property(first.response.headers, "X-Payment")
      assert.strictEqual(first.response.headers["Content-Type"], "application/json")
      const [one, other] = [challengeIn(first), challengeIn(yield* get())]
      assert.strictEqual(one["realm"], "shop.example")
      assert.notStrictEqual(one["id"], other["id"])
      assert.strictEqual(one["id"]?.slice(22), other["id"]?.slice(22))
    })
  )

  it.effect("gets a challenge that ends with the validity that the route allows", () =>
    Effect.gen(function* () {
      const { get } = yield* open({ maxTimeoutSeconds: 300 })
      yield* TestClock.adjust("7 seconds")
      assert.strictEqual(challengeIn(yield* get())["expires"], "1970-01-01T00:05:07.000Z")
    })
  )

  it.effect("gets a challenge for each option that is a charge of the protocol, and for no other", () =>
    Effect.gen(function* () {
      const accepts = [
        { scheme: "exact", network: "ton:mainnet", payTo: "UQabc", price: "$0.01" },
        { scheme: "exact", network: "eip155:8453", payTo: FakeScheme.alice, price: "$0.01" }
      ]
      const { get } = yield* open({ accepts })
      assert.lengthOf(challengesIn(yield* get()), 1)
    })
  )

  it.effect("with a token of another scheme in Authorization is unpaid, not malformed", () =>
    Effect.gen(function* () {
      const { get, told } = yield* open()
      for (const authorization of ["Bearer x", "Basic Payment", ["Bearer x", "Bearer y"]] as const) {
        assert.strictEqual(verdictOf(yield* get({ authorization })), "402 undefined")
      }
      assert.strictEqual(verdictOf(yield* get({ authorization: "Bearer x", ...payment(undefined) })), "Granted")
      assert.lengthOf(told, 1)
    })
  )
})

describe("a credential", () => {
  it.effect("for the offered challenge is granted, with a receipt that names it", () =>
    Effect.gen(function* () {
      const { get, told } = yield* open()
      const challenge = challengeIn(yield* get())
      const decision = yield* get(paid(challenge))
      assert(decision._tag === "Granted", verdictOf(decision))
      const receipt = MppText.decode(decision.headers["Payment-Receipt"] ?? "")
      assert.deepInclude(receipt, { method: "evm", reference: "0xfeed", challengeId: challenge["id"], chainId: 8453 })
      assert.deepStrictEqual(Object.keys(decision.headers).toSorted(), ["Cache-Control", "Payment-Receipt", "Vary"])
      assert.include(decision.headers["Vary"], "Authorization")
      const [settled] = told
      assert(settled?.ask === "settle")
      const payload = JSON.parse(Buffer.from(settled.request.paymentPayload.payload, "base64").toString("utf8"))
      assert.strictEqual(`${payload.binding.salt}${payload.binding.challenge}`, challenge["id"])
    })
  )

  it.effect("may come in the header of the route's choice, and then in no other", () =>
    Effect.gen(function* () {
      const { get } = yield* open({ dialects: [protocolSeller, mppSeller({ header: "Payment-Authorization" })] })
      const challenge = challengeIn(yield* get())
      assert.strictEqual(challenge["header"], "Payment-Authorization")
      assert.strictEqual(verdictOf(yield* get(paid(challenge))), "402 undefined")
      const headers = { authorization: "Bearer x", ...paid(challenge, "payment-authorization") }
      assert.strictEqual(verdictOf(yield* get(headers)), "Granted")
    })
  )

  const changes: ReadonlyArray<readonly [string, (challenge: Challenge) => Challenge, RegExp]> = [
    ["another amount", (one) => answered(one, { amount: "9999" }), /^402 /],
    ["another recipient", (one) => answered(one, { recipient: payer }), /^402 /],
    ["another currency", (one) => answered(one, { currency: FakeScheme.dai }), /^402 /],
    ["another chain", (one) => answered(one, { methodDetails: { chainId: 1 } }), /^402 network_not_offered/],
    ["another realm", (one) => ({ ...one, realm: "other.example" }), /^402 other_realm/],
    ["another method", (one) => ({ ...one, method: "tempo" }), /^402 method_unsupported/],
    ["another intent", (one) => ({ ...one, intent: "session" }), /^402 method_unsupported/],
    ["a changed challenge in its id", (one) => ({ ...one, id: `${one["id"]?.slice(0, -1)}_` }), /^402 other_request/],
    ["an id of another length", (one) => ({ ...one, id: `${one["id"]}A` }), /^402 unknown_challenge/],
    ["a lone surrogate in its realm", (one) => ({ ...one, realm: "\ud800" }), /^402 other_realm/]
  ]

  it.effect.each(changes)("with %s is refused, as problem details with a new challenge", ([, change, verdict]) =>
    Effect.gen(function* () {
      const { get, told } = yield* open()
      const decision = yield* get(paid(change(challengeIn(yield* get()))))
      assert(decision._tag === "Refused")
      const problem = JSON.parse(decision.response.body)
      assert.match(`${decision.response.status} ${problem.reasonDetail}`, verdict)
      assert.strictEqual(decision.response.headers["Content-Type"], "application/problem+json")
      assert.match(problem.type, /^https:\/\/paymentauth\.org\/problems\//)
      assert.isDefined(challengeIn(decision)["id"])
      assert.isTrue(told.every((one) => one.ask === "settle" && one.claim?.onlyKnown === true))
    })
  )

  it.effect("for another path, query, method, body, or price is refused", () =>
    Effect.gen(function* () {
      const { get } = yield* open()
      const challenge = challengeIn(yield* get())
      for (const target of ["/other", "/report?day=1", "/report/"]) {
        assert.strictEqual((yield* get(paid(challenge), target))._tag, "Refused", target)
      }
      assert.strictEqual((yield* get(paid(challenge), "/report", { method: "POST" }))._tag, "Refused")
      assert.strictEqual((yield* get(paid(challenge), "/report", { bodyDigest: "another" }))._tag, "Refused")
      const dearer = yield* open({ price: "$0.02" })
      assert.strictEqual((yield* dearer.get(paid(challenge)))._tag, "Refused")
    })
  )

  it.effect("is good for the challenge's epochs, whatever it says of its end", () =>
    Effect.gen(function* () {
      const { get } = yield* open()
      const challenge = challengeIn(yield* get())
      const eternal = { ...challenge, expires: "2999-01-01T00:00:00.000Z" }
      yield* TestClock.adjust("20 minutes")
      assert.strictEqual(verdictOf(yield* get(paid(challenge))), "Granted")
      yield* TestClock.adjust("11 minutes")
      for (const one of [challenge, eternal]) assert.strictEqual((yield* get(paid(one)))._tag, "Refused")
    })
  )

  it.effect("beside a payment of another dialect, or twice, is refused", () =>
    Effect.gen(function* () {
      const { get, told } = yield* open()
      const own = paid(challengeIn(yield* get()))
      assert.strictEqual(verdictOf(yield* get({ ...own, ...payment(undefined) })), "402 mixed_dialects")
      const twice = yield* get({ authorization: [own["authorization"] ?? "", "Bearer x"] })
      assert(twice._tag === "Refused")
      assert.strictEqual(JSON.parse(twice.response.body).reasonDetail, "duplicate_header")
      assert.lengthOf(told, 0)
    })
  )

  it.effect("whose outcome is unknown gets 503 without a challenge", () =>
    Effect.gen(function* () {
      const pending = new SettlementPending({ paymentId: "pay_x", status: "sent", message: "not yet" })
      const { get } = yield* open({}, { settle: () => Effect.fail(pending) })
      const decision = yield* get(paid(challengeIn(yield* get())))
      assert(decision._tag === "Refused")
      assert.strictEqual(decision.response.status, 503)
      assert.lengthOf(challengesIn(decision), 0)
      assert.property(decision.response.headers, "Retry-After")
    })
  )

  it.effect("that was used gets 409 without a challenge", () =>
    Effect.gen(function* () {
      const { get } = yield* open({}, { settle: () => Effect.succeed(FakeFacilitator.settled({ execution: "spent" })) })
      const decision = yield* get(paid(challengeIn(yield* get())))
      assert(decision._tag === "Refused")
      assert.strictEqual(decision.response.status, 409)
      assert.lengthOf(challengesIn(decision), 0)
    })
  )

  it.effect("brings the same response again, and to no other id", () =>
    Effect.gen(function* () {
      const { get } = yield* open({ repeat: "same" })
      const [one, other] = [challengeIn(yield* get()), challengeIn(yield* get())]
      const first = yield* get(paid(one))
      assert(first._tag === "Granted")
      yield* first.sink?.keep({ status: 200, headers: [], body: new Uint8Array([1]) }) ?? Effect.void
      assert.strictEqual((yield* get(paid(one)))._tag, "Repeated")
      assert.strictEqual((yield* get(paid(other)))._tag, "Granted")
    })
  )
})

const mistakeOf = (config: Partial<RouteConfig>) => Effect.map(Effect.flip(open(config)), ({ message }) => message)

describe("a route", () => {
  it.effect("without a charge of the protocol, or without challenges, is a mistake", () =>
    Effect.gen(function* () {
      const ton = { network: "ton:mainnet", payTo: "UQabc" }
      assert.match(yield* mistakeOf(ton), /the Machine Payments Protocol has no name for ton:mainnet/)
      assert.match(yield* mistakeOf({ binding: "off" }), /no payments without a challenge; leave binding: "off" out/)
    })
  )

  it.effect("may speak four dialects, the first of which writes the body", () =>
    Effect.gen(function* () {
      const { get } = yield* open({ dialects: [x402v1Seller, protocolSeller, x402v2Seller, mppSeller()] })
      const decision = yield* get()
      assert(decision._tag === "Refused")
      assert.strictEqual(JSON.parse(decision.response.body).x402Version, 1)
      const length = Object.entries(decision.response.headers).reduce(
        (sum, [name, value]) => sum + name.length + value.length + 4,
        0
      )
      assert.isBelow(length, 3_000)
      assert.strictEqual(verdictOf(yield* get(paid(challengeIn(decision)))), "Granted")
    })
  )
})
