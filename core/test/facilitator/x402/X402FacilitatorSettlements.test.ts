import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"

import { ChainUnavailable } from "../../../src/protocol/ProtocolError.ts"
import { invalid } from "../../../src/protocol/ValidationError.ts"
import type { SchemeServer, Use } from "../../../src/scheme/SchemeServer.ts"
import { claim, pay, payer, requirements, start } from "../LedgerShop.ts"
import { failureOf, schemeServer, inTime, open, settled } from "../X402FacilitatorShop.ts"
import * as X402FacilitatorStub from "../X402FacilitatorStub.ts"

describe("an outcome that is not known", () => {
  const network = "ledger:test"
  const success = { success: true, transaction: "tx-9", network, payer }
  const lies: Readonly<Record<string, X402FacilitatorStub.Deed>> = {
    "the connection breaks after the transfer": X402FacilitatorStub.drops,
    "status 500": X402FacilitatorStub.doesAndSays({ error: "boom" }, 500),
    "status 400, as some give for whatever they have not foreseen": X402FacilitatorStub.doesAndSays(
      { error: "Invalid request" },
      400
    ),
    "status 422 without a word": X402FacilitatorStub.doesAndSays({ error: "not processed" }, 422),
    "status 502 with a refusal": X402FacilitatorStub.doesAndSays(
      X402FacilitatorStub.refuses("insufficient_funds"),
      502
    ),
    "no JSON": (response, honest) => {
      honest()
      response.end("<html>")
    },
    "too much of it": (response, honest) => {
      honest()
      response.end(JSON.stringify({ ...success, more: "x".repeat(70_000) }))
    },
    "another shape": X402FacilitatorStub.doesAndSays({ ok: true }),
    "a success without a transaction": X402FacilitatorStub.doesAndSays({ ...success, transaction: "" }),
    "a success with more than a transaction's name, which no header holds": X402FacilitatorStub.doesAndSays({
      ...success,
      transaction: "x".repeat(20_000)
    }),
    "a success of another payer": X402FacilitatorStub.doesAndSays({ ...success, payer: "acct-mallory" }),
    "a success on another network": X402FacilitatorStub.doesAndSays({ ...success, network: "eip155:1" }),
    "a success of another amount": X402FacilitatorStub.doesAndSays({ ...success, amount: "1" }),
    "a success with a reason": X402FacilitatorStub.doesAndSays({ ...success, errorReason: "insufficient_funds" }),
    "a success with status 400": X402FacilitatorStub.doesAndSays(success, 400),
    "a refusal without a reason": X402FacilitatorStub.doesAndSays({ success: false, transaction: "", network }),
    "a refusal with a transaction": X402FacilitatorStub.doesAndSays({
      ...X402FacilitatorStub.refuses("insufficient_funds"),
      transaction: "tx-9"
    }),
    "a failure that may have come after sending": X402FacilitatorStub.doesAndSays(
      X402FacilitatorStub.refuses("unexpected_settle_error")
    ),
    "a transaction that failed and has no name": X402FacilitatorStub.doesAndSays(
      X402FacilitatorStub.refuses("invalid_exact_evm_transaction_failed")
    ),
    "a word that nobody knows": X402FacilitatorStub.doesAndSays(X402FacilitatorStub.refuses("confirmation_timed_out")),
    "an exception": X402FacilitatorStub.doesAndSays(X402FacilitatorStub.refuses("Cannot read properties of undefined"))
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
        assert.strictEqual(X402FacilitatorStub.count(stub, "/settle"), 2)
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
        X402FacilitatorStub.drops,
        X402FacilitatorStub.says(X402FacilitatorStub.refuses("insufficient_funds")),
        X402FacilitatorStub.says(X402FacilitatorStub.refuses("invalid_exact_evm_payload_authorization_valid_before")),
        X402FacilitatorStub.says(X402FacilitatorStub.refuses("duplicate_settlement")),
        X402FacilitatorStub.says({ error: "slow down" }, 429)
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
      stub.settles.push(
        X402FacilitatorStub.drops,
        X402FacilitatorStub.says(X402FacilitatorStub.refuses("payment_expired"))
      )
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
      stub.settles.push(X402FacilitatorStub.dropsUndone)
      yield* failureOf(facilitator.settle(request, claim("one")))
      assert.deepInclude(yield* facilitator.settle(request, claim("two")), { ...settled, transaction: "tx-1" })
    })
  )

  it.effect("no response: the caller is told after its patience, and the response that comes later counts", () =>
    Effect.gen(function* () {
      const { facilitator, stub } = yield* open()
      const request = yield* pay()
      const gate = Deferred.makeUnsafe<void>()
      stub.settles.push(X402FacilitatorStub.waits(gate))
      const failure = yield* failureOf(inTime(facilitator.settle(request, claim("one"))))
      assert.strictEqual(failure._tag, "SettlementPending")
      const waiting = yield* Effect.forkChild(facilitator.settle(request, claim("two")))
      yield* Effect.yieldNow
      Deferred.doneUnsafe(gate, Effect.void)
      assert.deepInclude(yield* Fiber.join(waiting), { ...settled, transaction: "tx-1" })
      assert.strictEqual(X402FacilitatorStub.count(stub, "/settle"), 1)
    })
  )

  it.effect("no response at all: the call is given up, and the payment is asked about again", () =>
    Effect.gen(function* () {
      const { facilitator, stub } = yield* open({ settleTimeoutMillis: 40_000 })
      const request = yield* pay()
      stub.settles.push(X402FacilitatorStub.hangs)
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
      const answered = Deferred.makeUnsafe<void>()
      stub.settles.push((response, honest) => {
        Deferred.doneUnsafe(asked, Effect.void)
        response.on("close", () => Deferred.doneUnsafe(answered, Effect.void))
        X402FacilitatorStub.waits(gate)(response, honest)
      })
      const first = yield* Effect.forkChild(facilitator.settle(request, claim("one")))
      yield* Deferred.await(asked)
      yield* Fiber.interrupt(first)
      assert.strictEqual((yield* failureOf(facilitator.settle(request)))._tag, "ValidationError")
      Deferred.doneUnsafe(gate, Effect.void)
      yield* Deferred.await(answered)
      const { execution, transaction } = yield* facilitator.settle(request, claim("two"))
      assert.deepStrictEqual({ execution, transaction }, { execution: "granted", transaction: "tx-1" })
      assert.strictEqual(X402FacilitatorStub.count(stub, "/settle"), 1)
    })
  )
})

