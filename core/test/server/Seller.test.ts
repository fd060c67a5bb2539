import { Facilitator, FacilitatorUnavailable, invalid, Misconfigured, Seller } from "@pontage/core"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { assert, describe, it } from "vitest"

import * as FakeFacilitator from "./FakeFacilitator.ts"
import * as FakeScheme from "./FakeScheme.ts"
import { challengeIn, payment, request } from "./GateTestRequest.ts"

const report = { scheme: "exact", network: "eip155:8453", price: "$0.01", payTo: FakeScheme.alice }

const open = (facilitator: Seller.SellerOptions["facilitator"], prove?: Parameters<typeof FakeScheme.evm>[1]) =>
  Seller.make({
    origin: "https://shop.example",
    facilitator,
    schemes: [FakeScheme.evm("eip155:8453", prove)],
    secret: "s".repeat(32)
  })

const rejection = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => "no rejection",
    (error: unknown) => error
  )

describe("a seller", () => {
  it("decides by promises, and without one where it can", async () => {
    const facilitator = FakeFacilitator.make()
    const seller = open(facilitator.layer)
    const route = seller.route("GET /report", report)
    await seller.ready()
    const first = await seller.decide(route, request("/report"))
    const second = seller.decide(route, request("/report"))
    assert.notInstanceOf(second, Promise)
    assert.strictEqual(challengeIn(second), challengeIn(first))
    const decision = await seller.decide(route, request("/report", payment(challengeIn(first))))
    assert(decision._tag === "Granted")
    await seller.run(decision.finish("served"))
    assert.deepStrictEqual(FakeFacilitator.outcomes(facilitator.told), ["served"])
    await seller.close()
  })

  it("responds with 503 until it is ready, also before the facilitator is there", async () => {
    const built = Deferred.makeUnsafe<void>()
    const facilitator = FakeFacilitator.make()
    const slow = Layer.effect(Facilitator, Effect.as(Deferred.await(built), facilitator.service))
    const seller = open(slow)
    const route = seller.route("GET /report", report)
    const early = seller.decide(route, request("/report"))
    Deferred.doneUnsafe(built, Effect.void)
    const decision = await early
    assert.strictEqual(decision._tag === "Refused" && decision.response.status, 503)
    await seller.ready()
    const late = await seller.decide(route, request("/report"))
    assert.strictEqual(late._tag === "Refused" && late.response.status, 402)
    await seller.close()
  })

  it("proves a route that is made later", async () => {
    const seller = open(FakeFacilitator.make().layer)
    await seller.ready()
    const route = seller.route("GET /report", report)
    await seller.ready()
    const decision = await seller.decide(route, request("/report"))
    assert.strictEqual(decision._tag === "Refused" && decision.response.status, 402)
    await seller.close()
  })

  it("says what the chain contradicts, and stays closed", async () => {
    const wrong = new Misconfigured({ message: "the RPC serves eip155:1" })
    const seller = open(FakeFacilitator.make().layer, () => Effect.fail(wrong))
    const route = seller.route("GET /report", report)
    assert.strictEqual(await rejection(seller.ready()), wrong)
    const decision = await seller.decide(route, request("/report", payment(undefined)))
    assert.strictEqual(decision._tag === "Refused" && decision.response.status, 503)
    await seller.close()
  })

  it("says what is wrong with a facilitator that cannot be built, and stays closed", async () => {
    const wrong = new Misconfigured({ message: "no signer" })
    const seller = open(Layer.effect(Facilitator, Effect.fail(wrong)))
    const route = seller.route("GET /report", report)
    assert.strictEqual(await rejection(seller.ready()), wrong)
    const decision = await seller.decide(route, request("/report", payment(undefined)))
    assert.strictEqual(decision._tag === "Refused" && decision.response.status, 503)
    await seller.close()
  })

  it("takes a facilitator that opens and closes what it needs with it", async () => {
    const events: Array<string> = []
    const { service } = FakeFacilitator.make()
    const layer = Layer.effect(
      Facilitator,
      Effect.acquireRelease(
        Effect.sync(() => {
          events.push("open")
          return service
        }),
        () => Effect.sync(() => events.push("close"))
      )
    )
    const seller = open(layer)
    await seller.ready()
    assert.deepStrictEqual(events, ["open"])
    await seller.close()
    assert.deepStrictEqual(events, ["open", "close"])
  })

  it("does not reject when it is asked after it was closed", async () => {
    const facilitator = FakeFacilitator.make()
    const seller = open(facilitator.layer)
    const route = seller.route("GET /report", report)
    await seller.ready()
    const decision = await seller.decide(route, request("/report", payment(undefined)))
    assert(decision._tag === "Granted")
    await seller.close()
    await seller.run(decision.finish("served"))
    const after = await seller.decide(route, request("/report", payment(undefined)))
    assert.strictEqual(after._tag === "Refused" && after.response.status, 503)
  })

  it("waits for the reports under way when it closes", async () => {
    let reported = false
    const facilitator = FakeFacilitator.make({
      finish: () =>
        Effect.andThen(
          Effect.sleep("50 millis"),
          Effect.sync(() => {
            reported = true
          })
        ).pipe(Effect.andThen(Effect.fail(invalid("malformed", "unknown", "only the call counts"))))
    })
    const seller = open(facilitator.layer)
    const route = seller.route("GET /report", report)
    await seller.ready()
    const decision = await seller.decide(route, request("/report", payment(undefined)))
    assert(decision._tag === "Granted")
    void seller.run(decision.finish("served"))
    await seller.close()
    assert.isTrue(reported)
  })

  it("throws where it is made for a facilitator's address that is none", () => {
    assert.throws(() => open("http://facilitator.example"), /https/)
  })

  it("responds with 503 for a facilitator that nobody runs", async () => {
    const seller = open("http://127.0.0.1:9")
    const route = seller.route("GET /report", report)
    const decision = await seller.decide(route, request("/report", payment(undefined)))
    assert.strictEqual(decision._tag === "Refused" && decision.response.status, 503)
    await seller.close()
  })
})

describe("a facilitator in this process", () => {
  it("is started again until its chain is up, and closes what the failed starts opened", async () => {
    const events: Array<string> = []
    const { service } = FakeFacilitator.make()
    const layer = Layer.effect(
      Facilitator,
      Effect.andThen(
        Effect.acquireRelease(
          Effect.sync(() => events.push("open")),
          () => Effect.sync(() => events.push("close"))
        ),
        Effect.suspend(() =>
          events.length < 3
            ? Effect.fail(new FacilitatorUnavailable({ message: "chain is down" }))
            : Effect.succeed(service)
        )
      )
    )
    const seller = open(layer)
    await seller.ready()
    assert.deepStrictEqual(events, ["open", "close", "open"])
    await seller.close()
    assert.deepStrictEqual(events, ["open", "close", "open", "close"])
  })
})
