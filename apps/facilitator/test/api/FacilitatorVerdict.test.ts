import { assert, describe, it } from "@effect/vitest"
import {
  ChainUnavailable,
  FacilitatorUnavailable,
  invalid,
  Misconfigured,
  PaymentErrorCode,
  type PaymentFailure,
  type ProtocolError,
  refuse,
  type Settled,
  SettlementPending,
  ValidationReason
} from "@pontage/core"
import * as Effect from "effect/Effect"

import * as TestFacilitator from "../TestFacilitator.ts"

const { body, claim, json, network, paymentId, request, settled, start } = TestFacilitator

/** Everything that a facilitator may fail with that is a verdict. */
const refusals: ReadonlyArray<PaymentFailure> = [
  ...PaymentErrorCode.literals.map((code) => refuse(code, "why", `because of ${code}`)),
  ...ValidationReason.literals.map((reason) => invalid(reason, "why", `because of ${reason}`))
]

const pending = new SettlementPending({ paymentId, status: "sent", transaction: "0xabc", message: "not yet" })

/** Everything that tells nothing about the payment. */
const troubles: ReadonlyArray<readonly [word: string, failure: ProtocolError]> = [
  ["chain_unavailable", new ChainUnavailable({ network, message: "RPC at https://key@secret answers nonsense" })],
  ["facilitator_unavailable", new FacilitatorUnavailable({ message: "the balance is held by other payments" })],
  ["misconfigured", new Misconfigured({ message: "no signer at secret" })]
]

const values: ReadonlyArray<Settled> = [
  settled,
  { ...settled, status: "final" },
  { ...settled, execution: undefined },
  { ...settled, execution: "held", status: "accepted", transaction: "" },
  { ...settled, execution: "held" },
  { ...settled, execution: "spent" },
  { ...settled, execution: "conflict", status: "sent" }
]

const wordsOf = (failure: PaymentFailure) => ({
  ...(failure._tag === "PaymentError" && { code: failure.code, detail: failure.detail }),
  ...(failure._tag === "ValidationError" && { reason: failure.reason, detail: failure.detail }),
  message: failure.message
})

const failing =
  <E>(failure: E) =>
  () =>
    Effect.fail(failure)

/** The content of an error, apart from its stack. */
const tellingOf = (failure: PaymentFailure) => JSON.parse(JSON.stringify(failure))

