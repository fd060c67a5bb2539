/**
 * The time that a payment waits for others to share its lane transaction: no longer than the batch window, and no longer than
 * further payments can be expected.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

import type { SchemeFacilitator } from "../../scheme/SchemeFacilitator.ts"

/** The batch window of one lane. Times are Unix milliseconds. */
export interface BatchWindow {
  /** Counts a hint of a payment that has entered the queue. */
  readonly arrived: (now: number) => void
  /**
   * Whether payments go without waiting: one alone after one alone. Where few pay, a further payment is not to be expected.
   */
  readonly isSkippedBy: (queued: number) => boolean
  /**
   * Waits until a transaction is full, or until no further payment is expected: between two looks none has arrived, and there are as
   * many as last time or none has arrived for four intervals. Arrivals are counted by their hints; a lost hint makes the others wait
   * for the whole window.
   */
  readonly wait: Effect.Effect<void>
  /** Notes how many payments were in the queue at the window's end. */
  readonly filled: (count: number) => void
}

interface Arrivals {
  count: number
  firstAt: number
  lastAt: number
}

/** Looks at the arrivals in one window; no timer is shorter than a millisecond. */
const looksAtArrivals = 10

/** After this number of intervals without an arrival no further one is expected. */
const intervalsWaited = 4

/** The window of a lane whose transactions take several payments. */
export const make = ({ maximum, windowMillis }: NonNullable<SchemeFacilitator["batches"]>): BatchWindow => {
  const arrivals: Arrivals = { count: 0, firstAt: 0, lastAt: 0 }
  /** The payments at the end of the last window; 0 before the first. */
  let lastFill = 0
  /** Milliseconds between two arrivals in the last window; `undefined` if fewer than two arrived. */
  let lastInterval: number | undefined
  const looks = Math.max(1, Math.min(looksAtArrivals, Math.floor(windowMillis)))
  /** The intervals of this window and of the last one are judged together: neither alone says much. */
  const isComplete = (now: number): boolean => {
    if (lastFill > 0 && arrivals.count >= lastFill) return true
    const interval = intervalOf(arrivals)
    if (lastInterval === undefined || interval === undefined) return false
    return now - arrivals.lastAt > intervalsWaited * Math.max(lastInterval, interval)
  }
  const untilComplete = Effect.gen(function* () {
    for (let look = 0; look < looks; look++) {
      const { count } = arrivals
      if (count >= maximum) return
      yield* Effect.sleep(Duration.millis(windowMillis / looks))
      if (arrivals.count === count && isComplete(yield* Clock.currentTimeMillis)) return
    }
  })
  return {
    arrived: (now) => {
      if (arrivals.count++ === 0) arrivals.firstAt = now
      arrivals.lastAt = now
    },
    isSkippedBy: (queued) => {
      if (queued !== 1 || lastFill !== 1) return false
      arrivals.count = Math.max(0, arrivals.count - 1)
      return true
    },
    wait: Effect.map(untilComplete, () => {
      lastInterval = intervalOf(arrivals)
      arrivals.count = 0
    }),
    filled: (count) => {
      lastFill = count
    }
  }
}

/** Milliseconds between two arrivals; `undefined` for fewer than two. */
const intervalOf = ({ count, firstAt, lastAt }: Arrivals): number | undefined =>
  count < 2 ? undefined : (lastAt - firstAt) / (count - 1)
