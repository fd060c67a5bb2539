import { createHash } from "node:crypto"

import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import * as TestClock from "effect/testing/TestClock"
import * as fc from "fast-check"

import { Facilitator } from "../../src/facilitator/Facilitator.ts"
import * as Binding from "../../src/protocol/Binding.ts"
import { sealPayload } from "../../src/protocol/PaymentPayload.ts"
import { FacilitatorUnavailable } from "../../src/protocol/ProtocolError.ts"
import * as ServerSchemeRegistry from "../../src/scheme/ServerSchemeRegistry.ts"
import type { Decision, GateRequest } from "../../src/server/http/Decision.ts"
import type { KeptResponse } from "../../src/server/http/KeptResponse.ts"
import * as PaymentGate from "../../src/server/PaymentGate.ts"
import type { RouteConfig } from "../../src/server/route/RouteConfig.ts"
import * as MemoryResponseStore from "../../src/server/shop/MemoryResponseStore.ts"
import * as PriceResolver from "../../src/server/shop/PriceResolver.ts"
import { ResponseStore } from "../../src/server/shop/ResponseStore.ts"
import type { ShopOptions } from "../../src/server/shop/Shop.ts"
import * as TestScheme from "../../src/testing/ledger/TestScheme.ts"
import * as AsciiJson from "../../src/wire/http/AsciiJson.ts"
import * as Base64Json from "../../src/wire/http/Base64Json.ts"
import * as LedgerShop from "../facilitator/LedgerShop.ts"
import { request } from "./GateTestRequest.ts"
import { verdictOf } from "./LedgerGate.ts"

/** A served payment that comes again brings the same response to its payer, without a run, and to no other party. */
type Headers = Readonly<Record<string, string>>

const secret = "the shop's own secret, 32 long...."

interface Options {
  readonly config?: Partial<RouteConfig>
  readonly shop?: Partial<ShopOptions>
  readonly store?: (store: ResponseStore["Service"]) => ResponseStore["Service"]
}

const open = Effect.fnUntraced(function* ({ config = {}, shop = {}, store = (same) => same }: Options = {}) {
  const { facilitator, ledger } = yield* LedgerShop.open({ balance: 10n ** 12n })
  const responses = store(yield* MemoryResponseStore.make())
  const gateWith = Effect.fnUntraced(function* (options: Partial<ShopOptions>) {
    const gate = yield* PaymentGate.make({ origin: "https://shop.example", secret, ...options }).pipe(
      Effect.provide([PriceResolver.layerDollar, ServerSchemeRegistry.layer([TestScheme.server(ledger)])]),
      Effect.provideService(Facilitator, facilitator),
      Effect.provideService(ResponseStore, responses)
    )
    const terms = { network: TestScheme.network, price: "$0.01", payTo: LedgerShop.payee, repeat: "same" as const }
    const route = yield* gate.route("GET /report", { ...terms, ...config } as RouteConfig)
    yield* gate.ready
    return (target: string, headers: Headers = {}, more: Partial<GateRequest> = {}) =>
      gate.decide(route, { ...request(target, headers), ...more })
  })
  return { ledger, gateWith, get: yield* gateWith(shop), transfers: () => ledger.balanceOf(LedgerShop.payee) / 10_000n }
})

type Get = Effect.Success<ReturnType<typeof open>>["get"]

const offersIn = (decision: Decision) => {
  assert(decision._tag === "Refused", `expected offers, got ${verdictOf(decision)}`)
  return decision.response
}

const signed = Effect.fnUntraced(function* (
  offer: { readonly extra?: Readonly<Record<string, unknown>> } & Record<string, unknown>,
  { bound = true, payer = LedgerShop.payer }: { readonly bound?: boolean; readonly payer?: string }
) {
  const { payload } = yield* TestScheme.client(payer).sign({
    requirements: offer as never,
    asset: TestScheme.asset,
    validAfter: 0,
    validBefore: Math.floor(LedgerShop.start / 1000) + 60,
    binding: bound ? yield* Binding.make(String(offer.extra?.["challenge"])) : undefined
  })
  return payload as Record<string, unknown>
})

