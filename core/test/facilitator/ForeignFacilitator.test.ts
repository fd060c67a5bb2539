import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as TestClock from "effect/testing/TestClock"

import { Facilitator, type Settled } from "../../src/facilitator/Facilitator.ts"
import * as ForeignFacilitator from "../../src/facilitator/ForeignFacilitator.ts"
import * as Network from "../../src/protocol/Network.ts"
import type { PaymentFailure } from "../../src/protocol/PaymentFailure.ts"
import { ChainUnavailable } from "../../src/protocol/ProtocolError.ts"
import { invalid } from "../../src/protocol/ValidationError.ts"
import type { SchemeServer, Use } from "../../src/scheme/SchemeServer.ts"
import * as TestLedger from "../../src/testing/TestLedger.ts"
import * as TestScheme from "../../src/testing/TestScheme.ts"
import * as ForeignStub from "./ForeignStub.ts"
import { altered, amount, claim, pay, payer, requirements, start } from "./LedgerShop.ts"

const half = TestScheme.server(TestLedger.make())

const open = Effect.fnUntraced(function* (options: Partial<ForeignFacilitator.Options> = {}) {
  yield* TestClock.setTime(start)
  const stub = yield* ForeignStub.make()
  const context = yield* Layer.build(ForeignFacilitator.layer({ url: stub.url, schemes: [half], ...options }))
  return { stub, facilitator: yield* Effect.provide(Facilitator, context) }
})

const failureOf = <A>(effect: Effect.Effect<A, PaymentFailure>) =>
  Effect.map(Effect.result(effect), (result) => {
    assert.isTrue(Result.isFailure(result), `it succeeded: ${JSON.stringify(result)}`)
    return Result.getOrThrow(Result.flip(result))
  })

/** Time goes on while something is waited for. */
const inTime = <A, E>(effect: Effect.Effect<A, E>) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(effect)
    while (fiber.pollUnsafe() === undefined) {
      yield* TestClock.adjust("500 millis")
      yield* Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))
    }
    return yield* Fiber.join(fiber)
  })

const settled: Partial<Settled> = {
  status: "included",
  execution: "granted",
  payer,
  amount: `${amount}`,
  network: "ledger:test"
}
const at = (settlement: Settled) => ({ execution: settlement.execution, transaction: settlement.transaction })

