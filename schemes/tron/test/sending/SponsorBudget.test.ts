import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"

import * as SponsorBudget from "../../src/sending/SponsorBudget.ts"

const lending = (payer: string, energy: bigint, caller = ""): SponsorBudget.Lending => ({ payer, caller, energy })

/** When loans that nobody ends are over: none is in these tests. */
const never = Number.MAX_SAFE_INTEGER

let loans = 0

/** Lends, which is allowed, and has the loan end so. */
const lent = Effect.fnUntraced(function* (
  budget: SponsorBudget.SponsorBudget,
  wish: SponsorBudget.Lending,
  end: SponsorBudget.LoanEnd = "served"
) {
  const id = `loan-${loans++}`
  assert.isTrue(yield* budget.allows(wish))
  assert.isTrue(yield* budget.lend(id, wish, never))
  yield* budget.end(id, wish, end)
})

describe("SponsorBudget", () => {
  it.effect("lends for a payment, to a payer and in a day what it may, and no more", () =>
    Effect.gen(function* () {
      const limits = {
        maxEnergyPerPayment: 100n,
        maxEnergyPerDay: 250n,
        maxEnergyPerPayer: 200n,
        maxPaymentsPerPayer: 2
      }
      const budget = yield* SponsorBudget.make(limits)
      const allows = (payer: string, energy: bigint) => budget.allows(lending(payer, energy))
      assert.isTrue(yield* allows("a", 100n))
      assert.isFalse(yield* allows("a", 101n))
      yield* lent(budget, lending("a", 100n))
      yield* lent(budget, lending("a", 50n))
      assert.isFalse(yield* allows("a", 1n))
      assert.isTrue(yield* allows("b", 100n))
      yield* lent(budget, lending("b", 100n))
      assert.isFalse(yield* allows("c", 1n))
    })
  )

  it.effect("lends one payer a fiftieth of a day's energy by default, and one named caller's a quarter", () =>
    Effect.gen(function* () {
      const budget = yield* SponsorBudget.make({})
      const allows = (payer: string, caller = "") => budget.allows(lending(payer, 100_000n, caller))
      yield* lent(budget, lending("a", 100_000n))
      assert.isTrue(yield* allows("a"))
      yield* lent(budget, lending("a", 100_000n))
      assert.isFalse(yield* allows("a"))
      for (let payer = 0; payer < 25; payer++) yield* lent(budget, lending(`shop-${payer}`, 100_000n, "shop"))
      assert.isFalse(yield* allows("other", "shop"))
      assert.isTrue(yield* allows("other", "another shop"))
      for (let payer = 0; payer < 73; payer++) yield* lent(budget, lending(`nameless-${payer}`, 100_000n))
      assert.isFalse(yield* allows("other", "another shop"))
    })
  )

  it.effect("forgets what is older than a day", () =>
    Effect.gen(function* () {
      const budget = yield* SponsorBudget.make({
        maxEnergyPerDay: 100n,
        maxEnergyPerPayer: 100n,
        maxPaymentsPerPayer: 1
      })
      yield* lent(budget, lending("a", 60n))
      yield* TestClock.adjust("10 millis")
      yield* lent(budget, lending("b", 40n))
      yield* TestClock.adjust("86399980 millis")
      assert.isFalse(yield* budget.allows(lending("a", 60n)))
      yield* TestClock.adjust("10 millis")
      assert.isTrue(yield* budget.allows(lending("a", 60n)))
      assert.isFalse(yield* budget.allows(lending("a", 61n)))
      assert.isFalse(yield* budget.allows(lending("b", 1n)))
      yield* TestClock.adjust("10 millis")
      assert.isTrue(yield* budget.allows(lending("b", 100n)))
    })
  )

  it.effect(
    "lends a payer nothing for a day after a loan that went to something else, and after three that went to nothing",
    () =>
      Effect.gen(function* () {
        const budget = yield* SponsorBudget.make({})
        const allows = (payer: string) => budget.allows(lending(payer, 10_000n))
        yield* lent(budget, lending("thief", 10_000n), "misused")
        assert.isFalse(yield* allows("thief"))
        for (let loan = 0; loan < 3; loan++) {
          assert.isTrue(yield* allows("idler"))
          yield* lent(budget, lending("idler", 10_000n), "idle")
          yield* lent(budget, lending("unlucky", 10_000n), "spared")
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
    "lends newcomers nothing once a fifth of the day is lost, and those who have paid with a loan as before",
    () =>
      Effect.gen(function* () {
        const budget = yield* SponsorBudget.make({})
        const allows = (payer: string, caller = "") => budget.allows(lending(payer, 100_000n, caller))
        yield* lent(budget, lending("regular", 10_000n, "shop"), "served")
        for (let payer = 0; payer < 10; payer++)
          yield* lent(budget, lending(`thief-${payer}`, 100_000n, "shop"), "misused")
        // Half of what may be lost: this caller's newcomers are refused, another's are not.
        assert.isFalse(yield* allows("newcomer", "shop"))
        assert.isTrue(yield* allows("newcomer", "another shop"))
        for (let payer = 10; payer < 20; payer++) yield* lent(budget, lending(`thief-${payer}`, 100_000n), "misused")
        assert.isFalse(yield* allows("newcomer", "another shop"))
        assert.isTrue(yield* allows("regular", "shop"))
      })
  )

  it.effect("is not made of limits that are none", () =>
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