/** A payment in our own dialect. */
const pay = Effect.fnUntraced(function* (
  get: Get,
  target: string,
  options: { readonly bound?: boolean; readonly payer?: string } = {}
) {
  const { accepts } = JSON.parse(offersIn(yield* get(target)).body)
  return { "x-payment": AsciiJson.encode(sealPayload("exact", TestScheme.network, yield* signed(accepts[0], options))) }
})

const paymentRequired = (decision: Decision) =>
  JSON.parse(Buffer.from(offersIn(decision).headers["PAYMENT-REQUIRED"] ?? "", "base64").toString("utf8"))

/** A payment in the dialect of x402 version 2, as peers sign it: not bound, under an identifier or none. */
const payAsPeer = Effect.fnUntraced(function* (get: Get, target: string, id?: string, payer?: string) {
  const { accepts, extensions } = paymentRequired(yield* get(target))
  const offer = accepts[0]
  const payload = yield* signed(
    { ...offer, maxAmountRequired: offer.amount },
    { bound: false, ...(payer !== undefined && { payer }) }
  )
  const own = {
    ...extensions,
    "payment-identifier": { ...extensions?.["payment-identifier"], info: { required: false, id } }
  }
  const message = { x402Version: 2, accepted: offer, payload, ...(id !== undefined && { extensions: own }) }
  return { "payment-signature": Base64Json.encode(message) }
})

const response = (text: string, status = 200): KeptResponse => ({
  status,
  headers: [
    ["Content-Type", "text/plain"],
    ["Set-Cookie", ["a=1", "b=2"]]
  ],
  body: new TextEncoder().encode(text)
})

/** Serves a granted request as a host does; the response is lost, or arrives. */
const serve = Effect.fnUntraced(function* (decision: Decision, given: KeptResponse, lost = true) {
  const end = decision._tag === "SettleAfter" ? yield* decision.complete(given.status) : decision
  assert(end._tag === "Granted", `expected a grant, got ${verdictOf(decision)}`)
  if (end.sink !== undefined) yield* end.sink.keep(given)
  yield* end.finish(lost ? "failed" : "served")
})

const textOf = (decision: Decision): string => {
  assert(decision._tag === "Repeated", `expected the response, got ${verdictOf(decision)}`)
  return new TextDecoder().decode(decision.response.body)
}

describe("a response that was lost", () => {
  it.effect.each([
    ["a bound payment", (get: Get) => pay(get, "/report")],
    ["a payment with the token of its x402 offer", (get: Get) => payAsPeer(get, "/report")]
  ] as const)("comes again for %s, with its status, headers and bytes, and without a run", ([, payFor]) =>
    Effect.gen(function* () {
      const { get, transfers } = yield* open()
      const payment = yield* payFor(get)
      const given = response("It will rain.", 203)
      yield* serve(yield* get("/report", payment), given)
      for (let time = 0; time < 3; time++) {
        const again = yield* get("/report", payment)
        assert(again._tag === "Repeated")
        assert.deepStrictEqual(again.response, given)
      }
      assert.strictEqual(transfers(), 1n)
    })
  )

  it.effect("comes again as bytes that are no text, and as text with every character", () =>
    Effect.gen(function* () {
      const { get } = yield* open()
      const bodies = [
        new Uint8Array([0, 1, 2, 255]),
        new Uint8Array(),
        new Uint8Array([0xef, 0xbb, 0xbf, 0x61]),
        new TextEncoder().encode("line\nline \u{1f600} \u0000 end"),
        new TextEncoder().encode('"\\\n')
      ]
      for (const [index, body] of bodies.entries()) {
        const payment = yield* pay(get, `/report?${index}`)
        yield* serve(yield* get(`/report?${index}`, payment), { ...response(""), body })
        const again = yield* get(`/report?${index}`, payment)
        assert(again._tag === "Repeated")
        assert.deepStrictEqual(again.response.body, body)
      }
    })
  )

  it.effect("comes again where the money moves after the handler", () =>
    Effect.gen(function* () {
      const { get, transfers } = yield* open({ config: { settle: "after-handler" } })
      const payment = yield* pay(get, "/report")
      yield* serve(yield* get("/report", payment), response("late"))
      assert.strictEqual(textOf(yield* get("/report", payment)), "late")
      assert.strictEqual(transfers(), 1n)
    })
  )

  it.effect("comes again under a new secret while the old one is accepted, and not after that", () =>
    Effect.gen(function* () {
      const { gateWith, get } = yield* open()
      const payment = yield* pay(get, "/report")
      yield* serve(yield* get("/report", payment), response("old"))
      const fresh = "another secret of the shop, 32 long"
      const next = yield* gateWith({ secret: [fresh, secret] })
      assert.strictEqual(textOf(yield* next("/report", payment)), "old")
      const last = yield* gateWith({ secret: fresh })
      assert.strictEqual((yield* last("/report", payment))._tag, "Refused")
    })
  )

  it.effect("comes again to a HEAD request, and is not the response to one", () =>
    Effect.gen(function* () {
      const { get } = yield* open()
      const payment = yield* pay(get, "/report")
      yield* serve(yield* get("/report", payment), response("whole"))
      assert.strictEqual(textOf(yield* get("/report", payment, { method: "HEAD" })), "whole")
      const other = yield* pay(get, "/report")
      const head = yield* get("/report", other, { method: "HEAD" })
      assert(head._tag === "Granted")
      assert.isUndefined(head.sink)
    })
  )
})

