/**
 * `npm run trials -- simulate [--seeds n] [--seed n] [--threads n] [--fault name] [--mutations]`: simulates many seeds and tells
 * the shortest story of each promise that was broken; one seed and its whole story; or how soon each fault is found.
 */
import { availableParallelism } from "node:os"

import { invariants } from "./Invariant.ts"
import * as Simulation from "./Simulation.ts"
import * as SimulationFault from "./SimulationFault.ts"
import { type SimulationFaultName, simulationFaultNames, simulationFaults } from "./SimulationFaults.ts"
import * as SimulationPlan from "./SimulationPlan.ts"
import { shrink } from "./SimulationShrink.ts"
import { sweep as sweepHere } from "./SimulationSweep.ts"
import * as SimulationWorkers from "./SimulationWorkers.ts"

export interface Options {
  readonly seeds: number
  /** The first seed; the only one where `seeds` is 1. */
  readonly seed: number
  readonly threads?: number | undefined
  readonly fault?: SimulationFaultName | undefined
  readonly mutations: boolean
  readonly print: (text: string) => void
}

/** So many broken promises are told in full. */
const mostTold = 3

/** Runs it; `true` when every promise was kept, or every fault was found. */
export const run = (options: Options): Promise<boolean> => {
  if (options.mutations) return mutations(options)
  return options.seeds === 1 ? one(options) : many(options)
}

const faultOf = (name: SimulationFaultName | undefined): SimulationFault.SimulationFault =>
  name === undefined ? SimulationFault.none : simulationFaults[name].make()

const one = async ({ fault, print, seed }: Options): Promise<boolean> => {
  const result = await Simulation.run(SimulationPlan.draw(seed), { fault: faultOf(fault), tells: true })
  print(storyOf(result))
  if (result.violation === undefined) return true
  const shortest = await shrink(result, { fault: faultOf(fault) })
  print(storyOf(await Simulation.run(shortest.plan, { fault: faultOf(fault), tells: true })))
  return false
}

const many = async (options: Options): Promise<boolean> => {
  const { fault, print, seed, seeds, threads = Math.max(1, availableParallelism() - 1) } = options
  const begun = performance.now()
  let done = 0
  let steps = 0
  const failed: Array<Simulation.SimulationResult> = []
  await SimulationWorkers.sweep({ first: seed, count: seeds, fault, mostFailed: 50 }, threads, (piece) => {
    done += piece.seeds
    steps += piece.steps
    failed.push(...piece.failed)
    for (const one of piece.failed) print(`seed ${one.plan.seed}: ${one.violation?.invariant}: ${one.violation?.words}`)
  })
  for (const first of firstOfEach(failed).slice(0, mostTold)) {
    // oxlint-disable-next-line no-await-in-loop -- told one after another
    const shortest = await shrink(first, { fault: faultOf(fault) })
    // oxlint-disable-next-line no-await-in-loop -- told one after another
    print(storyOf(await Simulation.run(shortest.plan, { fault: faultOf(fault), tells: true })))
  }
  const seconds = (performance.now() - begun) / 1000
  print(
    `${done} seeds, ${Math.round(steps / Math.max(1, done))} steps each, ${(done / seconds).toFixed(1)} seeds a second on ${threads} threads; ${failed.length} broke a promise`
  )
  return failed.length === 0
}

/** The first of each promise. */
const firstOfEach = (
  failed: ReadonlyArray<Simulation.SimulationResult>
): ReadonlyArray<Simulation.SimulationResult> => {
  const sorted = failed.toSorted((a, b) => a.plan.seed - b.plan.seed)
  return [...new Map(sorted.toReversed().map((one) => [one.violation?.invariant, one])).values()]
}

/** So many seeds are tried for a fault. */
const mostSeeds = 10_000

const mutations = async ({ fault, print, seed }: Options): Promise<boolean> => {
  let isEachFound = true
  for (const name of fault === undefined ? simulationFaultNames : [fault]) {
    const begun = performance.now()
    // oxlint-disable-next-line no-await-in-loop -- each has the machine to itself
    const { failed, seeds } = await sweepUntilFound(seed, () => faultOf(name))
    const found = failed[0]?.violation
    isEachFound &&= found !== undefined
    const seconds = ((performance.now() - begun) / 1000).toFixed(1)
    const words = found === undefined ? "NOT FOUND" : `${found.invariant}: ${found.words}`
    print(`${name.padEnd(32)} ${String(seeds).padStart(6)} seeds ${seconds.padStart(7)} s  ${words}`)
  }
  return isEachFound
}

const sweepUntilFound = async (first: number, make: () => SimulationFault.SimulationFault) => {
  for (let seed = first; seed < first + mostSeeds; seed++) {
    // oxlint-disable-next-line no-await-in-loop -- the first one that is found ends it
    const done = await sweepHere(seed, 1, { fault: make() })
    // A seed that breaks a promise without the fault too says nothing of it.
    // oxlint-disable-next-line no-await-in-loop -- the first one that is found ends it
    const isOwn = done.failed.length > 0 && (await sweepHere(seed, 1)).failed.length === 0
    if (isOwn) return { failed: done.failed, seeds: seed - first + 1 }
  }
  return { failed: [], seeds: mostSeeds }
}

/** The lines of a long story that are told: its beginning and its end. */
const firstLines = 70
const lastLines = 12

const storyOf = ({ digest, plan, story, violation }: Simulation.SimulationResult): string => {
  const left = story.length - firstLines - lastLines
  const lines =
    left <= 0 ? story : [...story.slice(0, firstLines), `       ... ${left} lines more ...`, ...story.slice(-lastLines)]
  const promise = violation === undefined ? "every promise was kept" : `broken: ${invariants[violation.invariant]}`
  return [
    "",
    `seed ${plan.seed}: ${JSON.stringify(plan.setup)}`,
    ...lines.map((line) => line.slice(0, 260)),
    `seed ${plan.seed}, digest ${digest}: ${promise}`,
    violation === undefined ? "" : `        ${violation.words}`
  ].join("\n")
}
