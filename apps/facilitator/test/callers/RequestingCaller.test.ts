import { assert, describe, it } from "@effect/vitest"
import { CurrentCaller, FacilitatorUnavailable, invalid, refuse, type SchemeFacilitator } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as TestClock from "effect/testing/TestClock"

import * as ApiKey from "../../src/callers/ApiKey.ts"
import type { CallerTerms, Registration } from "../../src/callers/CallerTerms.ts"
import * as TestFacilitator from "../TestFacilitator.ts"

const { body, claim, json, paymentId, payTo, request, schemeWith, settled, start } = TestFacilitator

const wide = { perSecond: 1000, burst: 1000 }
const narrow = { perSecond: 1, burst: 5 }

const bearer = (key: string) => ({ authorization: `Bearer ${key}` })
const callerOf = (name: string, terms: Partial<CallerTerms> = {}): CallerTerms => ({
  name,
  keys: [ApiKey.digestOf(`key-of-${name}`)],
  ...terms
})
const keyOf = (name: string) => bearer(`key-of-${name}`)

const good = {
  verify: () => Effect.succeed({ payer: TestFacilitator.payer }),
  settle: () => Effect.succeed(settled),
  claim: () => Effect.succeed(settled),
  finish: () => Effect.succeed(TestFacilitator.record)
}

const asked = () => Effect.die("asked")
const down = () => Effect.fail(new FacilitatorUnavailable({ message: "the store is closed" }))
const forged = () => Effect.fail(refuse("INVALID_SIGNATURE", "signer", "somebody else signed"))
const poor = () => Effect.fail(refuse("INSUFFICIENT_BALANCE", "balance", "too low"))
const used = () => Effect.fail(invalid("already_used", paymentId, "it was used"))
const otherClaim = () => Effect.fail(invalid("already_used", "other_claim", "another claim holds it"))

type Post = TestFacilitator.TestService["post"]

/** The statuses of a number of requests, one after the other. */
const statuses = (post: Post, path: string, sent: unknown, headers: Record<string, string>, times: number) =>
  Effect.forEach(Array.from({ length: times }), () => Effect.map(post(path, sent, headers), ({ status }) => status))

const accepted = (all: ReadonlyArray<number>) => all.filter((status) => status !== 429).length

/** A scheme facilitator whose payments say who pays in their payload. */
const readable: SchemeFacilitator = schemeWith(Effect.succeed([]), {
  read: (requirements, payload) =>
    Effect.succeed({
      requirements,
      payload,
      authorization: { ...TestFacilitator.stored.authorization, payer: JSON.stringify(payload) }
    })
})

const payment = (payer: string) => ({
  ...body,
  paymentPayload: { ...body.paymentPayload, payload: Buffer.from(JSON.stringify(payer)).toString("base64") }
})

describe("a caller over its limit", () => {
  it.effect("gets 429 with Retry-After, and is served again after it", () =>
    Effect.gen(function* () {
      const callers = [callerOf("shop", { rates: { rate: narrow, payerRate: wide } })]
      const { post } = yield* start(good, { callers }, [readable])
      assert.deepStrictEqual(
        yield* statuses(post, "/settle", payment("a"), keyOf("shop"), 5),
        [200, 200, 200, 200, 200]
      )
      const refused = yield* post("/settle", payment("a"), keyOf("shop"))
      assert.strictEqual(refused.status, 429)
      assert.strictEqual(refused.headers.get("retry-after"), "1")
      assert.deepInclude(yield* json(refused), { error: "too_many_requests" })
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* statuses(post, "/settle", payment("a"), keyOf("shop"), 2), [200, 429])
    })
  )

  it.effect("takes nothing from another, and may still report ends of executions and read its records", () =>
    Effect.gen(function* () {
      const rates = { rate: narrow, payerRate: wide }
      const callers = [callerOf("shop", { rates }), callerOf("other", { rates })]
      const { get, post } = yield* start(good, { callers }, [readable])
      yield* statuses(post, "/verify", payment("a"), keyOf("shop"), 10)
      assert.strictEqual((yield* post("/verify", payment("a"), keyOf("other"))).status, 200)
      const finish = { claimId: claim.id, outcome: "served" }
      assert.strictEqual((yield* post(`/payments/${paymentId}/finish`, finish, keyOf("shop"))).status, 200)
      assert.strictEqual((yield* get("/payments", keyOf("shop"))).status, 200)
      assert.strictEqual((yield* post("/claims", { ...payment("a"), claim }, keyOf("shop"))).status, 429)
    })
  )

  it.effect("is limited while the store and every chain are down too", () =>
    Effect.gen(function* () {
      const callers = [callerOf("shop", { rates: { rate: narrow, payerRate: wide } })]
      const { post } = yield* start({ settle: down, verify: down }, { callers }, [readable])
      const answers = yield* statuses(post, "/settle", payment("a"), keyOf("shop"), 7)
      assert.deepStrictEqual(answers, [503, 503, 503, 503, 429, 429, 429])
    })
  )

  it.effect("gets 429 before its body is read", () =>
    Effect.gen(function* () {
      const callers = [callerOf("shop", { rates: { rate: narrow, payerRate: wide } })]
      const { post } = yield* start({ verify: asked, settle: asked }, { callers }, [readable])
      assert.deepStrictEqual(yield* statuses(post, "/settle", "{", keyOf("shop"), 6), [400, 400, 400, 400, 400, 429])
    })
  )
})

