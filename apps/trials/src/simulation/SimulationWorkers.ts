/**
 * Simulates many seeds on several threads: each takes the next piece of them when it is done with one.
 */
import { Worker } from "node:worker_threads"

import type { SimulationMutationName } from "./SimulationMutations.ts"
import type { Sweep } from "./SimulationSweep.ts"

/** A piece of the work. */
export interface Piece {
  readonly first: number
  readonly count: number
  readonly mutation: SimulationMutationName | undefined
}

/** All of it: it ends before the last seed where it is not to go on. */
export interface Work extends Piece {
  readonly goesOn: () => boolean
}

/** The number of seeds in a piece. */
const pieceSeeds = 50

/**
 * Simulates a number of seeds from a first one on, on a number of threads, whatever they find. Reports each finished piece.
 */
export const sweep = async (
  { count, mutation, first, goesOn }: Work,
  threads: number,
  told: (done: Sweep) => void
): Promise<void> => {
  let next = first
  const work = async (worker: Worker): Promise<void> => {
    while (next < first + count && goesOn()) {
      const piece: Piece = { first: next, count: Math.min(pieceSeeds, first + count - next), mutation }
      next += piece.count
      // oxlint-disable-next-line no-await-in-loop -- a thread does one piece after another
      const done = await answered(worker, piece)
      told(done)
    }
  }
  const workers = Array.from({ length: threads }, () => new Worker(new URL(thread, import.meta.url)))
  try {
    await Promise.all(workers.map(work))
  } finally {
    await Promise.all(workers.map((worker) => worker.terminate()))
  }
}

const thread = import.meta.url.endsWith(".ts") ? "./SimulationThread.ts" : "./SimulationThread.js"

const answered = (worker: Worker, piece: Piece): Promise<Sweep> =>
  new Promise((resolve, reject) => {
    const ended = (done: Sweep) => {
      worker.off("error", reject)
      resolve(done)
    }
    worker.once("message", ended)
    worker.once("error", reject)
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread's port has no origins
    worker.postMessage(piece)
  })