describe("settle", () => {
  it.effect("has a payment settled by one call, in the words of version 2, without the payer's salt", () =>
    Effect.gen(function* () {
      const { facilitator, stub } = yield* open({ headers: { authorization: "Bearer key" } })
      const request = yield* pay()
      const answer = yield* facilitator.settle(request, claim("one"))
      assert.deepInclude(answer, { ...settled, transaction: "tx-1" })
      assert.deepStrictEqual(
        stub.seen.map(({ url }) => url),
        ["/supported", "/settle"]
      )
      const [, seen] = stub.seen
      assert.strictEqual(seen?.headers.authorization, "Bearer key")
      const body = JSON.parse(seen?.body ?? "")
      const accepted = {
        scheme: "exact",
        network: "ledger:test",
        amount: "10000",
        asset: requirements.asset,
        payTo: requirements.payTo,
        maxTimeoutSeconds: 60,
        extra: {}
      }
      assert.deepStrictEqual(body.paymentRequirements, accepted)
      assert.deepStrictEqual(body.paymentPayload.accepted, accepted)
      assert.strictEqual(body.paymentPayload.resource.url, requirements.resource)
      assert.strictEqual(body.x402Version, 2)
      assert.strictEqual(body.paymentPayload.x402Version, 2)
      assert.strictEqual(body.paymentPayload.payload.payer, payer)
      assert.notInclude(seen?.body, "salt")
    })
  )

  it.effect("grants one of sixteen copies at once, with one call", () =>
    Effect.gen(function* () {
      const { facilitator, stub } = yield* open()
      const request = yield* pay()
      const answers = yield* Effect.all(
        Array.from({ length: 16 }, (_, index) => facilitator.settle(request, claim(`copy-${index}`))),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(answers.filter(({ execution }) => execution === "granted").length, 1)
      assert.strictEqual(answers.filter(({ execution }) => execution === "held").length, 15)
      assert.strictEqual(ForeignStub.count(stub, "/settle"), 1)
    })
  )

  it.effect("lets the same claim wait for the call that is under way", () =>
    Effect.gen(function* () {
      const { facilitator, stub } = yield* open()
      const request = yield* pay()
      const gate = Deferred.makeUnsafe<void>()
      stub.settles.push(ForeignStub.waits(gate))
      const fibers = yield* Effect.forEach([1, 2, 3], () => Effect.forkChild(facilitator.settle(request, claim("one"))))
      yield* Effect.yieldNow
      Deferred.doneUnsafe(gate, Effect.void)
      const answers = yield* Effect.forEach(fibers, Fiber.join)
      assert.deepStrictEqual(
        answers.map(({ execution }) => execution),
        ["granted", "granted", "granted"]
      )
      assert.strictEqual(ForeignStub.count(stub, "/settle"), 1)
    })
  )

  it.effect("answers the same from its record, also after the authorization has expired", () =>
    Effect.gen(function* () {
      const { facilitator, stub } = yield* open()
      const request = yield* pay()
      const { paymentId } = yield* facilitator.settle(request, claim("one"))
      yield* facilitator.finish(paymentId, claim("one").id, "failed")
      yield* TestClock.adjust("5 minutes")
      assert.deepInclude(yield* facilitator.settle(request, claim("two")), { ...settled, transaction: "tx-1" })
      assert.strictEqual(ForeignStub.count(stub, "/settle"), 1)
      assert.strictEqual((yield* facilitator.settle(request, claim("three"))).execution, "held")
      assert.strictEqual((yield* facilitator.settle(request, claim("other", "elsewhere"))).execution, "conflict")
      yield* facilitator.finish(paymentId, claim("two").id, "served")
      assert.strictEqual((yield* facilitator.settle(request, claim("four"))).execution, "spent")
      assert.deepInclude(yield* facilitator.payment(paymentId), { status: "included", execution: "served", runs: 2 })
    })
  )

  it.effect("runs a paid payment again five times at most, for ten minutes, and never without its salt", () =>
    Effect.gen(function* () {
      const { facilitator } = yield* open()
      const request = yield* pay()
      const bare = yield* pay({ bound: false })
      const run = Effect.fnUntraced(function* (one: typeof request, name: string) {
        const { execution, paymentId } = yield* facilitator.settle(one, claim(name))
        yield* Effect.ignore(facilitator.finish(paymentId, claim(name).id, "failed"))
        return execution
      })
      assert.deepStrictEqual(yield* Effect.forEach(["a", "b"], (name) => run(bare, name)), ["granted", "spent"])
      const runs = yield* Effect.forEach(["a", "b", "c", "d", "e", "f"], (name) => run(request, name))
      assert.deepStrictEqual(runs, ["granted", "granted", "granted", "granted", "granted", "spent"])
      const late = yield* pay()
      assert.strictEqual(yield* run(late, "a"), "granted")
      yield* TestClock.adjust("11 minutes")
      assert.strictEqual(yield* run(late, "b"), "spent")
    })
  )

  it.effect("fences the end of a run by its claim, and lets a silent holder lapse", () =>
    Effect.gen(function* () {
      const { facilitator } = yield* open()
      const request = yield* pay()
      const { paymentId } = yield* facilitator.settle(request, claim("one"))
      yield* facilitator.finish(paymentId, claim("stranger").id, "failed")
      assert.strictEqual((yield* facilitator.settle(request, claim("two"))).execution, "held")
      yield* TestClock.adjust("61 seconds")
      assert.strictEqual((yield* facilitator.settle(request, claim("two"))).execution, "granted")
      yield* facilitator.finish(paymentId, claim("one").id, "served")
      assert.deepInclude(yield* facilitator.payment(paymentId), { execution: "running" })
      const unknown = yield* failureOf(facilitator.finish(`pay_${"x".repeat(22)}`, "y".repeat(22), "served"))
      assert.deepInclude(unknown, { _tag: "ValidationError", detail: "unknown_payment" })
      assert.isUndefined(yield* facilitator.payment(`pay_${"x".repeat(22)}`))
    })
  )

  it.effect("refuses what is only for payments on record, when it is on none", () =>
    Effect.gen(function* () {
      const { facilitator, stub } = yield* open()
      const request = yield* pay()
      const onlyKnown = { ...claim("one"), onlyKnown: true } as const
      assert.deepInclude(yield* failureOf(facilitator.settle(request, onlyKnown)), { reason: "binding_mismatch" })
      assert.lengthOf(stub.seen, 0)
      const { paymentId } = yield* facilitator.settle(request, claim("one"))
      yield* facilitator.finish(paymentId, claim("one").id, "failed")
      assert.strictEqual((yield* facilitator.settle(request, { ...onlyKnown, ...claim("two") })).execution, "granted")
    })
  )

  it.effect("compares with the offer before anybody is asked", () =>
    Effect.gen(function* () {
      const { facilitator, stub } = yield* open()
      const request = yield* pay()
      const offer = request.paymentRequirements
      const cases = [
        [{ ...request, paymentRequirements: { ...offer, payTo: "acct-mallory" } }, "other_recipient"],
        [{ ...request, paymentRequirements: { ...offer, maxAmountRequired: "10001" } }, "other_amount"],
        [{ ...request, paymentRequirements: { ...offer, asset: "acct-tin" } }, "other_asset"],
        [yield* pay({ validFor: 5 }), "expired"],
        [yield* pay({ validFor: 500 }), "valid_too_long"]
      ] as const
      for (const [one, detail] of cases) {
        for (const asking of [facilitator.settle(one, claim("one")), facilitator.claim(one, claim("one"))]) {
          assert.deepInclude(yield* failureOf(asking), { detail })
        }
      }
      assert.lengthOf(stub.seen, 0)
    })
  )

  it.effect("refuses another payment under the same nonce, and one that its payer has not brought", () =>
    Effect.gen(function* () {
      const { facilitator } = yield* open()
      const request = yield* pay()
      yield* facilitator.settle(request, claim("one"))
      const dearer = yield* altered(request, { validAfter: 1 })
      const unsalted = yield* altered(request, { binding: undefined })
      for (const other of [dearer, unsalted]) {
        const failure = yield* failureOf(facilitator.settle(other, claim("two")))
        assert.deepInclude(failure, { reason: "already_used", detail: "tx-1" })
      }
    })
  )

  it.effect("answers a caller without a claim once", () =>
    Effect.gen(function* () {
      const { facilitator, stub } = yield* open()
      const request = yield* pay()
      stub.settles.push(ForeignStub.drops)
      assert.strictEqual((yield* failureOf(facilitator.settle(request)))._tag, "FacilitatorUnavailable")
      const answer = yield* facilitator.settle(request)
      assert.deepInclude(answer, { status: "included", execution: undefined })
      assert.deepInclude(yield* failureOf(facilitator.settle(request)), { reason: "already_used" })
    })
  )

  it.effect("turns new payments away when there is no place, and takes them when old ones are over", () =>
    Effect.gen(function* () {
      const { facilitator } = yield* open({ capacity: 2 })
      yield* facilitator.settle(yield* pay(), claim("one"))
      yield* facilitator.settle(yield* pay(), claim("two"))
      const failure = yield* failureOf(facilitator.settle(yield* pay(), claim("three")))
      assert.strictEqual(failure._tag, "FacilitatorUnavailable")
      assert.include(failure.message, "capacity")
      yield* TestClock.adjust("12 minutes")
      assert.strictEqual((yield* facilitator.settle(yield* pay(), claim("three"))).execution, "granted")
    })
  )
})

describe("a clear refusal", () => {
  const cases: ReadonlyArray<readonly [string, Record<string, unknown>]> = [
    ["insufficient_funds", { _tag: "PaymentError", code: "INSUFFICIENT_BALANCE" }],
    ["invalid_exact_evm_insufficient_balance", { _tag: "PaymentError", code: "INSUFFICIENT_BALANCE" }],
    ["invalid_exact_evm_signature", { _tag: "PaymentError", code: "INVALID_SIGNATURE" }],
    ["invalid_exact_evm_payload_authorization_valid_before", { _tag: "PaymentError", code: "EXPIRED_PAYMENT" }],
    ["invalid_exact_evm_recipient_mismatch", { _tag: "PaymentError", code: "INVALID_RECIPIENT" }],
    ["invalid_payload", { _tag: "ValidationError", reason: "malformed" }],
    ["invalid_exact_evm_token_name_mismatch", { _tag: "ValidationError", reason: "unsupported_authorization" }],
    ["invalid_exact_evm_nonce_already_used", { _tag: "ValidationError", reason: "already_used" }]
  ]
  for (const [word, expected] of cases) {
    for (const status of [200, 400, 422]) {
      it.effect(`${word}, with status ${status}, is one, and leaves nothing behind`, () =>
        Effect.gen(function* () {
          const { facilitator, stub } = yield* open()
          stub.settles.push(ForeignStub.says(ForeignStub.refuses(word), status))
          const request = yield* pay()
          assert.deepInclude(yield* failureOf(facilitator.settle(request, claim("one"))), expected)
          assert.deepInclude(yield* facilitator.settle(request, claim("two", "elsewhere")), settled)
        })
      )
    }
  }
})

describe("an outcome that is not known", () => {
  const network = "ledger:test"
  const success = { success: true, transaction: "tx-9", network, payer }
  const lies: Readonly<Record<string, ForeignStub.Deed>> = {
    "the connection breaks after the transfer": ForeignStub.drops,
    "status 500": ForeignStub.doesAndSays({ error: "boom" }, 500),
    "status 502 with a refusal": ForeignStub.doesAndSays(ForeignStub.refuses("insufficient_funds"), 502),
    "no JSON": (response, honest) => {
      honest()
      response.end("<html>")
    },
    "too much of it": (response, honest) => {
      honest()
      response.end(JSON.stringify({ ...success, more: "x".repeat(70_000) }))
    },
    "another shape": ForeignStub.doesAndSays({ ok: true }),
    "a success without a transaction": ForeignStub.doesAndSays({ ...success, transaction: "" }),
    "a success of another payer": ForeignStub.doesAndSays({ ...success, payer: "acct-mallory" }),
    "a success on another network": ForeignStub.doesAndSays({ ...success, network: "eip155:1" }),
    "a success of another amount": ForeignStub.doesAndSays({ ...success, amount: "1" }),
    "a success with a reason": ForeignStub.doesAndSays({ ...success, errorReason: "insufficient_funds" }),
    "a success with status 400": ForeignStub.doesAndSays(success, 400),
    "a refusal without a reason": ForeignStub.doesAndSays({ success: false, transaction: "", network }),
    "a refusal with a transaction": ForeignStub.doesAndSays({
      ...ForeignStub.refuses("insufficient_funds"),
      transaction: "tx-9"
    }),
    "a failure that may have come after sending": ForeignStub.doesAndSays(
      ForeignStub.refuses("unexpected_settle_error")
    ),
    "a transaction that failed and has no name": ForeignStub.doesAndSays(
      ForeignStub.refuses("invalid_exact_evm_transaction_failed")
    ),
    "a word that nobody knows": ForeignStub.doesAndSays(ForeignStub.refuses("confirmation_timed_out")),
    "an exception": ForeignStub.doesAndSays(ForeignStub.refuses("Cannot read properties of undefined"))
  }
  for (const [name, deed] of Object.entries(lies)) {
    it.effect(`${name}: is neither, and "used already" is then a settlement`, () =>
      Effect.gen(function* () {
        const { facilitator, stub } = yield* open()
        stub.settles.push(deed)
        const request = yield* pay()
        const failure = yield* failureOf(facilitator.settle(request, claim("one")))
        assert.strictEqual(failure._tag, "FacilitatorUnavailable")
        const answer = yield* facilitator.settle(request, claim("two"))
        assert.deepInclude(answer, { ...settled, transaction: "" })
        assert.strictEqual(stub.used.size, 1)
        assert.strictEqual(ForeignStub.count(stub, "/settle"), 2)
        assert.strictEqual((yield* facilitator.settle(request, claim("three"))).execution, "held")
        const { history } = (yield* facilitator.payment(answer.paymentId)) ?? { history: [] }
        assert.deepStrictEqual(
          history.map(({ status }) => status),
          ["accepted", "sent", "included"]
        )
      })
    )
  }

  it.effect("a refusal that follows is none, because the first call may have caused it", () =>
    Effect.gen(function* () {
      const { facilitator, stub } = yield* open()
      const request = yield* pay()
      stub.settles.push(
        ForeignStub.drops,
        ForeignStub.says(ForeignStub.refuses("insufficient_funds")),
        ForeignStub.says(ForeignStub.refuses("invalid_exact_evm_payload_authorization_valid_before")),
        ForeignStub.says(ForeignStub.refuses("duplicate_settlement")),
        ForeignStub.says({ error: "slow down" }, 429)
      )
      yield* failureOf(facilitator.settle(request, claim("one")))
      for (const name of ["two", "three", "four", "five"]) {
        const failure = yield* failureOf(facilitator.settle(request, claim(name)))
        assert.deepInclude(failure, { _tag: "SettlementPending", status: "sent" })
      }
      assert.deepInclude(yield* facilitator.settle(request, claim("six")), settled)
    })
  )

  it.effect("stays unknown when the authorization expires meanwhile", () =>
    Effect.gen(function* () {
      const { facilitator, stub } = yield* open()
      const request = yield* pay()
      stub.settles.push(ForeignStub.drops, ForeignStub.says(ForeignStub.refuses("payment_expired")))
      yield* failureOf(facilitator.settle(request, claim("one")))
      yield* TestClock.adjust("2 minutes")
      assert.strictEqual((yield* failureOf(facilitator.settle(request, claim("two"))))._tag, "SettlementPending")
      assert.deepInclude(yield* facilitator.settle(request, claim("three")), settled)
    })
  )

  it.effect("is settled by the next call when nothing had been done", () =>
    Effect.gen(function* () {
      const { facilitator, stub } = yield* open()
      const request = yield* pay()
      stub.settles.push(ForeignStub.dropsUndone)
      yield* failureOf(facilitator.settle(request, claim("one")))
      assert.deepInclude(yield* facilitator.settle(request, claim("two")), { ...settled, transaction: "tx-1" })
    })
  )

  it.effect("no answer: the caller is told after its patience, and the answer that comes later counts", () =>
    Effect.gen(function* () {
      const { facilitator, stub } = yield* open()
      const request = yield* pay()
      const gate = Deferred.makeUnsafe<void>()
      stub.settles.push(ForeignStub.waits(gate))
      const failure = yield* failureOf(inTime(facilitator.settle(request, claim("one"))))
      assert.strictEqual(failure._tag, "SettlementPending")
      const waiting = yield* Effect.forkChild(facilitator.settle(request, claim("two")))
      yield* Effect.yieldNow
      Deferred.doneUnsafe(gate, Effect.void)
      assert.deepInclude(yield* Fiber.join(waiting), { ...settled, transaction: "tx-1" })
      assert.strictEqual(ForeignStub.count(stub, "/settle"), 1)
    })
  )

  it.effect("no answer at all: the call is given up, and the payment is asked about again", () =>
    Effect.gen(function* () {
      const { facilitator, stub } = yield* open({ settleTimeoutMillis: 40_000 })
      const request = yield* pay()
      stub.settles.push(ForeignStub.hangs)
      const failure = yield* failureOf(inTime(facilitator.settle(request, claim("one"))))
      assert.strictEqual(failure._tag, "FacilitatorUnavailable")
      assert.include(failure.message, "30000 ms")
      assert.deepInclude(yield* facilitator.settle(request, claim("two")), { ...settled, transaction: "" })
    })
  )

  it.effect("a caller who goes away takes nothing with it", () =>
    Effect.gen(function* () {
      const { facilitator, stub } = yield* open()
      const request = yield* pay()
      const gate = Deferred.makeUnsafe<void>()
      const asked = Deferred.makeUnsafe<void>()
      stub.settles.push((response, honest) => {
        Deferred.doneUnsafe(asked, Effect.void)
        ForeignStub.waits(gate)(response, honest)
      })
      const first = yield* Effect.forkChild(facilitator.settle(request, claim("one")))
      yield* Deferred.await(asked)
      yield* Fiber.interrupt(first)
      Deferred.doneUnsafe(gate, Effect.void)
      assert.deepStrictEqual(at(yield* facilitator.settle(request, claim("two"))), {
        execution: "granted",
        transaction: "tx-1"
      })
      assert.strictEqual(ForeignStub.count(stub, "/settle"), 1)
    })
  )
})

/** Paid by a block so many seconds after the start. */
const paid = (seconds: number) =>
  Effect.succeed<Use>({ _tag: "Settled", transaction: "tx-1", time: start / 1000 + seconds })

describe("used, after a call without an answer, by what the chain shows:", () => {
  const openWith = Effect.fnUntraced(function* (uses: ReadonlyArray<Effect.Effect<Use, ChainUnavailable>>) {
    const left = [...uses]
    const asked: Array<unknown> = []
    const useOf: NonNullable<SchemeServer["useOf"]> = (offer, payload) =>
      Effect.suspend(() => {
        asked.push([offer.payTo, payload])
        return left.shift() ?? Effect.die("asked too often")
      })
    const { facilitator, stub } = yield* open({ schemes: [{ ...half, useOf }] })
    const request = yield* pay()
    stub.settles.push(ForeignStub.drops)
    yield* failureOf(facilitator.settle(request, claim("one")))
    assert.lengthOf(asked, 0)
    return { facilitator, stub, request, asked }
  })
  it.effect("the payment itself, which counts, with its transaction", () =>
    Effect.gen(function* () {
      for (const seconds of [2, 0, -20]) {
        const { asked, facilitator, request } = yield* openWith([paid(seconds)])
        assert.deepInclude(yield* facilitator.settle(request, claim("two")), { ...settled, transaction: "tx-1" })
        assert.lengthOf(asked, 1)
        assert.deepInclude(asked[0], requirements.payTo)
      }
    })
  )

  it.effect("the payment, before it was taken here: it was served elsewhere", () =>
    Effect.gen(function* () {
      const { facilitator, request } = yield* openWith([paid(-31)])
      const failure = yield* failureOf(facilitator.settle(request, claim("two")))
      assert.deepInclude(failure, { reason: "already_used", detail: "tx-1" })
    })
  )

  it.effect("something else, which pays for nothing", () =>
    Effect.gen(function* () {
      const error = invalid("already_used", "nonce_canceled", "taken back")
      const { facilitator, request } = yield* openWith([Effect.succeed<Use>({ _tag: "Burnt", error })])
      assert.strictEqual(yield* failureOf(facilitator.settle(request, claim("two"))), error)
    })
  )

  it.effect("nothing, or no chain at all: then it stays unknown, until it is known", () =>
    Effect.gen(function* () {
      const down = Effect.fail(new ChainUnavailable({ network: "ledger:test", message: "no node" }))
      const { facilitator, request } = yield* openWith([Effect.succeed<Use>({ _tag: "Unseen" }), down, paid(1)])
      for (const name of ["two", "three"]) {
        assert.strictEqual((yield* failureOf(facilitator.settle(request, claim(name))))._tag, "SettlementPending")
      }
      assert.deepInclude(yield* facilitator.settle(request, claim("four")), { ...settled, transaction: "tx-1" })
    })
  )

  it.effect("nobody asks where there was no doubt", () =>
    Effect.gen(function* () {
      const { facilitator, stub } = yield* open({ schemes: [{ ...half, useOf: () => Effect.die("asked") }] })
      stub.settles.push(ForeignStub.says(ForeignStub.refuses("invalid_exact_evm_nonce_already_used")))
      const failure = yield* failureOf(facilitator.settle(yield* pay(), claim("one")))
      assert.deepInclude(failure, { reason: "already_used" })
    })
  )
})

describe("what was certainly not taken", () => {
  for (const status of [301, 400, 401, 403, 404, 429]) {
    it.effect(`status ${status} leaves no doubt: "used already" is then a refusal`, () =>
      Effect.gen(function* () {
        const { facilitator, stub } = yield* open()
        const request = yield* pay()
        stub.settles.push(
          ForeignStub.says({ error: "no" }, status),
          ForeignStub.says(ForeignStub.refuses("invalid_exact_evm_nonce_already_used"))
        )
        const failure = yield* failureOf(facilitator.settle(request, claim("one")))
        assert.strictEqual(failure._tag, "FacilitatorUnavailable")
        assert.deepInclude(yield* failureOf(facilitator.settle(request, claim("two"))), { reason: "already_used" })
      })
    )
  }

  it.effect("a facilitator that does not run leaves no doubt", () =>
    Effect.gen(function* () {
      const gone = yield* Effect.scoped(Effect.map(ForeignStub.make(), ({ url }) => url))
      let refuse = false
      const { facilitator, stub } = yield* open({
        fetch: (input, init) => fetch(refuse ? `${gone}/settle` : input, init)
      })
      yield* facilitator.settle(yield* pay(), claim("first"))
      refuse = true
      const request = yield* pay()
      const failure = yield* failureOf(facilitator.settle(request, claim("one")))
      assert.include(failure.message, "ECONNREFUSED")
      refuse = false
      stub.settles.push(ForeignStub.says(ForeignStub.refuses("invalid_exact_evm_nonce_already_used")))
      assert.deepInclude(yield* failureOf(facilitator.settle(request, claim("two"))), { reason: "already_used" })
    })
  )

  it.effect("neither does a duplicate that it has from somebody else", () =>
    Effect.gen(function* () {
      const { facilitator, stub } = yield* open()
      const request = yield* pay()
      stub.settles.push(
        ForeignStub.says(ForeignStub.refuses("duplicate_settlement")),
        ForeignStub.says(ForeignStub.refuses("invalid_exact_evm_nonce_already_used"))
      )
      assert.strictEqual((yield* failureOf(facilitator.settle(request, claim("one"))))._tag, "FacilitatorUnavailable")
      assert.deepInclude(yield* failureOf(facilitator.settle(request, claim("two"))), { reason: "already_used" })
    })
  )
})

const pending = ForeignStub.says(ForeignStub.refuses("settlement_pending", { transaction: "tx-7" }))
const reverted = (transaction: string) =>
  ForeignStub.says(ForeignStub.refuses("invalid_exact_evm_transaction_failed", { transaction }))
const used = ForeignStub.says(ForeignStub.refuses("invalid_exact_evm_nonce_already_used"))

describe("a transaction without an outcome", () => {
  it.effect("is asked about again, with a pause, until there is one", () =>
    Effect.gen(function* () {
      const { facilitator, stub } = yield* open()
      stub.settles.push(pending, pending)
      const answer = yield* inTime(facilitator.settle(yield* pay(), claim("one")))
      assert.deepInclude(answer, { ...settled, transaction: "tx-1" })
      assert.strictEqual(ForeignStub.count(stub, "/settle"), 3)
    })
  )

  it.effect("is not asked about for longer than our patience; its name is kept", () =>
    Effect.gen(function* () {
      const { facilitator, stub } = yield* open()
      for (let index = 0; index < 30; index++) stub.settles.push(pending)
      const request = yield* pay()
      const failure = yield* failureOf(inTime(facilitator.settle(request, claim("one"))))
      assert.deepInclude(failure, { _tag: "SettlementPending", status: "sent", transaction: "tx-7" })
      assert.isBelow(ForeignStub.count(stub, "/settle"), 14)
      assert.isAbove(ForeignStub.count(stub, "/settle"), 5)
      stub.settles.length = 0
      stub.settles.push(used)
      assert.deepInclude(yield* inTime(facilitator.settle(request, claim("two"))), { ...settled, transaction: "tx-7" })
    })
  )

  it.effect("that turns out to have failed leaves no doubt: what used the authorization was not ours", () =>
    Effect.gen(function* () {
      const { facilitator, stub } = yield* open()
      const request = yield* pay()
      stub.settles.push(pending, reverted("tx-7"), used)
      const failure = yield* failureOf(inTime(facilitator.settle(request, claim("one"))))
      assert.strictEqual(failure._tag, "FacilitatorUnavailable")
      assert.include(failure.message, "tx-7")
      assert.deepInclude(yield* failureOf(facilitator.settle(request, claim("two"))), { reason: "already_used" })
    })
  )

  it.effect("is not the one that an earlier call may have sent", () =>
    Effect.gen(function* () {
      const { facilitator, stub } = yield* open()
      const request = yield* pay()
      stub.settles.push(ForeignStub.drops, reverted("tx-8"))
      yield* failureOf(facilitator.settle(request, claim("one")))
      assert.strictEqual((yield* failureOf(facilitator.settle(request, claim("two"))))._tag, "SettlementPending")
      assert.deepInclude(yield* facilitator.settle(request, claim("three")), { ...settled, transaction: "" })
    })
  )

  it.effect("is still open when another one is named, and only that one has failed", () =>
    Effect.gen(function* () {
      const { facilitator, stub } = yield* open()
      const request = yield* pay()
      const other = ForeignStub.says(ForeignStub.refuses("settlement_pending", { transaction: "tx-8" }))
      stub.settles.push(pending, other, reverted("tx-8"), used)
      assert.strictEqual(
        (yield* failureOf(inTime(facilitator.settle(request, claim("one")))))._tag,
        "SettlementPending"
      )
      assert.deepInclude(yield* facilitator.settle(request, claim("two")), { ...settled, transaction: "" })
    })
  )

  it.effect("may be called failed by a peer that could not note it down", () =>
    Effect.gen(function* () {
      const { facilitator, stub } = yield* open()
      const request = yield* pay()
      const errorMessage = "settlement_pending, but failed to persist for retry: no store"
      const failed = ForeignStub.refuses("invalid_exact_evm_transaction_failed", { transaction: "tx-7", errorMessage })
      stub.settles.push(ForeignStub.says(failed), used)
      const answer = yield* inTime(facilitator.settle(request, claim("one")))
      assert.deepInclude(answer, { ...settled, transaction: "tx-7" })
    })
  )
})

describe("claim", () => {
  it.effect("verifies and claims, and the settlement follows", () =>
    Effect.gen(function* () {
      const { facilitator, stub } = yield* open()
      const request = yield* pay()
      const taken = yield* facilitator.claim(request, claim("one"))
      assert.deepInclude(taken, { status: "accepted", execution: "granted", transaction: "" })
      assert.strictEqual((yield* facilitator.claim(request, claim("two"))).execution, "held")
      assert.strictEqual((yield* facilitator.claim(request, claim("one"))).execution, "granted")
      assert.deepInclude(yield* facilitator.settle(request, claim("one")), { ...settled, transaction: "tx-1" })
      assert.deepStrictEqual(
        stub.seen.map(({ url }) => url),
        ["/supported", "/verify", "/settle"]
      )
    })
  )

  it.effect("holds the copies that arrive while the first is verified, and has no record of one that is refused", () =>
    Effect.gen(function* () {
      const { facilitator, stub } = yield* open()
      const request = yield* pay()
      const gate = Deferred.makeUnsafe<void>()
      const asked = Deferred.makeUnsafe<void>()
      stub.verifies.push((response) => {
        Deferred.doneUnsafe(asked, Effect.void)
        const refusal = { isValid: false, invalidReason: "invalid_exact_evm_signature" }
        ForeignStub.waits(gate)(response, () => refusal)
      })
      const first = yield* Effect.forkChild(Effect.result(facilitator.claim(request, claim("one"))))
      yield* Deferred.await(asked)
      const same = yield* Effect.forkChild(facilitator.claim(request, claim("one")))
      const held = yield* facilitator.claim(request, claim("two"))
      assert.deepInclude(held, { execution: "held", status: "accepted" })
      Deferred.doneUnsafe(gate, Effect.void)
      const refused = yield* Fiber.join(first)
      assert.deepInclude(Result.getOrThrow(Result.flip(refused)), { code: "INVALID_SIGNATURE" })
      assert.strictEqual((yield* Fiber.join(same)).execution, "granted")
      assert.strictEqual(ForeignStub.count(stub, "/verify"), 2)
    })
  )

  it.effect("verifies again what was given back, and gives the run back when that fails", () =>
    Effect.gen(function* () {
      const { facilitator, stub } = yield* open()
      const request = yield* pay()
      const { paymentId } = yield* facilitator.claim(request, claim("one"))
      yield* facilitator.finish(paymentId, claim("one").id, "failed")
      stub.verifies.push(ForeignStub.says({ isValid: false, invalidReason: "insufficient_funds" }))
      assert.deepInclude(yield* failureOf(facilitator.claim(request, claim("two"))), { code: "INSUFFICIENT_BALANCE" })
      assert.strictEqual((yield* facilitator.claim(request, claim("three"))).execution, "granted")
    })
  )

  const open503: Readonly<Record<string, ForeignStub.Deed>> = {
    "a dropped connection": ForeignStub.dropsUndone,
    "status 500": ForeignStub.says({ isValid: true }, 500),
    "a validity with status 400": ForeignStub.says({ isValid: true }, 400),
    "a validity with a reason": ForeignStub.says({ isValid: true, invalidReason: "insufficient_funds" }),
    "a validity of another payer": ForeignStub.says({ isValid: true, payer: "acct-mallory" }),
    "a refusal without a reason": ForeignStub.says({ isValid: false }),
    "an exception": ForeignStub.says({ isValid: false, invalidReason: "unexpected_verify_error" }),
    "another shape": ForeignStub.says({ valid: true })
  }
  for (const [name, deed] of Object.entries(open503)) {
    it.effect(`${name} is no verdict`, () =>
      Effect.gen(function* () {
        const { facilitator, stub } = yield* open()
        stub.verifies.push(deed, deed)
        const request = yield* pay()
        const failure = yield* failureOf(facilitator.claim(request, claim("one")))
        assert.strictEqual(failure._tag, "FacilitatorUnavailable")
        assert.strictEqual((yield* failureOf(facilitator.verify(request)))._tag, "FacilitatorUnavailable")
        assert.strictEqual((yield* facilitator.claim(request, claim("two"))).execution, "granted")
      })
    )
  }
})

describe("verify", () => {
  it.effect("changes nothing, and knows what was settled here", () =>
    Effect.gen(function* () {
      const { facilitator, stub } = yield* open()
      const request = yield* pay()
      assert.deepStrictEqual(yield* facilitator.verify(request), { payer })
      const { paymentId } = yield* facilitator.settle(request, claim("one"))
      assert.deepInclude(yield* failureOf(facilitator.verify(request)), { reason: "already_used" })
      assert.strictEqual(ForeignStub.count(stub, "/verify"), 1)
      assert.deepInclude(yield* facilitator.payment(paymentId), { status: "included", transaction: "tx-1" })
    })
  )

  it.effect("refuses by a word that nobody knows", () =>
    Effect.gen(function* () {
      const { facilitator, stub } = yield* open()
      stub.verifies.push(ForeignStub.says({ isValid: false, invalidReason: "payer_on_list" }, 400))
      const failure = yield* failureOf(facilitator.verify(yield* pay()))
      assert.deepInclude(failure, { reason: "unsupported_authorization", detail: "payer_on_list" })
    })
  )
})

describe("the version that is spoken", () => {
  const sepolia = Network.make("eip155:84532")
  const evm: SchemeServer = {
    ...half,
    network: sepolia,
    scheme: { ...half.scheme, family: "eip155", network: (text) => (text === sepolia ? sepolia : undefined) }
  }
  const v1 = { x402Version: 1, scheme: "exact", network: "base-sepolia" }
  const v2 = { x402Version: 2, scheme: "exact", network: sepolia }
  const spoken = Effect.fnUntraced(function* (...kinds: ReadonlyArray<unknown>) {
    const { facilitator, stub } = yield* open({ schemes: [evm] })
    stub.supported = { kinds }
    const { paymentPayload, paymentRequirements } = yield* pay()
    const answer = yield* facilitator.settle(
      {
        paymentPayload: { ...paymentPayload, network: sepolia },
        paymentRequirements: { ...paymentRequirements, network: sepolia }
      },
      claim("one")
    )
    assert.deepInclude(answer, { ...settled, network: sepolia, transaction: "tx-1" })
    return JSON.parse(stub.seen.at(-1)?.body ?? "")
  })

  it.effect("is 1, with its names of networks, where there is nothing else", () =>
    Effect.gen(function* () {
      const body = yield* spoken(v1)
      const { payload, ...payment } = body.paymentPayload
      assert.strictEqual(body.x402Version, 1)
      assert.deepStrictEqual(payment, { x402Version: 1, scheme: "exact", network: "base-sepolia" })
      assert.strictEqual(payload.payer, payer)
      assert.deepInclude(body.paymentRequirements, {
        network: "base-sepolia",
        maxAmountRequired: "10000",
        resource: requirements.resource,
        description: "",
        mimeType: ""
      })
    })
  )

  it.effect("is 2 where it can be", () =>
    Effect.gen(function* () {
      for (const kinds of [[v1, v2], [v2, v1], [v2]]) {
        const body = yield* spoken(...kinds)
        assert.strictEqual(body.x402Version, 2)
        assert.strictEqual(body.paymentRequirements.network, sepolia)
      }
    })
  )
})

describe("supported", () => {
  it.effect("tells the kinds in our words, and what cannot be sold from here", () =>
    Effect.gen(function* () {
      const { read: _, ...unread } = half
      const { facilitator, stub } = yield* open({ schemes: [unread] })
      stub.supported = {
        kinds: [
          ForeignStub.kind,
          { ...ForeignStub.kind, network: "eip155:1", extra: { feePayer: "x" } },
          { x402Version: 3 }
        ],
        extensions: ["bazaar"],
        signers: { "eip155:*": ["0x1"] }
      }
      const { kinds, signers } = yield* facilitator.supported
      assert.deepStrictEqual(signers, { "eip155:*": ["0x1"] })
      assert.deepStrictEqual(kinds[1], {
        protocolVersion: 2,
        scheme: "exact",
        network: "eip155:1",
        extra: { feePayer: "x" }
      })
      assert.lengthOf(kinds, 2)
      assert.include(kinds[0]?.obstacle, "ledger:test")
      const failure = yield* failureOf(facilitator.settle(yield* pay(), claim("one")))
      assert.deepInclude(failure, { code: "NETWORK_MISMATCH" })
    })
  )

  it.effect("is asked before the first call, until it answers", () =>
    Effect.gen(function* () {
      const { facilitator, stub } = yield* open()
      stub.supported = { error: "starting" }
      const request = yield* pay()
      assert.strictEqual((yield* failureOf(facilitator.settle(request, claim("one"))))._tag, "FacilitatorUnavailable")
      assert.strictEqual(ForeignStub.count(stub, "/settle"), 0)
      stub.supported = { kinds: [] }
      assert.deepInclude(yield* failureOf(facilitator.settle(request, claim("one"))), { code: "NETWORK_MISMATCH" })
    })
  )
})
