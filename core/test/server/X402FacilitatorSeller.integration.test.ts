import { AsciiJson, Binding, type Decision, PaymentPayload, Seller } from "@pontage/core"
import { TestLedger, TestScheme } from "@pontage/core/testing"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { afterEach, assert, beforeEach, describe, it } from "vitest"

import * as X402FacilitatorStub from "../facilitator/X402FacilitatorStub.ts"
import { bodyOf, challengeIn, request } from "./GateTestRequest.ts"

const shop = "acct-shop"
const schemeServer = TestScheme.server(TestLedger.make())

let scope: Scope.Closeable
let stub: X402FacilitatorStub.X402FacilitatorStub

beforeEach(async () => {
  scope = Effect.runSync(Scope.make())
  stub = await Effect.runPromise(Scope.provide(X402FacilitatorStub.make(), scope))
})
afterEach(() => Effect.runPromise(Scope.close(scope, Exit.void)))

const report = { scheme: "exact", network: "ledger:test", price: "$0.01", payTo: shop }

const open = (options: Partial<Seller.SellerOptions> = {}): Seller.Seller =>
  Seller.make({
    origin: "https://shop.example",
    facilitator: stub.url,
    schemes: [schemeServer],
    secret: "s".repeat(32),
    ...options
  })

/** Signs what a refusal offers. */
const paying = async (refusal: Decision) => {
  const [offer] = bodyOf(refusal).accepts
  assert.isDefined(offer)
  const challenge = challengeIn(refusal)
  const { payload } = await Effect.runPromise(
    Effect.gen(function* () {
      return yield* TestScheme.client("acct-alice").sign({
        requirements: offer,
        asset: TestScheme.asset,
        validAfter: 0,
        // The gate reads the real clock here.
        validBefore: Math.floor((yield* Effect.clockWith((clock) => clock.currentTimeMillis)) / 1000) + 60,
        binding: yield* Binding.make(challenge)
      })
    })
  )
  return { "x-payment": AsciiJson.encode(PaymentPayload.sealPayload("exact", "ledger:test", payload)) }
}

const rejection = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => "no rejection",
    (error: unknown) => error
  )

describe("a shop on a facilitator of another kind", () => {
  it("sells by its address alone, once for each payment", async () => {
    const seller = open()
    const route = seller.route("GET /report", report)
    await seller.ready()
    const headers = await paying(await seller.decide(route, request("/report")))
    const decisions = await Promise.all(
      Array.from({ length: 16 }, async () => seller.decide(route, request("/report", headers)))
    )
    const granted = decisions.flatMap((one) => (one._tag === "Granted" ? [one] : []))
    assert.lengthOf(granted, 1)
    assert.strictEqual(granted[0]?.settlement.transaction, "tx-1")
    assert.deepStrictEqual(
      decisions.flatMap((one) => (one._tag === "Refused" ? [one.response.status] : [])),
      Array.from({ length: 15 }, () => 409)
    )
    if (granted[0] !== undefined) await seller.run(granted[0].finish("served"))
    const again = await seller.decide(route, request("/report", headers))
    assert.deepInclude(bodyOf(again), { reason: "already_used", detail: "spent" })
    assert.strictEqual(X402FacilitatorStub.count(stub, "/settle"), 1)
    assert.strictEqual(X402FacilitatorStub.count(stub, "/verify"), 1)
    await seller.close()
  })

  it("responds with 503 while the outcome is unknown, and serves the same payment later", async () => {
    const seller = open()
    const route = seller.route("GET /report", report)
    await seller.ready()
    const headers = await paying(await seller.decide(route, request("/report")))
    stub.settles.push(X402FacilitatorStub.drops)
    const open503 = await seller.decide(route, request("/report", headers))
    assert.strictEqual(open503._tag === "Refused" && open503.response.status, 503)
    assert.deepInclude(bodyOf(open503), { retry: "same_payment" })
    const later = await seller.decide(route, request("/report", headers))
    assert.strictEqual(later._tag, "Granted")
    assert.strictEqual(stub.used.size, 1)
    await seller.close()
  })

  it("settles after the handler where the route says so", async () => {
    const seller = open()
    const route = seller.route("GET /report", { ...report, settle: "after-handler" })
    await seller.ready()
    const headers = await paying(await seller.decide(route, request("/report")))
    const first = await seller.decide(route, request("/report", headers))
    assert(first._tag === "SettleAfter")
    assert.strictEqual(stub.used.size, 0)
    assert.strictEqual((await seller.run(first.complete(500)))._tag, "Uncharged")
    assert.strictEqual(stub.used.size, 0)
    const second = await seller.decide(route, request("/report", headers))
    assert(second._tag === "SettleAfter")
    const paid = await seller.run(second.complete(200))
    assert(paid._tag === "Granted")
    assert.strictEqual(paid.settlement.transaction, "tx-1")
    await seller.run(paid.finish("served"))
    assert.strictEqual(X402FacilitatorStub.count(stub, "/settle"), 1)
    await seller.close()
  })

  it("sends its headers with every call", async () => {
    const seller = open({ facilitator: { url: stub.url, headers: { authorization: "Bearer key" } } })
    const route = seller.route("GET /report", report)
    await seller.ready()
    const headers = await paying(await seller.decide(route, request("/report")))
    await seller.decide(route, request("/report", headers))
    assert.deepStrictEqual(
      stub.seen.map((seen) => [seen.url, seen.headers.authorization]),
      [
        ["/supported", "Bearer key"],
        ["/verify", "Bearer key"],
        ["/settle", "Bearer key"]
      ]
    )
    await seller.close()
  })

  it("does not open for a scheme that cannot read its payments, and says what to do", async () => {
    const { read: _, ...unread } = schemeServer
    const seller = open({ schemes: [unread] })
    const route = seller.route("GET /report", report)
    const error = await rejection(seller.ready())
    assert.deepInclude(error, { _tag: "Misconfigured" })
    assert.include(String(error), "ledger:test")
    assert.include(String(error), "remove the network from the routes")
    const decision = await seller.decide(route, request("/report"))
    assert.strictEqual(decision._tag === "Refused" && decision.response.status, 503)
    await seller.close()
  })

  it("does not open for a network that is not settled there", async () => {
    stub.supported = { kinds: [{ ...X402FacilitatorStub.kind, network: "eip155:1" }] }
    const seller = open()
    seller.route("GET /report", report)
    assert.include(String(await rejection(seller.ready())), "does not settle")
    await seller.close()
  })

  it("says at once that an address is none", () => {
    assert.throws(() => open({ facilitator: "facilitator" }), /the url is not an address/)
    assert.throws(() => open({ facilitator: { url: "http://facilitator.example" } }), /not https/)
  })
})