describe("a kept response", () => {
  it.effect("is given to no other payer, payment or request", () =>
    Effect.gen(function* () {
      const { get, ledger } = yield* open()
      ledger.deposit("acct-bob", 10n ** 9n)
      const payment = yield* pay(get, "/report")
      yield* serve(yield* get("/report", payment), response("Alice's"))
      const asOf = (headers: Headers, target = "/report", more: Partial<GateRequest> = {}) =>
        Effect.map(get(target, headers, more), verdictOf)
      assert.strictEqual(yield* asOf({}), "402 undefined")
      assert.strictEqual(yield* asOf(yield* pay(get, "/report", { payer: "acct-bob" })), "Granted")
      assert.strictEqual(yield* asOf(yield* pay(get, "/report")), "Granted")
      assert.strictEqual(yield* asOf(payment, "/report?day=2"), "409 other_resource")
      assert.strictEqual(yield* asOf(payment, "/other"), "409 other_resource")
      assert.strictEqual(yield* asOf(payment, "/report", { method: "POST" }), "409 other_resource")
      assert.strictEqual(yield* asOf(payment, "/report", { bodyDigest: "another" }), "409 other_resource")
    })
  )

  it.effect("of a method with a body is kept by its digest alone", () =>
    Effect.gen(function* () {
      const { get } = yield* open()
      const post = (more: Partial<GateRequest>) => (headers: Headers) =>
        get("/order", headers, { method: "POST", ...more })
      for (const [bodyDigest, isKept] of [
        [undefined, false],
        ["one", true]
      ] as const) {
        const sent = post(bodyDigest === undefined ? {} : { bodyDigest })
        const payment = yield* pay((_, headers) => sent(headers ?? {}), "/order")
        const granted = yield* sent(payment)
        assert(granted._tag === "Granted")
        assert.strictEqual(granted.sink !== undefined, isKept)
        yield* serve(granted, response("of one body"))
        assert.strictEqual((yield* sent(payment))._tag === "Repeated", isKept)
      }
    })
  )

  it.effect("is not given to a stranger who rebuilds the payment from the chain, with its own proof or none", () =>
    Effect.gen(function* () {
      const { get } = yield* open()
      const payment = yield* payAsPeer(get, "/report")
      yield* serve(yield* get("/report", payment), response("the payer's"))
      const message = JSON.parse(Buffer.from(payment["payment-signature"], "base64").toString("utf8"))
      const { retryToken: _, ...extra } = message.accepted.extra
      const forms = [
        { ...message, accepted: { ...message.accepted, amount: "1" } },
        { ...message, accepted: { ...message.accepted, extra } },
        { ...message, accepted: { ...message.accepted, extra: { ...extra, retryToken: "A".repeat(22) } } }
      ]
      for (const form of forms) {
        const decision = yield* get("/report", { "payment-signature": Base64Json.encode(form) })
        assert.match(verdictOf(decision), /^409 /)
      }
      const bound = yield* pay(get, "/report?2")
      yield* serve(yield* get("/report?2", bound), response("the payer's"))
      const envelope = JSON.parse(bound["x-payment"])
      const payload = JSON.parse(Buffer.from(envelope.payload, "base64").toString("utf8"))
      const { binding, ...bare } = payload
      const others = [bare, { ...payload, binding: { ...binding, salt: "B".repeat(22) } }]
      for (const other of others) {
        const header = { "x-payment": AsciiJson.encode(sealPayload("exact", TestScheme.network, other)) }
        assert.match(verdictOf(yield* get("/report?2", header)), /^40[29] /)
      }
    })
  )

  it.effect("does not exist for a payment that any stranger could present", () =>
    Effect.gen(function* () {
      const { get } = yield* open()
      const payment = yield* pay(get, "/report", { bound: false })
      const decision = yield* get("/report", payment)
      assert(decision._tag === "Granted")
      assert.isUndefined(decision.sink)
      yield* decision.finish("served")
      assert.strictEqual(verdictOf(yield* get("/report", payment)), "409 spent")
    })
  )

  it.effect("does not exist on routes without the option", () =>
    Effect.gen(function* () {
      const { get } = yield* open({ config: { repeat: "none" } })
      const payment = yield* pay(get, "/report")
      const decision = yield* get("/report", payment)
      assert(decision._tag === "Granted")
      assert.isUndefined(decision.sink)
      assert.isUndefined(paymentRequired(yield* get("/report")).extensions)
    })
  )

  it.effect("is gone after its age: the payment was used", () =>
    Effect.gen(function* () {
      const { get } = yield* open({ shop: { responses: { age: "2 minutes" } } })
      const payment = yield* pay(get, "/report")
      yield* serve(yield* get("/report", payment), response("soon gone"))
      yield* TestClock.adjust("119 seconds")
      assert.strictEqual(textOf(yield* get("/report", payment)), "soon gone")
      yield* TestClock.adjust("1 second")
      assert.strictEqual(verdictOf(yield* get("/report", payment)), "409 spent")
    })
  )

  it.effect("is waited for while its first run still goes", () =>
    Effect.gen(function* () {
      const { get } = yield* open()
      const payment = yield* pay(get, "/report")
      const first = yield* get("/report", payment)
      const again = yield* get("/report", payment)
      assert.strictEqual(verdictOf(again), "409 in_flight")
      assert(again._tag === "Refused")
      assert.strictEqual(again.response.headers["Retry-After"], "2")
      yield* serve(first, response("now"))
      assert.strictEqual(textOf(yield* get("/report", payment)), "now")
    })
  )

  it.effect.each([
    ["longer than the limit", response("x".repeat(101))],
    ["a failure", response("sorry", 500)],
    ["a refusal of the request", response("which day?", 404)]
  ] as const)("is not made of a response that is %s: the payment is owed as before", ([, given]) =>
    Effect.gen(function* () {
      const { get, transfers } = yield* open({ shop: { responses: { maximumBytes: 100 } } })
      const payment = yield* pay(get, "/report")
      yield* serve(yield* get("/report", payment), given)
      yield* serve(yield* get("/report", payment), response("second run"))
      assert.strictEqual(textOf(yield* get("/report", payment)), "second run")
      assert.strictEqual(transfers(), 1n)
    })
  )

  it.effect("is made of a refusal that is the product", () =>
    Effect.gen(function* () {
      const { get } = yield* open({ config: { refused: "charged" } })
      const payment = yield* pay(get, "/report")
      yield* serve(yield* get("/report", payment), response("no such name", 404))
      assert.strictEqual(textOf(yield* get("/report", payment)), "no such name")
    })
  )
})

