/** Trouble of one payment, of one signer or of one lane, and those beside it. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"

import { Misconfigured } from "../../../src/protocol/ProtocolError.ts"
import type { SchemeFacilitator, SubmitResult } from "../../../src/scheme/SchemeFacilitator.ts"
import * as LedgerShop from "../LedgerShop.ts"

const { claim, endsOf, pay, settleMany } = LedgerShop

/** Payments that leave the queue at once, each in a transaction of its own. */
const together = { batches: { maximum: 10, windowMillis: 50 }, fitting: 1 }

/** A node that never takes what one payer has signed. */
const shunning = (scheme: SchemeFacilitator): SchemeFacilitator => ({
  ...scheme,
  submit: (prepared) =>
    prepared.bytes.includes("acct-mallory")
      ? Effect.succeed<SubmitResult>({ _tag: "Refused", message: "this account has no bandwidth" })
      : scheme.submit(prepared)
})

describe("a look before the batch window", () => {
  it.effect("counts the waiting payments, and does not ask whose turn it is", () =>
    Effect.gen(function* () {
      const turns: Array<number> = []
      const batches = { maximum: 10, windowMillis: 50 }
      const { facilitator, scheme, store } = yield* LedgerShop.open({ batches, leases: LedgerShop.idle })
      const few = yield* settleMany(facilitator, 3)
      yield* TestClock.adjust("1 second")
      yield* LedgerShop.facilitatorOf([scheme], {
        ...store,
        queuedInTurn: (lane, limit, ofPayer) => {
          turns.push(limit)
          return store.queuedInTurn(lane, limit, ofPayer)
        }
      })
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(yield* endsOf(few), ["Success", "Success", "Success"])
      assert.deepStrictEqual(turns, [])
    })
  )
})

describe("a payer whose own transaction is refused", () => {
  it.effect("keeps no other payer from paying", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open({ lanes: [], scheme: shunning })
      ledger.deposit("acct-mallory", 10n ** 9n)
      const bad = yield* Effect.forkDetach(facilitator.settle(yield* pay({ payer: "acct-mallory" }), claim("bad")))
      yield* TestClock.adjust("1 second")
      const fibers = yield* settleMany(facilitator, 3)
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(yield* endsOf(fibers), ["Success", "Success", "Success"])
      yield* Fiber.interrupt(bad)
    })
  )
})

describe("a signer without money for gas", () => {
  it.effect("does not draw the payments that another signer can settle", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open({ lanes: ["signer-1", "signer-2"] })
      ledger.setSignerBalance("signer-1", 0n)
      const ends: Array<string> = []
      for (let round = 0; round < 5; round++) {
        const fibers = yield* settleMany(facilitator, 4, `r${round}-`)
        yield* TestClock.adjust("30 seconds")
        ends.push(...(yield* endsOf(fibers)))
      }
      assert.isAtMost(ends.filter((one) => one === "Failure").length, 2)
    })
  )

  it.effect("lets go of those that wait behind its full lane", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open({
        ...together,
        capacity: 2,
        settleTimeoutMillis: 600_000
      })
      // Its money is taken out after it has been seen.
      const early = yield* settleMany(facilitator, 2, "early")
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(yield* endsOf(early), ["Success", "Success"])
      ledger.setSignerBalance("signer-1", 0n)
      const fibers = yield* settleMany(facilitator, 6)
      yield* TestClock.adjust("5 seconds")
      ledger.setSignerBalance("signer-1", 10n ** 18n)
      yield* TestClock.adjust("30 seconds")
      const ends = yield* endsOf(fibers)
      assert.strictEqual(ends.filter((one) => one === "Failure").length, 4)
      assert.strictEqual(ledger.transfers.length, 2 + 2)
    })
  )
})

describe("a payment that cannot be signed for", () => {
  it.effect("leaves its lane alone", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open({
        ...together,
        scheme: (scheme) => ({
          ...scheme,
          prepare: (payments, slot, chainHead) =>
            payments[0]?.authorization.payer === "acct-mallory"
              ? new Misconfigured({ message: "it does not verify" })
              : scheme.prepare(payments, slot, chainHead)
        })
      })
      ledger.deposit("acct-mallory", 10n ** 9n)
      const bad = yield* Effect.forkDetach(facilitator.settle(yield* pay({ payer: "acct-mallory" }), claim("bad")))
      const fibers = yield* settleMany(facilitator, 3)
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(yield* endsOf([bad, ...fibers]), ["Failure", "Success", "Success", "Success"])
    })
  )
})

