import * as querystring from "node:querystring"

import { assert, describe, it } from "@effect/vitest"
import { type Decision, type GateRequest, PaymentGate, PriceResolver, type RouteConfig } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"

import * as ServerSchemeRegistry from "../../../src/scheme/ServerSchemeRegistry.ts"
import * as BoundBody from "../../../src/server/http/BoundBody.ts"
import * as FakeFacilitator from "../FakeFacilitator.ts"
import * as FakeScheme from "../FakeScheme.ts"
import { challengeIn, payment, request } from "../GateTestRequest.ts"

const report = { scheme: "exact", network: "eip155:8453", payTo: FakeScheme.alice, price: "$0.01" } as const

const open = Effect.fnUntraced(function* (config: Partial<RouteConfig>) {
  const facilitator = FakeFacilitator.make()
  const gate = yield* PaymentGate.make({
    origin: "https://shop.example",
    secret: "the shop's own secret, 32 long...."
  }).pipe(
    Effect.provide([facilitator.layer, PriceResolver.layerDollar, ServerSchemeRegistry.layer([FakeScheme.evm()])])
  )
  // A part of one route's configuration, whatever form the rest has.
  const route = yield* gate.route("POST /render", { ...report, ...config } as RouteConfig)
  yield* gate.ready
  return {
    told: facilitator.told,
    decide: (asked: GateRequest) => gate.decide(route, asked),
    /** Asks with one request for the offer, and shows its payment with another. */
    buy: Effect.fnUntraced(function* (asked: GateRequest, shown: GateRequest = asked) {
      const headers = { ...shown.headers, ...payment(challengeIn(yield* gate.decide(route, asked))) }
      return yield* gate.decide(route, { ...shown, headers, header: (name) => headers[name] })
    })
  }
})

const statusOf = (decision: Decision): number | string =>
  decision._tag === "Refused" ? decision.response.status : decision._tag

const json = { "content-type": "application/json", "content-length": "11" }
const posted = (more: Parameters<typeof request>[2], headers: Parameters<typeof request>[1] = json) =>
  request("/render", headers, { method: "POST", ...more })

const none = (body: unknown, headers = {}) => posted({ body }, headers)
const rawBody = (length: number) => posted({ rawBody: new Uint8Array(length) })

const validate: RouteConfig["validate"] = ({ body, method, path }) =>
  (body as { readonly pages: number }).pages < 0
    ? { status: 422, message: `${method} ${path}: no such pages` }
    : undefined

const failing =
  (error: unknown): (() => unknown) =>
  () => {
    throw error
  }

const wrongs: ReadonlyArray<readonly [does: string, validate: () => unknown]> = [
  ["throws", failing(new Error("no database"))],
  ["throws what is no error", failing(Object.create(null))],
  ["rejects", () => Promise.reject(new Error("no database"))],
  ["says null", () => null],
  ["says true", () => true],
  ["says a status alone", () => 400],
  ["says a status of success", () => ({ status: 200 })],
  ["says 402", () => ({ status: 402, message: "pay" })],
  ["says 500", () => ({ status: 500 })],
  ["says a fraction", () => ({ status: 400.5 })],
  ["says something else beside it", () => ({ status: 400, mesage: "x" })],
  ["says both a message and a body", () => ({ status: 400, message: "x", body: 1 })],
  ["says a body that is no JSON", () => ({ status: 400, body: Symbol("x") })]
]