describe("a client that disconnects while the handler works", () => {
  const cutOff = Effect.fnUntraced(function* () {
    const { get } = yield* open()
    const payment = yield* pay(get, "/report")
    const first = yield* get("/report", payment)
    assert(first._tag === "Granted")
    assert(first.sink !== undefined)
    yield* first.sink.cut
    return { get, payment, first, sink: first.sink }
  })

  it.effect("waits, and gets the response of that run", () =>
    Effect.gen(function* () {
      const { get, sink, payment } = yield* cutOff()
      yield* TestClock.adjust("30 seconds")
      assert.strictEqual(verdictOf(yield* get("/report", payment)), "409 in_flight")
      yield* sink.keep(response("slow"))
      assert.strictEqual(textOf(yield* get("/report", payment)), "slow")
    })
  )

  it.effect("is owed another run if there is no response within 60 seconds", () =>
    Effect.gen(function* () {
      const { get, payment } = yield* cutOff()
      yield* TestClock.adjust("61 seconds")
      assert.strictEqual(verdictOf(yield* get("/report", payment)), "Granted")
    })
  )

  it.effect("is owed another run at once if the handler fails", () =>
    Effect.gen(function* () {
      const { first, get, payment } = yield* cutOff()
      yield* first.finish("failed")
      assert.strictEqual(verdictOf(yield* get("/report", payment)), "Granted")
    })
  )
})

