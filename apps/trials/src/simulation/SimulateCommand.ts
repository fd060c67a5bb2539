/**
 * `npm run trials -- simulate [--seeds n] [--from n] [--minutes n] [--seed n] [--threads n] [--mutation name] [--mutations]`: simulates
 * many seeds, for as long as it is asked to, and tells the shortest story of each promise that was broken; one seed and its whole
 * story; or how soon each mutation is found.
 */
import { availableParallelism } from "node:os"

import { evmSourceMutationNames, search } from "./evm/EvmSourceMutations.ts"
import { invariants } from "./Invariant.ts"
import * as Simulation from "./Simulation.ts"
import * as SimulationMutation from "./SimulationMutation.ts"
import { type SimulationMutationName, simulationMutationNames, simulationMutations } from "./SimulationMutations.ts"
import { patternOf, shrink } from "./SimulationShrink.ts"
import { sweep as sweepHere } from "./SimulationSweep.ts"
import * as SimulationThemes from "./SimulationThemes.ts"
import * as SimulationWorkers from "./SimulationWorkers.ts"

export interface Options {
  /** The number of seeds, or with `minutes` all that the time allows. */
  readonly seeds: number
  /** The first seed; the only one where `seeds` is 1. */
  readonly seed: number
  readonly minutes?: number | undefined
  readonly threads?: number | undefined
  readonly mutation?: SimulationMutationName | undefined
  readonly mutations: boolean
  readonly print: (text: string) => void
}

/** Runs it; `true` when every promise was kept, or every mutation was found. */
export const run = (options: Options): Promise<boolean> => {
  if (options.mutations) return mutations(options)
  return options.seeds === 1 ? one(options) : many(options)
}

const mutationOf = (name: SimulationMutationName | undefined): SimulationMutation.SimulationMutation =>
  name === undefined ? SimulationMutation.none : simulationMutations[name].make()

const one = async ({ mutation, print, seed }: Options): Promise<boolean> => {
  const result = await Simulation.run(SimulationThemes.draw(seed), { mutation: mutationOf(mutation), tells: true })
  print(storyOf(result))
  if (result.violation === undefined) return true
  const shortest = await shrink(result, { mutation: mutationOf(mutation) })
  print(storyOf(await Simulation.run(shortest.plan, { mutation: mutationOf(mutation), tells: true })))
  return false
}

/** Between lines that say how far it is, in milliseconds. */
const progressMillis = 60_000
/** A run that finds more than this is not told each in full. */
const mostTold = 20

const many = async (options: Options): Promise<boolean> => {
  const { mutation, minutes, print, seed, seeds, threads = Math.max(1, availableParallelism() - 1) } = options
  const begun = performance.now()
  const count = { done: 0, steps: 0, failed: 0, toldAt: begun }
  const figures = () => {
    const rate = (count.done / ((performance.now() - begun) / 1000)).toFixed(1)
    return `${count.done} seeds from ${seed} on, ${rate} seeds a second on ${threads} threads, ${count.failed} findings`
  }
  const known = new Set<string>()
  let telling = Promise.resolve()
  const piece: SimulationWorkers.Work = {
    first: seed,
    count: seeds,
    mutation,
    goesOn: () => minutes === undefined || performance.now() - begun < minutes * 60_000
  }
  await SimulationWorkers.sweep(piece, threads, ({ failed, seeds: done, steps }) => {
    count.done += done
    count.steps += steps
    count.failed += failed.length
    for (const one of failed) {
      print(`seed ${one.plan.seed}: ${one.violation?.invariant}: ${one.violation?.words}`)
      const pattern = patternOf(one.violation)
      if (known.has(pattern) || known.size >= mostTold) continue
      known.add(pattern)
      telling = telling.then(() => tell(options, one))
    }
    if (performance.now() - count.toldAt < progressMillis) return
    count.toldAt = performance.now()
    print(figures())
  })
  await telling
  print(`${figures()}, ${Math.round(count.steps / Math.max(1, count.done))} steps each`)
  return count.failed === 0
}

/** Its shortest story; the others go on meanwhile. */
const tell = async ({ mutation, print }: Options, failed: Simulation.SimulationResult): Promise<void> => {
  const shortest = await shrink(failed, { mutation: mutationOf(mutation) })
  print(storyOf(await Simulation.run(shortest.plan, { mutation: mutationOf(mutation), tells: true })))
}

/** The number of seeds that are tried for a mutation. */
const mostSeeds = 10_000

const mutations = async ({ mutation, print, seed }: Options): Promise<boolean> => {
  let isEachFound = true
  const row = (name: string, seeds: number, begun: number, found: string | undefined) => {
    isEachFound &&= found !== undefined
    const seconds = ((performance.now() - begun) / 1000).toFixed(1)
    print(`| ${name.padEnd(26)} | ${String(seeds).padStart(6)} | ${seconds.padStart(7)} | ${found ?? "NOT FOUND"} |`)
  }
  print("| mutation                      |  seeds | seconds | broken |\n| --- | ---: | ---: | --- |")
  for (const name of mutation === undefined ? simulationMutationNames : [mutation]) {
    const begun = performance.now()
    // oxlint-disable-next-line no-await-in-loop -- runs one at a time, so that each has the machine to itself
    const { failed, seeds } = await sweepUntilFound(seed, () => mutationOf(name))
    const found = failed[0]?.violation
    row(name, seeds, begun, found && `${found.invariant}: ${found.words}`)
  }
  for (const name of mutation === undefined ? evmSourceMutationNames : []) {
    const begun = performance.now()
    // oxlint-disable-next-line no-await-in-loop -- runs one at a time, so that each has the machine to itself
    const { broken, seeds } = await search(name, seed, mostSeeds)
    row(name, seeds, begun, broken)
  }
  return isEachFound
}

const sweepUntilFound = async (first: number, make: () => SimulationMutation.SimulationMutation) => {
  for (let seed = first; seed < first + mostSeeds; seed++) {
    // oxlint-disable-next-line no-await-in-loop -- the first match ends the loop
    const done = await sweepHere(seed, 1, { mutation: make() })
    // A seed that breaks a promise without the mutation too says nothing of it.
    // oxlint-disable-next-line no-await-in-loop -- the first match ends the loop
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