describe("on the wire", () => {
  it.live.each(refusals)("a refusal is a verdict with status 200: %s", (failure) =>
    Effect.gen(function* () {
      const no = failing(failure)
      const { post } = yield* start({ verify: no, settle: no, claim: no })
      const verify = yield* post("/verify", body)
      assert.strictEqual(verify.status, 200)
      assert.deepStrictEqual(yield* json(verify), { isValid: false, ...wordsOf(failure) })
      const refused = { success: false, paymentId: "", status: "rejected", transaction: "", network }
      for (const path of ["/settle", "/claims"]) {
        const answer = yield* post(path, { ...body, claim })
        assert.strictEqual(answer.status, 200)
        assert.deepStrictEqual(yield* json(answer), { ...refused, ...wordsOf(failure) })
      }
    })
  )

  it.live.each(troubles)("%s is 503 and no verdict, and tells no secret", ([word, failure]) =>
    Effect.gen(function* () {
      const no = failing(failure)
      const { post } = yield* start({ verify: no, settle: no, claim: no })
      for (const path of ["/verify", "/settle", "/claims"]) {
        const answer = yield* post(path, { ...body, claim })
        assert.strictEqual(answer.status, 503)
        const fault = yield* Effect.promise(() => answer.text())
        assert.include(fault, `"error":"${word}"`)
        assert.strictEqual(answer.headers.get("retry-after"), "2")
        assert.notInclude(fault, "secret")
      }
    })
  )

  it.live("the seconds until a repeat makes sense reach the shop", () =>
    Effect.gen(function* () {
      const no = failing(new FacilitatorUnavailable({ message: "its signers are busy", retryAfter: 37 }))
      const { client, post } = yield* start({ verify: no, settle: no, claim: no })
      const answer = yield* post("/settle", { ...body, claim })
      assert.strictEqual(answer.headers.get("retry-after"), "37")
      for (const call of [client.verify(request), client.settle(request, claim), client.claim(request, claim)]) {
        const failure = yield* Effect.flip(call)
        assert.deepInclude(failure, { _tag: "FacilitatorUnavailable", retryAfter: 37 })
      }
    })
  )

  it.live("pending is success: false with status 200", () =>
    Effect.gen(function* () {
      const { post } = yield* start({ settle: () => Effect.fail(pending) })
      const answer = yield* post("/settle", { ...body, claim })
      assert.strictEqual(answer.status, 200)
      const expected = { success: false, paymentId, status: "sent", transaction: "0xabc", network, message: "not yet" }
      assert.deepStrictEqual(yield* json(answer), expected)
    })
  )

  it.live("success of /settle means that the money has moved, of /claims that the claim is on record", () =>
    Effect.gen(function* () {
      const { post } = yield* start({
        settle: () => Effect.succeed({ ...settled, status: "sent" }),
        claim: () => Effect.succeed({ ...settled, status: "accepted", transaction: "" })
      })
      assert.deepInclude(yield* json(yield* post("/settle", { ...body, claim })), { success: false, status: "sent" })
      assert.deepInclude(yield* json(yield* post("/claims", { ...body, claim })), { success: true, status: "accepted" })
    })
  )

  it.live("a malformed envelope, or one of another version, gets a verdict and reaches no facilitator", () =>
    Effect.gen(function* () {
      const { post } = yield* start({ verify: () => Effect.die("asked"), settle: () => Effect.die("asked") })
      const { paymentPayload } = request
      const cases = [
        [{ ...body, protocolVersion: 1 }, "unsupported_version"],
        [{ ...body, paymentPayload: { ...paymentPayload, protocolVersion: 1 } }, "unsupported_version"],
        [{ ...body, paymentPayload: { protocolVersion: 3 } }, "unsupported_version"],
        [{ ...body, paymentPayload: null }, "malformed"],
        [{ ...body, paymentPayload: "eyJ9" }, "malformed"],
        [{ ...body, paymentPayload: { ...paymentPayload, payload: {} } }, "malformed"],
        [{ ...body, paymentPayload: { ...paymentPayload, protocolVersion: "2" } }, "malformed"]
      ] as const
      for (const [sent, reason] of cases) {
        const verify = yield* post("/verify", sent)
        assert.strictEqual(verify.status, 200)
        assert.deepInclude(yield* json(verify), { isValid: false, reason })
        assert.deepInclude(yield* json(yield* post("/settle", sent)), { success: false, reason, network })
      }
    })
  )
})