describe("a lane that is full", () => {
  it.effect("still lets those go that wait in it too long", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open({ capacity: 1, settleTimeoutMillis: 600_000 })
      ledger.faults.holdBlocks = true
      const first = yield* Effect.forkDetach(facilitator.settle(yield* pay({ validFor: 80 }), claim("a")))
      yield* TestClock.adjust("1 second")
      const late = yield* pay({ validFor: 20 })
      const second = yield* Effect.forkDetach(facilitator.settle(late, claim("b")))
      yield* TestClock.adjust("30 seconds")
      assert.isDefined(second.pollUnsafe())
      const error = yield* Effect.flip(Fiber.join(second))
      assert.strictEqual(error._tag, "FacilitatorUnavailable")
      assert.include(error.message, "does not show yet")
      yield* Fiber.interrupt(first)
      ledger.faults.holdBlocks = false
      yield* TestClock.adjust("1 minute")
      const proven = yield* Effect.flip(facilitator.settle(late, claim("b")))
      assert.strictEqual(proven._tag === "PaymentError" && proven.code, "EXPIRED_PAYMENT")
    })
  )
})

describe("the ceiling of a network", () => {
  it.effect("holds for all its lanes together", () =>
    Effect.gen(function* () {
      const most = 71n * 22n
      const { facilitator, ledger } = yield* LedgerShop.open({
        lanes: ["signer-1", "signer-2", "signer-3", "signer-4"],
        gasCeilings: { total: () => 2n * most }
      })
      ledger.faults.holdBlocks = true
      const fibers = yield* settleMany(facilitator, 12)
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(new Set(ledger.submissions.map(({ id }) => id)).size, 2)
      ledger.faults.holdBlocks = false
      yield* TestClock.adjust("30 seconds")
      assert.strictEqual((yield* endsOf(fibers)).filter((one) => one === "Success").length, 2)
    })
  )
})

describe("a payment that is tried again and again while nothing can be submitted", () => {
  it.effect("leaves no more than a line a second in its record, and is settled once it can be", () =>
    Effect.gen(function* () {
      const { facilitator, ledger, store } = yield* LedgerShop.open()
      ledger.market.ceiling = 1n
      const request = yield* pay()
      for (let second = 0; second < 10; second++) {
        for (let index = 0; index < 50; index++) {
          const error = yield* Effect.flip(facilitator.settle(request, claim(`${second}-${index}`)))
          assert.include(error.message, "more than the 1")
        }
        yield* TestClock.adjust("1 second")
      }
      const [stored] = yield* store.page(0n, 1)
      assert.isAtMost(stored?.history.length ?? Infinity, 20)
      ledger.market.ceiling = 1_000n
      assert.strictEqual((yield* facilitator.settle(request, claim("last"))).status, "included")
    })
  )
})

describe("a batch of which one payment is still open when its block is taken back", () => {
  it.effect("is sent again, and settles all", () =>
    Effect.gen(function* () {
      let hidden = true
      const { facilitator, ledger, store } = yield* LedgerShop.open({
        batches: { maximum: 3, windowMillis: 50 },
        settleTimeoutMillis: 600_000,
        scheme: (scheme) => ({
          ...scheme,
          observe: (observedPayments, attempts) =>
            Effect.map(scheme.observe(observedPayments, attempts), ({ inclusion, observations }) => ({
              inclusion,
              observations: observations.map((one, index) => (hidden && index === 2 ? { _tag: "Pending" } : one))
            }))
        })
      })
      ledger.finality = 100
      const fibers = yield* settleMany(facilitator, 3)
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(ledger.transfers.length, 3)
      ledger.reorganise(10)
      hidden = false
      yield* TestClock.adjust("20 seconds")
      assert.strictEqual(ledger.transfers.length, 3)
      assert.deepStrictEqual(yield* endsOf(fibers), ["Success", "Success", "Success"])
      yield* TestClock.adjust("5 minutes")
      for (const { status } of yield* store.page(0n, 9)) assert.strictEqual(status, "final")
    })
  )
})

describe("closing", () => {
  it.effect("does not wait longer than it was told to", () =>
    Effect.gen(function* () {
      const life = yield* Scope.make()
      const shop = yield* LedgerShop.open()
      shop.ledger.faults.holdBlocks = true
      const facilitator = yield* Scope.provide(
        LedgerShop.facilitatorOf([shop.scheme], shop.store, { drainMillis: 5_000 }),
        life
      )
      const caller = yield* Effect.forkDetach(facilitator.settle(yield* pay(), claim("a")))
      yield* TestClock.adjust("1 second")
      yield* Fiber.interrupt(caller)
      const closing = yield* Effect.forkDetach(Scope.close(life, Exit.void))
      yield* TestClock.adjust("2 seconds")
      yield* TestClock.adjust("10 seconds")
      yield* Fiber.join(closing)
    })
  )
})
