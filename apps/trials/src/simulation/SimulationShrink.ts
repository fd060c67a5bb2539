/**
 * Makes a failing plan shorter: it leaves out what is not needed for the same promise to be broken, until nothing more can be
 * left out.
 */
import type { Violation } from "./Invariant.ts"
import type { SimulationResult } from "./Simulation.ts"
import * as Simulation from "./Simulation.ts"
import type { Setup, SimulationPlan } from "./SimulationPlan.ts"

/** The simplest that each part of a setup can be. */
const simplest: Partial<Setup> = {
  facilitators: 1,
  shops: 1,
  nodes: 1,
  signers: 1,
  batch: 1,
  capacity: 16,
  blockMillis: 1000,
  handlerMillis: 0,
  settleTimeoutMillis: 8000,
  recordsLatency: [0, 0],
  chainLatency: [0, 0],
  callLatency: [0, 0],
  lostWrites: 0,
  isAfterHandler: false,
  gasCeiling: 0,
  shuffles: false
}

/** The shortest plan that was found to break the same promise, with what came out of it. */
export const shrink = async (failed: SimulationResult, options: Simulation.Options): Promise<SimulationResult> => {
  let shortest = failed
  let isShorter = true
  while (isShorter) {
    isShorter = false
    for (const plan of shorterThan(shortest.plan)) {
      // oxlint-disable-next-line no-await-in-loop -- each attempt depends on the one before
      const result = await Simulation.run(plan, { ...options, tells: false })
      if (!isSame(result, failed)) continue
      shortest = result
      isShorter = true
      break
    }
  }
  return shortest
}

/** The same promise, broken in the same words but for names and numbers. */
const isSame = ({ violation }: SimulationResult, { violation: other }: SimulationResult): boolean =>
  violation !== undefined && other !== undefined && patternOf(violation) === patternOf(other)

/** A broken promise without names and numbers: two that have the same one are taken for the same. */
export const patternOf = (violation: Violation | undefined): string =>
  `${violation?.invariant}: ${violation?.words.replaceAll(/pay_\S+|\d+/g, "#").slice(0, 60)}`

function* shorterThan(plan: SimulationPlan): Generator<SimulationPlan> {
  const { acts, purchases, setup } = plan
  for (const act of acts) yield { ...plan, acts: acts.filter((one) => one !== act) }
  if (purchases.length > 1) {
    for (const purchase of purchases) yield { ...plan, purchases: purchases.filter((one) => one !== purchase) }
  }
  for (const [key, value] of Object.entries(simplest)) {
    const simpler = { ...setup, [key]: value }
    if (JSON.stringify(simpler) !== JSON.stringify(setup)) yield { ...plan, setup: simpler }
  }
}