describe('bind: "body"', () => {
  it.effect.each([
    ["bytes", { rawBody: Buffer.from('{"pages":1}') }, { rawBody: Buffer.from('{"pages":2}') }],
    ["text", { rawBody: '{"pages":1}' }, { rawBody: '{"pages":2}' }],
    ["a parsed body", { body: { pages: 1 } }, { body: { pages: 2 } }],
    ["a body parsed as text", { body: "one" }, { body: "two" }],
    ["a body parsed as bytes", { body: Buffer.from("one") }, { body: Buffer.from("two") }]
  ] as const)("takes a payment for the same body alone: %s", ([, one, other]) =>
    Effect.gen(function* () {
      const { buy, told } = yield* open({ bind: "body" })
      assert.strictEqual(statusOf(yield* buy(posted(one))), "Granted")
      assert.strictEqual(statusOf(yield* buy(posted(one), posted(other))), 402)
      const claims = told.flatMap((one) => (one.ask === "settle" ? [one.claim] : []))
      assert.strictEqual(claims.length, 2)
      assert.notStrictEqual(claims[0]?.resource, claims[1]?.resource)
      assert.isTrue(claims[1]?.onlyKnown)
    })
  )

  it.effect("is no matter of the order of a parsed body's fields", () =>
    Effect.gen(function* () {
      const { buy } = yield* open({ bind: "body" })
      assert.strictEqual(
        statusOf(yield* buy(posted({ body: { a: 1, b: [2] } }), posted({ body: { b: [2], a: 1 } }))),
        "Granted"
      )
    })
  )

  it.effect("tells the same bytes under another type or encoding apart", () =>
    Effect.gen(function* () {
      const { buy } = yield* open({ bind: "body" })
      const rawBody = Buffer.from('{"pages":1}')
      for (const other of [
        { ...json, "content-type": "text/plain" },
        { ...json, "content-type": "application/json; charset=utf-16" },
        { ...json, "content-encoding": "gzip" },
        { "content-length": "11" }
      ]) {
        assert.strictEqual(statusOf(yield* buy(posted({ rawBody }), posted({ rawBody }, other))), 402)
      }
    })
  )

  it.effect("has nothing to read where no body came, whatever a parser has left there", () =>
    Effect.gen(function* () {
      const { buy } = yield* open({ bind: "body" })
      assert.strictEqual(statusOf(yield* buy(none(undefined))), "Granted")
      assert.strictEqual(statusOf(yield* buy(none({}, { "content-length": "0" }))), "Granted")
      assert.strictEqual(statusOf(yield* buy(none(undefined), none({ pages: 5000 }))), 402)
    })
  )

  it.effect.each([
    ["no parsed body", posted({})],
    ["a body in chunks that nobody parsed", posted({}, { "transfer-encoding": "chunked" })],
    ["null", posted({ body: null })],
    [
      "a form whose files stand elsewhere",
      posted({ body: { pages: 1 } }, { ...json, "content-type": "multipart/form-data; boundary=x" })
    ],
    ["an object that cannot be told from others", posted({ body: { read: () => 1 } })]
  ] as const)("sells nothing where it cannot be had: %s", ([, asked]) =>
    Effect.gen(function* () {
      const { decide, told } = yield* open({ bind: "body" })
      const decision = yield* decide(asked)
      assert.strictEqual(statusOf(decision), 500)
      assert.deepInclude(JSON.parse(decision._tag === "Refused" ? decision.response.body : ""), {
        detail: "body_unavailable",
        accepts: []
      })
      assert.deepStrictEqual(told, [])
    })
  )

  it.effect("takes no body beyond the limit", () =>
    Effect.gen(function* () {
      const { decide } = yield* open({ bind: "body" })
      assert.strictEqual(statusOf(yield* decide(rawBody(BoundBody.maximumBytes + 1))), 413)
      assert.strictEqual(statusOf(yield* decide(rawBody(BoundBody.maximumBytes))), 402)
    })
  )

  it.effect("refuses a body that is too long by its header, and waits for none of it", () =>
    Effect.gen(function* () {
      const { decide } = yield* open({ bind: "body" })
      const long = posted({}, { ...json, "content-length": `${BoundBody.maximumBytes + 1}` })
      const never = { ...long, copy: () => assert.fail("the body is read") }
      assert.strictEqual(statusOf(yield* decide(never)), 413)
    })
  )

  it.effect.each([
    ["node:querystring", querystring.parse],
    ["an empty prototype", (text: string) => Object.assign(Object.create(Object.create(null)), querystring.parse(text))]
  ] as const)("takes the fields of a form by %s", ([, parse]) =>
    Effect.gen(function* () {
      const { buy } = yield* open({ bind: "body" })
      const form = { "content-type": "application/x-www-form-urlencoded", "content-length": "3" }
      const sent = (text: string) => posted({ body: parse(text) }, form)
      assert.strictEqual(statusOf(yield* buy(sent("a=1&b=2&b=3"))), "Granted")
      assert.strictEqual(statusOf(yield* buy(sent("a=1"), sent("a=2"))), 402)
    })
  )

  it.effect("tells a body that broke off from one that a parser has read", () =>
    Effect.gen(function* () {
      const { decide } = yield* open({ bind: "body" })
      assert.strictEqual(
        statusOf(yield* decide({ ...posted({}), copy: () => Promise.reject(new Error("reset")) })),
        400
      )
      assert.strictEqual(statusOf(yield* decide({ ...posted({}), copy: () => Promise.resolve(undefined) })), 500)
    })
  )

  it.effect("is not asked of what is free, nor of routes that do not say it", () =>
    Effect.gen(function* () {
      const free = yield* open({ bind: "body", price: "$0" })
      assert.strictEqual(statusOf(yield* free.decide(posted({}))), "Free")
      const unbound = yield* open({})
      assert.strictEqual(statusOf(yield* unbound.buy(posted({ body: { pages: 1 } }), posted({ body: 2 }))), "Granted")
    })
  )
})

