import { describe, expect, it } from "vitest"

import * as Simulation from "../../src/simulation/Simulation.ts"
import { simulationFaults } from "../../src/simulation/SimulationFaults.ts"
import * as SimulationPlan from "../../src/simulation/SimulationPlan.ts"
import { shrink } from "../../src/simulation/SimulationShrink.ts"
import { sweep } from "../../src/simulation/SimulationSweep.ts"

const sweepStories = async (first: number, count: number) => {
  const stories: Array<unknown> = []
  for (let seed = first; seed < first + count; seed++) {
    // oxlint-disable-next-line no-await-in-loop -- one simulation at a time
    const { digest, story } = await Simulation.run(SimulationPlan.draw(seed), { tells: true })
    stories.push({ digest, story })
  }
  return stories
}

const options = () => ({ fault: simulationFaults["claim-always-granted"].make() })

describe("a simulation", () => {
  it("tells the same story twice", async () => {
    expect(await sweepStories(1, 20)).toEqual(await sweepStories(1, 20))
  })

  it("takes the same steps at the same instants twice, told or not", async () => {
    const first = await sweep(1000, 200)
    const second = await sweep(1000, 200, { tells: true })
    expect(second.digest).toBe(first.digest)
    expect(second.steps).toBe(first.steps)
  })

  it("finds a fault, and tells it with fewer acts", async () => {
    const { failed } = await sweep(1, 100, options())
    const found = failed.find(({ violation }) => violation?.invariant === "one-run")
    expect(found).toBeDefined()
    if (found === undefined) return
    const shortest = await shrink(found, options())
    expect(shortest.violation?.invariant).toBe("one-run")
    expect(shortest.plan.acts.length).toBeLessThanOrEqual(found.plan.acts.length)
  })

  it.each([
    ["broadcast-before-persist", "write-first"],
    ["no-receipt-is-failure", "no-false-verdict"],
    ["reorganisation-unseen", "proven-by-transfer"],
    ["claim-always-granted", "one-run"]
  ] as const)("finds %s, and nothing in the same worlds without it", async (name, broken) => {
    const { failed } = await sweep(1, 60, { fault: simulationFaults[name].make() })
    expect(failed.map(({ violation }) => violation?.invariant)).toContain(broken)
    expect((await sweep(1, 60)).failed).toEqual([])
  })
})
