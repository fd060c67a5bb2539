import { describe, expect, it } from "vitest"

import * as Simulation from "../src/simulation/Simulation.ts"
import { type SimulationMutationName, simulationMutations } from "../src/simulation/SimulationMutations.ts"
import * as SimulationPlan from "../src/simulation/SimulationPlan.ts"
import * as SimulationThemes from "../src/simulation/SimulationThemes.ts"
import * as TrialRandom from "../src/world/TrialRandom.ts"

const plan = (theme: SimulationThemes.ThemeName, seed: number) =>
  SimulationThemes.withTheme(theme, SimulationPlan.draw(seed), TrialRandom.make(`theme test ${seed}`))

const most = 100

/** The first seed of this theme that breaks a promise with the mutation, and none without it. */
const firstOf = async (theme: SimulationThemes.ThemeName, name: SimulationMutationName) => {
  for (let seed = 1; seed <= most; seed++) {
    // oxlint-disable-next-line no-await-in-loop -- the first match ends the loop
    const { violation } = await Simulation.run(plan(theme, seed), { mutation: simulationMutations[name].make() })
    if (violation === undefined) continue
    // oxlint-disable-next-line no-await-in-loop -- the first match ends the loop
    const sound = await Simulation.run(plan(theme, seed))
    return { broken: violation.invariant, sound: sound.violation }
  }
  return undefined
}

/** A test that stands still ends some time, and how long one takes says nothing. */
const patience = 1_800_000

describe("a theme of simulations", () => {
  it.each([
    ["expiry", "expired-at-the-head", "unknown-is-no-end"],
    ["expiry", "noop-is-failure", "unknown-is-no-end"],
    ["answers", "answer-never-owed", "no-false-verdict"],
    ["ceilings", "ceiling-not-judged-again", "gas-is-a-budget"],
    ["counts", "highest-count-believed", "all-ends"],
    ["settings", "signer-forgotten", "all-ends"],
    ["settings", "maximum-obeyed", "all-ends"],
    ["settings", "asset-forgotten", "no-false-verdict"]
  ] as const)(
    "%s shows %s",
    async (theme, name, broken) => {
      expect(await firstOf(theme, name)).toEqual({ broken, sound: undefined })
    },
    patience
  )

  it("is drawn from the seed alone, for some of the seeds", () => {
    const drawn = Array.from({ length: 200 }, (_, place) => SimulationThemes.draw(1 + place))
    expect(drawn).toEqual(Array.from({ length: 200 }, (_, place) => SimulationThemes.draw(1 + place)))
    const themed = drawn.filter((one) => JSON.stringify(one) !== JSON.stringify(SimulationPlan.draw(one.seed)))
    expect(themed.length).toBeGreaterThan(30)
    expect(themed.length).toBeLessThan(100)
  })
})