describe("a store that cannot be asked", () => {
  const unavailable = Effect.fail(new FacilitatorUnavailable({ message: "the disk is full" }))

  it.effect("keeps no new payment from being served, and a lost response is owed as before", () =>
    Effect.gen(function* () {
      const { get } = yield* open({
        store: (store) => ({ ...store, find: () => unavailable, keep: () => unavailable, keepFirst: () => unavailable })
      })
      const payment = yield* payAsPeer(get, "/report", "pay_0123456789abcdef")
      yield* serve(yield* get("/report", payment), response("lost"))
      assert.strictEqual(verdictOf(yield* get("/report", payment)), "Granted")
    })
  )

  it.effect("makes a used payment wait for it", () =>
    Effect.gen(function* () {
      let isDown = false
      const { get } = yield* open({
        store: (store) => ({ ...store, find: (name) => (isDown ? unavailable : store.find(name)) })
      })
      const payment = yield* pay(get, "/report")
      yield* serve(yield* get("/report", payment), response("there"))
      isDown = true
      assert.strictEqual(verdictOf(yield* get("/report", payment)), "503 facilitator_unavailable")
      isDown = false
      assert.strictEqual(textOf(yield* get("/report", payment)), "there")
    })
  )

  it.effect("is waited for by the report of an end", () =>
    Effect.gen(function* () {
      const go = yield* Latch.make(false)
      const { get } = yield* open({
        store: (store) => ({ ...store, keep: (...given) => Effect.andThen(go.await, store.keep(...given)) })
      })
      const payment = yield* pay(get, "/report")
      const first = yield* get("/report", payment)
      assert(first._tag === "Granted")
      const keeping = yield* Effect.forkChild(first.sink?.keep(response("kept late")) ?? Effect.void)
      yield* Effect.yieldNow
      const finishing = yield* Effect.forkChild(first.finish("failed"))
      yield* Effect.yieldNow
      assert.strictEqual(verdictOf(yield* get("/report", payment)), "409 in_flight")
      yield* go.open
      yield* Effect.forEach([keeping, finishing], (fiber) => Fiber.join(fiber))
      assert.strictEqual(textOf(yield* get("/report", payment)), "kept late")
    })
  )
})

