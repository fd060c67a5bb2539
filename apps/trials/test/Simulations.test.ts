import { describe, expect, it } from "vitest"

import { sweep } from "../src/simulation/SimulationSweep.ts"

/** Seeds in one test: a test that stands still ends some time, and its duration says nothing. */
const share = 250
const patience = 1_800_000

describe("2,000 simulated worlds keep every promise", () => {
  it.each(Array.from({ length: 2000 / share }, (_, place) => 1 + place * share))(
    "from seed %d on",
    async (first) => {
      const { failed, seeds } = await sweep(first, share)
      expect(failed.map(({ plan, violation }) => `seed ${plan.seed}: ${violation?.words}`)).toEqual([])
      expect(seeds).toBe(share)
    },
    patience
  )
})
