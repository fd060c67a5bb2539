/**
 * A thread that simulates the pieces it is given.
 */
import { parentPort } from "node:worker_threads"

import { simulationMutations } from "./SimulationMutations.ts"
import { type Sweep, sweep } from "./SimulationSweep.ts"
import type { Piece } from "./SimulationWorkers.ts"

const answer = async (done: Promise<Sweep>): Promise<void> => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread's port has no origins
  parentPort?.postMessage(await done)
}

parentPort?.on("message", ({ count, mutation, first }: Piece) => {
  const options = mutation === undefined ? {} : { mutation: simulationMutations[mutation].make() }
  void answer(sweep(first, count, options))
})
