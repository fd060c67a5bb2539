/**
 * Kills that wait for a process at a certain place: a checkpoint, or the instant before or after a write or a sending.
 */
import type { SimulatedProcess } from "./SimulatedProcess.ts"

export interface Strikes {
  /** Has whatever runs at this facilitator's place die at its so-manieth passing from now. */
  readonly set: (facilitator: string, place: string, passing: number, struck: () => void) => void
  readonly pass: (facilitator: string, place: string, process: SimulatedProcess) => void
  readonly clear: () => void
}

/** No strikes yet. */
export const make = (): Strikes => {
  const waiting = new Map<string, { left: number; readonly struck: () => void }>()
  return {
    set: (facilitator, place, passing, struck) =>
      void waiting.set(`${facilitator} ${place}`, { left: passing, struck }),
    pass: (facilitator, place, process) => {
      if (waiting.size === 0) return
      const key = `${facilitator} ${place}`
      const strike = waiting.get(key)
      if (strike === undefined || --strike.left > 0 || !process.isAlive()) return
      waiting.delete(key)
      strike.struck()
      process.kill()
    },
    clear: () => waiting.clear()
  }
}
