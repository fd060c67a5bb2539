/**
 * Simulates many seeds on several threads: each takes the next piece of them when it is done with one.
 */
import { Worker } from "node:worker_threads"

import type { SimulationFaultName } from "./SimulationFaults.ts"
import type { Sweep } from "./SimulationSweep.ts"

/** A piece of the work. */
export interface Piece {
  readonly first: number
  readonly count: number
  readonly fault: SimulationFaultName | undefined
  /** It ends after so many failures. */
  readonly mostFailed: number
}

/** So many seeds are a piece. */
const pieceSeeds = 200

/**
 * Simulates so many seeds from this one on, on so many threads; stops when a thread has found so many failures. Told of each
 * piece that is done.
 */
export const sweep = async (
  { count, fault, first, mostFailed }: Piece,
  threads: number,
  told: (done: Sweep) => void
): Promise<void> => {
  let next = first
  let failures = 0
  const work = async (worker: Worker): Promise<void> => {
    while (next < first + count && failures < mostFailed) {
      const piece: Piece = { first: next, count: Math.min(pieceSeeds, first + count - next), fault, mostFailed }
      next += piece.count
      // oxlint-disable-next-line no-await-in-loop -- a thread does one piece after another
      const done = await answered(worker, piece)
      failures += done.failed.length
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
