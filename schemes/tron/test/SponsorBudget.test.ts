import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"

import * as SponsorBudget from "../src/SponsorBudget.ts"

const day = 86_400_000

describe("SponsorBudget", () => {
  it.effect("lends for a payment, to a payer and in a day what it may, and no more", () =>
    Effect.gen(function* () {
      const budget = yield* SponsorBudget.make({
        maxEnergyPerPayment: 100n,
        maxEnergyPerDay: 250n,
        maxPaymentsPerPayer: 2
      })
      assert.isTrue(budget.allows("a", 100n, 0))
      assert.isFalse(budget.allows("a", 101n, 0))
      budget.spend("a", 100n, 0)
      budget.spend("a", 50n, 1)
      assert.isFalse(budget.allows("a", 1n, 2))
      assert.isTrue(budget.allows("b", 100n, 2))
      budget.spend("b", 100n, 2)
      assert.isFalse(budget.allows("c", 1n, 3))
    })
  )

  it.effect("forgets what is older than a day", () =>
    Effect.gen(function* () {
      const budget = yield* SponsorBudget.make({ maxEnergyPerDay: 100n, maxPaymentsPerPayer: 1 })
      budget.spend("a", 60n, 0)
      budget.spend("b", 40n, 10)
      assert.isFalse(budget.allows("a", 60n, day - 1))
      assert.isTrue(budget.allows("a", 60n, day))
      assert.isFalse(budget.allows("a", 61n, day))
      assert.isFalse(budget.allows("b", 1n, day))
      assert.isTrue(budget.allows("b", 100n, day + 10))
    })
  )

  it.effect("is not made of limits that are none", () =>
    Effect.gen(function* () {
      for (const limits of [{ maxEnergyPerPayment: 0n }, { maxEnergyPerDay: -1n }, { maxPaymentsPerPayer: 0 }]) {
        assert.strictEqual((yield* Effect.flip(SponsorBudget.make(limits)))._tag, "Misconfigured")
      }
    })
  )
})