describe("validate", () => {
  const valid = { body: { pages: 1 } }
  const invalid = { body: { pages: -1 } }

  it.effect("answers before anything is asked for or taken", () =>
    Effect.gen(function* () {
      const { buy, decide, told } = yield* open({ validate })
      for (const decision of [yield* decide(posted(invalid)), yield* buy(posted(valid), posted(invalid))]) {
        assert(decision._tag === "Refused")
        assert.deepStrictEqual(decision.response, {
          status: 422,
          headers: { "Content-Type": "application/json", "Cache-Control": "no-store" },
          body: '{"error":"POST /render: no such pages"}'
        })
      }
      assert.deepStrictEqual(told, [])
      assert.strictEqual(statusOf(yield* buy(posted(valid))), "Granted")
    })
  )

  it.effect("may be asynchronous, give a body of its own, or only a status", () =>
    Effect.gen(function* () {
      const own = yield* open({ validate: async () => ({ status: 404, body: { nothing: ["here"] } }) })
      const decision = yield* own.decide(posted(valid))
      assert(decision._tag === "Refused")
      assert.strictEqual(decision.response.body, '{"nothing":["here"]}')
      const bare = yield* open({ validate: () => ({ status: 400 }) })
      assert.strictEqual(statusOf(yield* bare.decide(posted(valid))), 400)
    })
  )

  it.effect("is asked of free requests too, and never of OPTIONS", () =>
    Effect.gen(function* () {
      const { decide } = yield* open({ price: "$0", validate })
      assert.strictEqual(statusOf(yield* decide(posted(invalid))), 422)
      assert.strictEqual(statusOf(yield* decide({ ...posted(invalid), method: "OPTIONS" })), 204)
    })
  )

  it.effect.each(wrongs)("that %s sells nothing", ([, wrong]) =>
    Effect.gen(function* () {
      // A program without types may return anything.
      const { decide, told } = yield* open({ validate: wrong as NonNullable<RouteConfig["validate"]> })
      const headers = payment("any")
      for (const asked of [posted(valid), { ...posted(valid), headers, header: (name: string) => headers[name] }]) {
        const decision = yield* decide(asked)
        assert.strictEqual(statusOf(decision), 500)
        assert(decision._tag === "Refused")
        assert.deepInclude(JSON.parse(decision.response.body), { detail: "check_failed", accepts: [] })
      }
      assert.deepStrictEqual(told, [])
    })
  )

  it.effect("has its time", () =>
    Effect.gen(function* () {
      const { decide } = yield* open({ validate: () => new Promise(() => undefined), priceTimeoutMillis: 500 })
      const deciding = yield* Effect.forkChild(decide(posted(valid)))
      yield* TestClock.adjust(500)
      assert.strictEqual(statusOf(yield* Fiber.join(deciding)), 500)
    })
  )

  it.effect("must be a function", () =>
    Effect.gen(function* () {
      const mistake = yield* Effect.flip(open({ validate: "yes" as never }))
      assert.include(mistake.message, "validate is not a function")
    })
  )
})