/** A service that takes payments for forged, or for good ones, as its verdict is. */
const judging = Effect.fnUntraced(function* (callers: ReadonlyArray<CallerTerms>, isForged: boolean) {
  const verdict = { isForged }
  const settle = () => Effect.suspend(() => (verdict.isForged ? forged() : Effect.succeed(settled)))
  return { ...(yield* start({ ...good, settle }, { callers }, [readable])), verdict }
})

const from = (buyer: string, caller = "shop") => ({ ...keyOf(caller), "pontage-buyer": buyer.padEnd(22, "_") })

describe("bad payments", () => {
  const rates = { rate: { perSecond: 1, burst: 20 }, payerRate: wide }
  const callers = [callerOf("shop", { rates }), callerOf("other", { rates })]
  const tried = (methods: Parameters<typeof start>[0], sent: unknown, path = "/settle") =>
    Effect.gen(function* () {
      const { post } = yield* start({ ...good, ...methods }, { callers }, [readable])
      return accepted(yield* statuses(post, path, sent, keyOf("shop"), 30))
    })

  it.effect("may use half of the caller's rate, for any fault; good ones all of it", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* tried({}, payment("a")), 20)
      assert.strictEqual(yield* tried({ settle: forged }, payment("a")), 11)
      assert.strictEqual(yield* tried({ settle: poor }, payment("a")), 11)
      assert.strictEqual(yield* tried({ verify: forged }, payment("a"), "/verify"), 11)
      assert.strictEqual(yield* tried({}, { ...body, protocolVersion: 1 }), 11)
    })
  )

  it.effect(
    "one that was used already is one of them: every old payment of a shop is public, and there is no end of them",
    () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* tried({ settle: used }, payment("a")), 11)
      })
  )

  it.effect("count against the origin of their buyer, and against no other", () =>
    Effect.gen(function* () {
      const { post, verdict } = yield* judging(callers, true)
      const bad = yield* statuses(post, "/settle", payment("a"), from("stranger"), 300)
      assert.strictEqual(accepted(bad), 11)
      assert.strictEqual((yield* post("/settle", payment("b"), from("stranger"))).status, 429)
      verdict.isForged = false
      assert.strictEqual((yield* post("/settle", payment("a"), from("stranger"))).status, 429)
      assert.strictEqual((yield* post("/settle", payment("b"), from("honest"))).status, 200)
      assert.strictEqual((yield* post("/settle", payment("c"), keyOf("shop"))).status, 200)
      assert.strictEqual((yield* post("/settle", payment("a"), from("stranger", "other"))).status, 200)
    })
  )

  it.effect("do not stop a payer who has paid before, from any origin", () =>
    Effect.gen(function* () {
      const { post, verdict } = yield* judging(callers, false)
      assert.strictEqual((yield* post("/settle", payment("regular"), from("proxy"))).status, 200)
      verdict.isForged = true
      yield* statuses(post, "/settle", payment("a"), from("proxy"), 200)
      verdict.isForged = false
      assert.strictEqual((yield* post("/settle", payment("a"), from("proxy"))).status, 429)
      assert.strictEqual((yield* post("/settle", payment("regular"), from("proxy"))).status, 200)
    })
  )

  it.effect("gain nothing by the name of a payer who has paid before: names are public", () =>
    Effect.gen(function* () {
      const { post, verdict } = yield* judging(callers, false)
      assert.strictEqual((yield* post("/settle", payment("regular"), from("home"))).status, 200)
      verdict.isForged = true
      assert.strictEqual(accepted(yield* statuses(post, "/settle", payment("regular"), from("stranger"), 200)), 11)
      verdict.isForged = false
      assert.strictEqual((yield* post("/settle", payment("regular"), from("home"))).status, 200)
    })
  )

  it.effect("from the origin of a payer and in its name leave it the rate of any payer from there", () =>
    Effect.gen(function* () {
      const { post, verdict } = yield* judging(callers, false)
      assert.strictEqual((yield* post("/settle", payment("regular"), from("proxy"))).status, 200)
      verdict.isForged = true
      assert.strictEqual(accepted(yield* statuses(post, "/settle", payment("regular"), from("proxy"), 200)), 11)
      verdict.isForged = false
      assert.strictEqual((yield* post("/settle", payment("other"), from("elsewhere"))).status, 200)
    })
  )

  it.effect("from many origins leave a part of the caller's rate to payers who have paid before", () =>
    Effect.gen(function* () {
      const { post, verdict } = yield* judging(callers, false)
      assert.strictEqual((yield* post("/settle", payment("regular"), from("home"))).status, 200)
      verdict.isForged = true
      const bad = yield* Effect.forEach(Array.from({ length: 100 }), (_, index) =>
        post("/settle", payment(`a${index}`), from(`stranger${index}`))
      )
      assert.strictEqual(accepted(bad.map(({ status }) => status)), 14)
      verdict.isForged = false
      assert.deepStrictEqual(
        yield* statuses(post, "/settle", payment("regular"), from("home"), 6),
        [200, 200, 200, 200, 200, 429]
      )
    })
  )

  it.effect("an execution that cannot be finished costs its caller more", () =>
    Effect.gen(function* () {
      const sent = { claimId: claim.id, outcome: "served" }
      assert.strictEqual(yield* tried({}, sent, `/payments/${paymentId}/finish`), 20)
      assert.strictEqual(yield* tried({ finish: otherClaim }, sent, `/payments/${paymentId}/finish`), 4)
    })
  )
})