describe("through the client", () => {
  it.live.each([...refusals, pending])("a failure arrives as it left: %s", (failure) =>
    Effect.gen(function* () {
      const no = failing(failure)
      const { client } = yield* start({ verify: no, settle: no, claim: no })
      const failures = [
        yield* Effect.flip(client.settle(request, claim)),
        yield* Effect.flip(client.claim(request, claim))
      ]
      if (failure !== pending) failures.push(yield* Effect.flip(client.verify(request)))
      for (const arrived of failures) {
        assert.strictEqual(arrived._tag, failure._tag)
        assert.deepStrictEqual(tellingOf(arrived), tellingOf(failure))
      }
    })
  )

  it.live.each(troubles)("%s arrives as the facilitator's unavailability", ([word, failure]) =>
    Effect.gen(function* () {
      const no = failing(failure)
      const down = Effect.fail(new FacilitatorUnavailable({ message: "the store is closed" }))
      const { client, get } = yield* start(
        { verify: no, settle: no, finish: no, supported: no() },
        undefined,
        undefined,
        { find: () => down, page: () => down }
      )
      const calls = [
        client.verify(request),
        client.settle(request),
        client.finish(paymentId, claim.id, "served"),
        client.supported
      ]
      for (const call of calls) {
        const arrived = yield* Effect.flip<unknown, PaymentFailure, never>(call)
        assert.strictEqual(arrived._tag, "FacilitatorUnavailable")
        assert.include(arrived.message, `503, "${word}`)
      }
      const arrived = yield* Effect.flip(client.payment(paymentId))
      assert.include(arrived.message, '503, "facilitator_unavailable')
      assert.strictEqual((yield* get("/payments")).status, 503)
    })
  )

  it.live.each(values)("a value arrives as it left: %j", (value) =>
    Effect.gen(function* () {
      const seen: Array<unknown> = []
      const { client } = yield* start({
        settle: (asked, wish) => Effect.sync(() => (seen.push([asked, wish]), value))
      })
      const wish = value.execution === undefined ? undefined : claim
      assert.deepStrictEqual(yield* client.settle(request, wish), value)
      assert.deepStrictEqual(seen, [[request, wish]])
    })
  )

  it.live("a claim arrives as it left", () =>
    Effect.gen(function* () {
      const value: Settled = { ...settled, status: "accepted", transaction: "" }
      const { client } = yield* start({ claim: () => Effect.succeed(value) })
      assert.deepStrictEqual(yield* client.claim(request, claim), value)
    })
  )

  it.live("a verification arrives as it left", () =>
    Effect.gen(function* () {
      const { client } = yield* start({ verify: () => Effect.succeed({ payer: TestFacilitator.payer }) })
      assert.deepStrictEqual(yield* client.verify(request), { payer: TestFacilitator.payer })
    })
  )

  it.live("a record and its finish arrive as they left", () =>
    Effect.gen(function* () {
      const { record } = TestFacilitator
      const finished: Array<ReadonlyArray<unknown>> = []
      const { client } = yield* start(
        { finish: (...args) => Effect.sync(() => (finished.push(args), record)) },
        undefined,
        undefined,
        { find: (id) => Effect.succeed(id === paymentId ? TestFacilitator.stored : undefined) }
      )
      assert.deepStrictEqual(yield* client.finish(paymentId, claim.id, "notRun"), record)
      yield* client.finish(paymentId, claim.id, "served", 7n)
      assert.deepStrictEqual(finished, [
        [paymentId, claim.id, "notRun", undefined],
        [paymentId, claim.id, "served", 7n]
      ])
      assert.deepStrictEqual(yield* client.payment(paymentId), { ...record, execution: "served" })
      assert.isUndefined(yield* client.payment("pay_zzzzzzzzzzzzzzzzzzzzzz"))
    })
  )

  it.live("a finish that is refused arrives with its reason", () =>
    Effect.gen(function* () {
      for (const [detail, status] of [
        ["unknown_payment", 404],
        ["other_claim", 409]
      ] as const) {
        const failure = invalid("already_used", detail, "it cannot be finished")
        const { client, post } = yield* start({ finish: () => Effect.fail(failure) })
        const arrived = yield* Effect.flip(client.finish(paymentId, claim.id, "served"))
        assert.deepInclude(arrived, { _tag: "ValidationError", reason: "already_used", detail })
        const answer = yield* post(`/payments/${paymentId}/finish`, { claimId: claim.id, outcome: "served" })
        assert.strictEqual(answer.status, status)
      }
    })
  )

  it.live("the supported kinds arrive as they left", () =>
    Effect.gen(function* () {
      const supported = {
        kinds: [{ protocolVersion: 2, scheme: "exact", network, extra: { a: [1] } }],
        signers: { [network]: [TestFacilitator.payer] }
      } as const
      const { client } = yield* start({ supported: Effect.succeed(supported) })
      assert.deepStrictEqual(yield* client.supported, supported)
    })
  )
})