const pending = X402FacilitatorStub.says(X402FacilitatorStub.refuses("settlement_pending", { transaction: "tx-7" }))
const reverted = (transaction: string) =>
  X402FacilitatorStub.says(X402FacilitatorStub.refuses("invalid_exact_evm_transaction_failed", { transaction }))
const used = X402FacilitatorStub.says(X402FacilitatorStub.refuses("invalid_exact_evm_nonce_already_used"))

/** Paid by a block at a number of seconds after the start. */
const paid = (seconds: number) =>
  Effect.succeed<Use>({ _tag: "Settled", transaction: "tx-1", time: start / 1000 + seconds })

describe("used, after a call without a response, by what the chain shows:", () => {
  const openWith = Effect.fnUntraced(function* (uses: ReadonlyArray<Effect.Effect<Use, ChainUnavailable>>) {
    const left = [...uses]
    const asked: Array<unknown> = []
    const useOf: NonNullable<SchemeServer["useOf"]> = (offer, payload, since) =>
      Effect.suspend(() => {
        asked.push([offer.payTo, payload, since])
        return left.shift() ?? Effect.die("asked too often")
      })
    const { facilitator, stub } = yield* open({ schemes: [{ ...schemeServer, useOf }] })
    const request = yield* pay()
    stub.settles.push(X402FacilitatorStub.drops)
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
        assert.deepInclude(asked[0], start / 1000 - 30)
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

  it.effect("something else: then it opens no run any more, and nobody is asked about it again", () =>
    Effect.gen(function* () {
      const error = invalid("already_used", "nonce_canceled", "taken back")
      const { facilitator, request, stub } = yield* openWith([Effect.succeed<Use>({ _tag: "Burnt", error })])
      yield* failureOf(facilitator.settle(request, claim("two")))
      const asked = stub.seen.length
      assert.strictEqual(yield* failureOf(facilitator.claim(request, claim("three"))), error)
      assert.strictEqual(yield* failureOf(facilitator.settle(request, claim("four"))), error)
      assert.lengthOf(stub.seen, asked)
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

  const silent: Readonly<Record<string, X402FacilitatorStub.Deed>> = {
    "refuses for what the payment has left behind": X402FacilitatorStub.says(
      X402FacilitatorStub.refuses("insufficient_funds")
    ),
    "refuses for its age": X402FacilitatorStub.says(X402FacilitatorStub.refuses("payment_expired")),
    "knows it for a duplicate": X402FacilitatorStub.says(X402FacilitatorStub.refuses("duplicate_settlement")),
    "turns the call away": X402FacilitatorStub.says({ error: "slow down" }, 429),
    "does not respond again": X402FacilitatorStub.drops
  }
  for (const [name, deed] of Object.entries(silent)) {
    it.effect(`the payment, also when the facilitator ${name}`, () =>
      Effect.gen(function* () {
        const unseen = Effect.succeed<Use>({ _tag: "Unseen" })
        const { facilitator, request, stub } = yield* openWith([unseen, paid(1)])
        stub.settles.push(deed, deed)
        const open503 = yield* failureOf(facilitator.settle(request, claim("two")))
        assert.include(["SettlementPending", "FacilitatorUnavailable"], open503._tag)
        assert.deepInclude(yield* facilitator.settle(request, claim("three")), { ...settled, transaction: "tx-1" })
      })
    )
  }

  it.effect("the very transaction of which the facilitator never learns what became", () =>
    Effect.gen(function* () {
      let looks = 0
      const useOf: NonNullable<SchemeServer["useOf"]> = () => {
        looks++
        return Effect.succeed<Use>({ _tag: "Settled", transaction: "tx-7", time: start / 1000 })
      }
      const { facilitator, stub } = yield* open({ schemes: [{ ...schemeServer, useOf }] })
      stub.settles.push(...Array.from({ length: 20 }, () => pending))
      const answer = yield* inTime(facilitator.settle(yield* pay(), claim("one")))
      assert.deepInclude(answer, { ...settled, transaction: "tx-7" })
      assert.strictEqual(looks, 1, "the chain is looked at when patience ends")
    })
  )

  it.effect("another transaction than the one on its way: that one may have lost against it", () =>
    Effect.gen(function* () {
      const { facilitator, stub } = yield* open({ schemes: [{ ...schemeServer, useOf: () => paid(1) }] })
      stub.settles.push(...Array.from({ length: 20 }, () => pending))
      const failure = yield* failureOf(inTime(facilitator.settle(yield* pay(), claim("one"))))
      assert.deepInclude(failure, { _tag: "SettlementPending", transaction: "tx-7" })
    })
  )

  it.effect("nobody asks about a transaction that lost against another", () =>
    Effect.gen(function* () {
      const { facilitator, stub } = yield* open({ schemes: [{ ...schemeServer, useOf: () => Effect.die("asked") }] })
      stub.settles.push(pending, reverted("tx-7"), used)
      const request = yield* pay()
      const failure = yield* failureOf(inTime(facilitator.settle(request, claim("one"))))
      assert.strictEqual(failure._tag, "FacilitatorUnavailable")
      assert.deepInclude(yield* failureOf(facilitator.settle(request, claim("two"))), { reason: "already_used" })
    })
  )

  it.effect("nobody asks where there was no doubt", () =>
    Effect.gen(function* () {
      const { facilitator, stub } = yield* open({ schemes: [{ ...schemeServer, useOf: () => Effect.die("asked") }] })
      stub.settles.push(X402FacilitatorStub.says(X402FacilitatorStub.refuses("invalid_exact_evm_nonce_already_used")))
      const failure = yield* failureOf(facilitator.settle(yield* pay(), claim("one")))
      assert.deepInclude(failure, { reason: "already_used" })
    })
  )
})

describe("a payment that was certainly not taken", () => {
  for (const status of [301, 401, 402, 403, 404, 413, 429]) {
    it.effect(`status ${status} leaves no doubt: "used already" is then a refusal`, () =>
      Effect.gen(function* () {
        const { facilitator, stub } = yield* open()
        const request = yield* pay()
        stub.settles.push(
          X402FacilitatorStub.says({ error: "no" }, status),
          X402FacilitatorStub.says(X402FacilitatorStub.refuses("invalid_exact_evm_nonce_already_used"))
        )
        const failure = yield* failureOf(facilitator.settle(request, claim("one")))
        assert.strictEqual(failure._tag, "FacilitatorUnavailable")
        assert.deepInclude(yield* failureOf(facilitator.settle(request, claim("two"))), { reason: "already_used" })
      })
    )
  }

  it.effect("a facilitator that does not run leaves no doubt", () =>
    Effect.gen(function* () {
      const gone = yield* Effect.scoped(Effect.map(X402FacilitatorStub.make(), ({ url }) => url))
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
      stub.settles.push(X402FacilitatorStub.says(X402FacilitatorStub.refuses("invalid_exact_evm_nonce_already_used")))
      assert.deepInclude(yield* failureOf(facilitator.settle(request, claim("two"))), { reason: "already_used" })
    })
  )

  it.effect("neither does a duplicate that it has from somebody else", () =>
    Effect.gen(function* () {
      const { facilitator, stub } = yield* open()
      const request = yield* pay()
      stub.settles.push(
        X402FacilitatorStub.says(X402FacilitatorStub.refuses("duplicate_settlement")),
        X402FacilitatorStub.says(X402FacilitatorStub.refuses("invalid_exact_evm_nonce_already_used"))
      )
      assert.strictEqual((yield* failureOf(facilitator.settle(request, claim("one"))))._tag, "FacilitatorUnavailable")
      assert.deepInclude(yield* failureOf(facilitator.settle(request, claim("two"))), { reason: "already_used" })
    })
  )
})

describe("a transaction without an outcome", () => {
  it.effect("is asked about again, with a pause, until there is one", () =>
    Effect.gen(function* () {
      const { facilitator, stub } = yield* open()
      stub.settles.push(pending, pending)
      const answer = yield* inTime(facilitator.settle(yield* pay(), claim("one")))
      assert.deepInclude(answer, { ...settled, transaction: "tx-1" })
      assert.strictEqual(X402FacilitatorStub.count(stub, "/settle"), 3)
    })
  )

  it.effect("is not asked about for longer than our patience; its name is kept", () =>
    Effect.gen(function* () {
      const { facilitator, stub } = yield* open()
      for (let index = 0; index < 30; index++) stub.settles.push(pending)
      const request = yield* pay()
      const failure = yield* failureOf(inTime(facilitator.settle(request, claim("one"))))
      assert.deepInclude(failure, { _tag: "SettlementPending", status: "sent", transaction: "tx-7" })
      assert.isBelow(X402FacilitatorStub.count(stub, "/settle"), 14)
      const asked = X402FacilitatorStub.count(stub, "/settle")
      assert.isAbove(asked, 5)
      yield* inTime(Effect.sleep("20 seconds"))
      assert.strictEqual(X402FacilitatorStub.count(stub, "/settle"), asked)
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
      stub.settles.push(X402FacilitatorStub.drops, reverted("tx-8"))
      yield* failureOf(facilitator.settle(request, claim("one")))
      assert.strictEqual((yield* failureOf(facilitator.settle(request, claim("two"))))._tag, "SettlementPending")
      assert.deepInclude(yield* facilitator.settle(request, claim("three")), { ...settled, transaction: "" })
    })
  )

  it.effect("is still open when another one is named, and only that one has failed", () =>
    Effect.gen(function* () {
      const { facilitator, stub } = yield* open()
      const request = yield* pay()
      const other = X402FacilitatorStub.says(X402FacilitatorStub.refuses("settlement_pending", { transaction: "tx-8" }))
      stub.settles.push(pending, other, reverted("tx-8"), used)
      assert.strictEqual(
        (yield* failureOf(inTime(facilitator.settle(request, claim("one")))))._tag,
        "SettlementPending"
      )
      assert.deepInclude(yield* facilitator.settle(request, claim("two")), { ...settled, transaction: "" })
    })
  )

  it.effect("is still open when another one has failed", () =>
    Effect.gen(function* () {
      const { facilitator, stub } = yield* open()
      stub.settles.push(pending, reverted("tx-8"), used)
      const request = yield* pay()
      const failure = yield* failureOf(inTime(facilitator.settle(request, claim("one"))))
      assert.deepInclude(failure, { _tag: "SettlementPending", transaction: "tx-7" })
      assert.deepInclude(yield* facilitator.settle(request, claim("two")), { ...settled, transaction: "tx-7" })
    })
  )

  it.effect("may be called failed by a peer that could not note it down", () =>
    Effect.gen(function* () {
      const { facilitator, stub } = yield* open()
      const request = yield* pay()
      const errorMessage = "settlement_pending, but failed to persist for retry: no store"
      const failed = X402FacilitatorStub.refuses("invalid_exact_evm_transaction_failed", {
        transaction: "tx-7",
        errorMessage
      })
      stub.settles.push(X402FacilitatorStub.says(failed), used)
      const answer = yield* inTime(facilitator.settle(request, claim("one")))
      assert.deepInclude(answer, { ...settled, transaction: "tx-7" })
    })
  )
})
