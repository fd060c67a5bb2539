/**
 * A process that simulates seed after seed on the modelled EVM chain until one breaks a promise, with whatever mutation its source
 * was loaded with, and tells its parent. Configurations stay as they are: these faults are none of theirs.
 */
import * as Simulation from "../Simulation.ts"
import * as SimulationPlan from "../SimulationPlan.ts"

const [first = 1, most = 1] = process.argv.slice(2).map(Number)

const search = async () => {
  for (let seed = first; seed < first + most; seed++) {
    const drawn = SimulationPlan.onEvm(SimulationPlan.draw(seed))
    const plan = { ...drawn, acts: drawn.acts.filter(({ _tag }) => _tag !== "Configure") }
    // oxlint-disable-next-line no-await-in-loop -- the first match ends the loop
    const { violation } = await Simulation.run(plan)
    if (violation !== undefined) {
      return { seeds: seed - first + 1, broken: `${violation.invariant}: ${violation.words}` }
    }
  }
  return { seeds: most }
}

process.send?.(await search())
process.disconnect?.()
