/**
 * Simulates seed after seed.
 */
import * as Simulation from "./Simulation.ts"
import * as SimulationThemes from "./SimulationThemes.ts"

/** The result of many seeds: those that broke a promise, and one digest of all of them. */
export interface Sweep {
  readonly seeds: number
  readonly steps: number
  readonly served: number
  readonly failed: ReadonlyArray<Simulation.SimulationResult>
  readonly digest: string
}

/** Simulates a number of seeds from a first one on; stops after a number of failures. */
export const sweep = async (
  first: number,
  count: number,
  options: Simulation.Options = {},
  mostFailed = Number.POSITIVE_INFINITY
): Promise<Sweep> => {
  const failed: Array<Simulation.SimulationResult> = []
  let steps = 0
  let served = 0
  let seeds = 0
  let digest = 0
  while (seeds < count && failed.length < mostFailed) {
    // oxlint-disable-next-line no-await-in-loop -- one simulation at a time has the machine to itself
    const result = await Simulation.run(SimulationThemes.draw(first + seeds), options)
    seeds++
    steps += result.steps
    served += result.served
    digest = (Math.imul(digest, 31) + Number.parseInt(result.digest.slice(0, 8), 16)) >>> 0
    if (result.violation !== undefined) failed.push(result)
  }
  return { seeds, steps, served, failed, digest: digest.toString(16) }
}