describe("a group of finishes", () => {
  const run = { paymentId, claimId: claim.id, outcome: "served" }
  const accepting = (finish: typeof otherClaim | undefined, size: number) =>
    Effect.gen(function* () {
      const callers = [callerOf("shop", { rates: { rate: { perSecond: 1, burst: 20 }, payerRate: wide } })]
      const { post } = yield* start({ ...good, ...(finish && { finish }) }, { callers }, [readable])
      const runs = Array.from({ length: size }, () => run)
      return accepted(yield* statuses(post, "/payments/finish", { runs }, keyOf("shop"), 30))
    })

  it.effect("costs as much as its members by themselves, refused ones too", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* accepting(undefined, 1), 20)
      assert.strictEqual(yield* accepting(undefined, 5), 4)
      assert.strictEqual(yield* accepting(otherClaim, 1), 4)
      assert.strictEqual(yield* accepting(otherClaim, 2), 2)
      assert.strictEqual(yield* accepting(undefined, 100), 1)
    })
  )
})

describe("a payer over its limit", () => {
  const rates = { rate: wide, payerRate: { perSecond: 1, burst: 2 } }
  const callers = [callerOf("shop", { rates }), callerOf("other", { rates })]

  it.effect("waits; others of the same caller do not, nor does the payer at another caller", () =>
    Effect.gen(function* () {
      const { post } = yield* start(good, { callers }, [readable])
      const answers = yield* statuses(post, "/settle", payment("a"), keyOf("shop"), 5)
      assert.deepStrictEqual(answers, [200, 200, 200, 429, 429])
      assert.strictEqual((yield* post("/settle", payment("b"), keyOf("shop"))).status, 200)
      assert.strictEqual((yield* post("/settle", payment("a"), keyOf("other"))).status, 200)
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* post("/settle", payment("a"), keyOf("shop"))).status, 200)
    })
  )

  it.effect("is not limited by payments that others sign in its name", () =>
    Effect.gen(function* () {
      const { post, verdict } = yield* judging(callers, true)
      assert.strictEqual(accepted(yield* statuses(post, "/settle", payment("a"), keyOf("shop"), 20)), 20)
      verdict.isForged = false
      assert.strictEqual((yield* post("/settle", payment("a"), keyOf("shop"))).status, 200)
    })
  )

  it.effect("is charged for a payment that its balance does not cover", () =>
    Effect.gen(function* () {
      const { post } = yield* start({ settle: poor }, { callers }, [readable])
      assert.strictEqual(accepted(yield* statuses(post, "/settle", payment("a"), keyOf("shop"), 10)), 3)
    })
  )
})

