import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"

import * as SponsorBudget from "../../src/sending/SponsorBudget.ts"

const loanTo = (payer: string, energy: bigint, caller = ""): SponsorBudget.LoanRequest => ({ payer, caller, energy })

/** Expiry of loans that the tests do not end. */
const never = Number.MAX_SAFE_INTEGER

let loans = 0

/** Makes an allowed loan and ends it. */
const lent = Effect.fnUntraced(function* (
  budget: SponsorBudget.SponsorBudget,
  loan: SponsorBudget.LoanRequest,
  end: SponsorBudget.LoanEnd = "paid"
) {
  const id = `loan-${loans++}`
  assert.isTrue(yield* budget.allows(loan))
  assert.isTrue(yield* budget.lend(id, loan, never))
  yield* budget.end(id, loan, end)
})

describe("SponsorBudget", () => {
  it.effect("keeps the limits of a payment, of a payer and of a day", () =>
    Effect.gen(function* () {
      const limits = {
        maxEnergyPerPayment: 100n,
        maxEnergyPerDay: 250n,
        maxEnergyPerPayer: 200n,
        maxPaymentsPerPayer: 2
      }
      const budget = yield* SponsorBudget.make(limits)
      const allows = (payer: string, energy: bigint) => budget.allows(loanTo(payer, energy))
      assert.isTrue(yield* allows("a", 100n))
      assert.isFalse(yield* allows("a", 101n))
      yield* lent(budget, loanTo("a", 100n))
      yield* lent(budget, loanTo("a", 50n))
      assert.isFalse(yield* allows("a", 1n))
      assert.isTrue(yield* allows("b", 100n))
      yield* lent(budget, loanTo("b", 100n))
      assert.isFalse(yield* allows("c", 1n))
    })
  )

  it.effect("lends one payer a fiftieth of a day's energy by default, and one named caller's a quarter", () =>
    Effect.gen(function* () {
      const budget = yield* SponsorBudget.make({})
      const allows = (payer: string, caller = "") => budget.allows(loanTo(payer, 100_000n, caller))
      yield* lent(budget, loanTo("a", 100_000n))
      assert.isTrue(yield* allows("a"))
      yield* lent(budget, loanTo("a", 100_000n))
      assert.isFalse(yield* allows("a"))
      for (let payer = 0; payer < 25; payer++) yield* lent(budget, loanTo(`shop-${payer}`, 100_000n, "shop"))
      assert.isFalse(yield* allows("other", "shop"))
      assert.isTrue(yield* allows("other", "another shop"))
      for (let payer = 0; payer < 73; payer++) yield* lent(budget, loanTo(`nameless-${payer}`, 100_000n))
      assert.isFalse(yield* allows("other", "another shop"))
    })
  )

  it.effect("forgets loans older than a day", () =>
    Effect.gen(function* () {
      const budget = yield* SponsorBudget.make({
        maxEnergyPerDay: 100n,
        maxEnergyPerPayer: 100n,
        maxPaymentsPerPayer: 1
      })
      yield* lent(budget, loanTo("a", 60n))
      yield* TestClock.adjust("10 millis")
      yield* lent(budget, loanTo("b", 40n))
      yield* TestClock.adjust("86399980 millis")
      assert.isFalse(yield* budget.allows(loanTo("a", 60n)))
      yield* TestClock.adjust("10 millis")
      assert.isTrue(yield* budget.allows(loanTo("a", 60n)))
      assert.isFalse(yield* budget.allows(loanTo("a", 61n)))
      assert.isFalse(yield* budget.allows(loanTo("b", 1n)))
      yield* TestClock.adjust("10 millis")
      assert.isTrue(yield* budget.allows(loanTo("b", 100n)))
    })
  )

  it.effect("bans a payer for a day after a misused loan, and after three unused ones", () =>
    Effect.gen(function* () {
      const budget = yield* SponsorBudget.make({})
      const allows = (payer: string) => budget.allows(loanTo(payer, 10_000n))
      yield* lent(budget, loanTo("thief", 10_000n), "misused")
      assert.isFalse(yield* allows("thief"))
      for (let loan = 0; loan < 3; loan++) {
        assert.isTrue(yield* allows("idler"))
        yield* lent(budget, loanTo("idler", 10_000n), "unused")
        yield* lent(budget, loanTo("unlucky", 10_000n), "cancelled")
      }
      assert.isFalse(yield* allows("idler"))
      assert.isTrue(yield* allows("unlucky"))
      yield* TestClock.adjust("23 hours")
      assert.isFalse(yield* allows("thief"))
      yield* TestClock.adjust("2 hours")
      assert.isTrue(yield* allows("thief"))
    })
  )

  it.effect(
    "lends nothing to newcomers once a fifth of the day is lost, and goes on lending to payers that have paid with a loan",
    () =>
      Effect.gen(function* () {
        const budget = yield* SponsorBudget.make({})
        const allows = (payer: string, caller = "") => budget.allows(loanTo(payer, 100_000n, caller))
        yield* lent(budget, loanTo("regular", 10_000n, "shop"), "paid")
        for (let payer = 0; payer < 10; payer++)
          yield* lent(budget, loanTo(`thief-${payer}`, 100_000n, "shop"), "misused")
        // Half of the permitted loss: this caller's newcomers are refused, another's are not.
        assert.isFalse(yield* allows("newcomer", "shop"))
        assert.isTrue(yield* allows("newcomer", "another shop"))
        for (let payer = 10; payer < 20; payer++) yield* lent(budget, loanTo(`thief-${payer}`, 100_000n), "misused")
        assert.isFalse(yield* allows("newcomer", "another shop"))
        assert.isTrue(yield* allows("regular", "shop"))
      })
  )

  it.effect("refuses invalid limits", () =>
    Effect.gen(function* () {
      for (const limits of [
        { maxEnergyPerPayment: 0n },
        { maxEnergyPerDay: -1n },
        { maxPaymentsPerPayer: 0 },
        { maxEnergyPerPayer: 0n },
        { maxEnergyPerCaller: 0n },
        { maxEnergyLost: 0n }
      ]) {
        assert.strictEqual((yield* Effect.flip(SponsorBudget.make(limits)))._tag, "Misconfigured")
      }
    })
  )
})