describe("a payment identifier of x402", () => {
  const id = "pay_0123456789abcdef"

  it.effect("is offered, and brings the response of the same payment again", () =>
    Effect.gen(function* () {
      const { get } = yield* open()
      assert.deepInclude(paymentRequired(yield* get("/report")).extensions["payment-identifier"], {
        info: { required: false }
      })
      const payment = yield* payAsPeer(get, "/report", id)
      yield* serve(yield* get("/report", payment), response("once"))
      assert.strictEqual(textOf(yield* get("/report", payment)), "once")
    })
  )

  it.effect("takes no other payment, while the first one goes and after it, for this request or another", () =>
    Effect.gen(function* () {
      const { get, ledger, transfers } = yield* open()
      ledger.deposit("acct-bob", 10n ** 9n)
      const payment = yield* payAsPeer(get, "/report", id)
      const first = yield* get("/report", payment)
      const others = [
        ["/report", yield* payAsPeer(get, "/report", id)],
        ["/report", yield* payAsPeer(get, "/report", id, "acct-bob")],
        ["/report?2", yield* payAsPeer(get, "/report?2", id)],
        ["/report?2", payment]
      ] as const
      for (const [target, other] of others) {
        assert.strictEqual(verdictOf(yield* get(target, other)), "409 payment_identifier")
      }
      yield* serve(first, response("mine"))
      for (const [target, other] of others) {
        assert.strictEqual(verdictOf(yield* get(target, other)), "409 payment_identifier")
      }
      assert.strictEqual(transfers(), 1n)
    })
  )

  it.effect("is free again after a payment that was refused", () =>
    Effect.gen(function* () {
      const { get, ledger } = yield* open()
      const poor = yield* payAsPeer(get, "/report", id, "acct-poor")
      assert.match(verdictOf(yield* get("/report", poor)), /^402 /)
      ledger.deposit("acct-bob", 10n ** 9n)
      assert.strictEqual(verdictOf(yield* get("/report", yield* payAsPeer(get, "/report", id, "acct-bob"))), "Granted")
    })
  )

  it.effect("is ignored on a route that does not offer it", () =>
    Effect.gen(function* () {
      const { get } = yield* open({ config: { repeat: "none" } })
      const extensions = { "payment-identifier": { info: { required: false, id } } }
      for (let time = 0; time < 2; time++) {
        const payment = yield* payAsPeer(get, "/report")
        const message = JSON.parse(Buffer.from(payment["payment-signature"], "base64").toString("utf8"))
        const named = { "payment-signature": Base64Json.encode({ ...message, extensions }) }
        assert.strictEqual(verdictOf(yield* get("/report", named)), "Granted")
      }
    })
  )
})

const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex")

describe("1,000 purchases of which 30 % lose their responses", () => {
  const Purchases = fc.array(
    fc.record({
      payer: fc.integer({ min: 0, max: 9 }),
      target: fc.integer({ min: 0, max: 4 }),
      form: fc.constantFrom("bound", "peer"),
      /** One draw for each response: below 3 it is lost. */
      losses: fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 8, maxLength: 8 })
    }),
    { minLength: 1000, maxLength: 1000 }
  )

  it.effect("cost one run and one transfer each, and no payer reads another's response", () =>
    Effect.gen(function* () {
      const [purchases] = fc.sample(Purchases, { numRuns: 1, seed: 402 })
      assert(purchases !== undefined)
      const { get, ledger, transfers } = yield* open()
      for (let index = 0; index < 10; index++) ledger.deposit(`acct-${index}`, 10n ** 12n)
      const made: Array<string> = []
      let lost = 0
      const kept: Array<{ readonly payment: Headers; readonly target: string; readonly digest: string }> = []
      for (const [index, { form, losses, payer, target: page }] of purchases.entries()) {
        const target = `/report?page=${page}`
        const own = { payer: `acct-${payer}` }
        const payment: Headers =
          form === "bound" ? yield* pay(get, target, own) : yield* payAsPeer(get, target, undefined, own.payer)
        let received: string | undefined
        let runs = 0
        for (const draw of [...losses, 9]) {
          const arrives = draw >= 3
          if (!arrives) lost += 1
          const decision = yield* get(target, payment)
          if (decision._tag === "Granted") {
            runs += 1
            const body = new TextEncoder().encode(`${index} ${own.payer} ${Math.random()}`)
            made.push(sha256(body))
            yield* serve(decision, { ...response(""), body }, !arrives)
            if (arrives) received = sha256(body)
          } else {
            assert(decision._tag === "Repeated", verdictOf(decision))
            if (arrives) received = sha256(decision.response.body)
          }
          if (received !== undefined) break
        }
        assert.strictEqual(runs, 1)
        assert.strictEqual(received, made.at(-1))
        kept.push({ payment, target, digest: received ?? "" })
      }
      assert.isAbove(lost, 300)
      assert.strictEqual(transfers(), 1000n)
      assert.strictEqual(new Set(made).size, 1000)
      // Each payment still brings its own response, and on another page none.
      for (const { digest, payment, target } of kept) {
        const again = yield* get(target, payment)
        assert(again._tag === "Repeated")
        assert.strictEqual(sha256(again.response.body), digest)
        assert.strictEqual((yield* get("/report?page=other", payment))._tag, "Refused")
      }
    })
  )
})