describe("without a key", () => {
  const anonymousRates = { rate: narrow, payerRate: wide }

  it.effect("an address is limited where every address may call", () =>
    Effect.gen(function* () {
      const { post } = yield* start(good, { anonymousRates }, [readable])
      assert.strictEqual(accepted(yield* statuses(post, "/settle", payment("a"), {}, 9)), 5)
    })
  )

  it.effect("an address is limited in trying keys, and requests with a good key do not count", () =>
    Effect.gen(function* () {
      const { post } = yield* start(good, { anonymousRates, callers: [callerOf("shop")] }, [readable])
      const answers = yield* statuses(post, "/settle", payment("a"), bearer("a-guessed-key-0001"), 7)
      assert.deepStrictEqual(answers, [401, 401, 401, 401, 401, 429, 429])
      assert.strictEqual((yield* post("/settle", payment("a"), keyOf("shop"))).status, 200)
    })
  )

  it.effect("a forwarding header does not change the address", () =>
    Effect.gen(function* () {
      const { post } = yield* start(good, { anonymousRates }, [readable])
      const answers = yield* Effect.forEach(Array.from({ length: 9 }), (_, index) =>
        post("/settle", payment("a"), { "x-forwarded-for": `192.0.2.${index}`, forwarded: `for=192.0.2.${index}` })
      )
      assert.strictEqual(accepted(answers.map(({ status }) => status)), 5)
    })
  )
})

describe("registrations", () => {
  const asset = "0x3333333333333333333333333333333333333333"
  const other = "0x9999999999999999999999999999999999999999"
  const cases: ReadonlyArray<readonly [ReadonlyArray<Registration> | undefined, Partial<typeof wanted>, number]> = [
    [undefined, {}, 200],
    [[], {}, 403],
    [[{ network: "eip155:8453" }], {}, 200],
    [[{ network: "eip155:1" }], {}, 403],
    [[{ network: "eip155:8453", payees: [payTo] }], {}, 200],
    [[{ network: "eip155:8453", payees: [other] }], {}, 403],
    [[{ network: "eip155:8453", payees: [] }], {}, 403],
    [[{ network: "eip155:8453", assets: [asset.toUpperCase().replace("0X", "0x")] }], {}, 200],
    [[{ network: "eip155:8453", assets: [other] }], {}, 403],
    [[{ network: "eip155:8453", payees: [payTo], assets: [other] }], {}, 403],
    [[{ payees: [other] }, { payees: [payTo], assets: [asset] }], {}, 200],
    [[{ assets: [asset] }], { asset: undefined as never }, 403],
    [[{ network: "eip155:8453" }], { network: "eip155:1" as never }, 403],
    [[{ payees: ["no address"] }], {}, 403],
    [[{ network: "eip155:8453" }], { scheme: "other" }, 403]
  ]
  const wanted = { ...request.paymentRequirements, asset }

  it.live.each(cases)("%j of %j: %d", ([registrations, change, status]) =>
    Effect.gen(function* () {
      const terms = registrations === undefined ? {} : { registrations }
      const { post } = yield* start(good, { callers: [callerOf("shop", terms)] }, [readable])
      const sent = { ...body, paymentRequirements: { ...wanted, ...change } }
      for (const path of ["/verify", "/settle"])
        assert.strictEqual((yield* post(path, sent, keyOf("shop"))).status, status)
    })
  )
})

describe("the facilitator behind", () => {
  it.live("learns the caller of each request", () =>
    Effect.gen(function* () {
      const seen: Array<unknown> = []
      const settle = () =>
        Effect.map(CurrentCaller, (caller) => {
          seen.push(caller)
          return settled
        })
      const webhook = { url: Redacted.make("https://shop.example/"), secret: Redacted.make("a-secret-of-shop") }
      const callers = [callerOf("shop"), callerOf("told", { webhook })]
      const { post } = yield* start({ settle }, { callers }, [readable])
      yield* post("/settle", payment("a"), keyOf("shop"))
      yield* post("/settle", payment("a"), keyOf("told"))
      const open = yield* start({ settle }, {}, [readable])
      yield* open.post("/settle", payment("a"))
      assert.deepStrictEqual(seen, [
        { name: "shop", notify: false },
        { name: "told", notify: true },
        { name: "", notify: false }
      ])
    })
  )
})
