/**
 * The database's clock. It dates everything that several instances judge together: the holder of an execution and its
 * lease, due notices, the time of a state. Each transaction reads it, so no instance's own clock matters there.
 *
 * An instance whose own clock is far from it writes nothing: it would judge validities, which chains define, by another
 * time than leases.
 */
import { FacilitatorUnavailable } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import { asks, type RecordFault } from "../records/Records.ts"
import type { Run } from "./SqlDialect.ts"

/** The clock, as one process knows it. */
export interface DatabaseClock {
  /** Reads the clock; Unix milliseconds. `FacilitatorUnavailable` if this process's clock differs too much. */
  readonly read: (run: Run) => Effect.Effect<number, RecordFault>
  /** The present time, derived from the last reading and this process's clock; Unix milliseconds. */
  readonly now: Effect.Effect<number>
}

const ask = asks("clock", Schema.Struct({ now: Schema.BigInt }))

const reading = "SELECT CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS BIGINT) AS now"

/**
 * Makes an unread clock. `clockSkewMillis` is the largest accepted difference from this process's clock, in
 * milliseconds.
 */
export const make = (clockSkewMillis: number): DatabaseClock => {
  let ahead = 0
  return {
    read: Effect.fnUntraced(function* (run) {
      const [row] = yield* ask(run, reading, [])
      const own = yield* Clock.currentTimeMillis
      const now = row === undefined ? own : Number(row.now)
      ahead = now - own
      return Math.abs(ahead) <= clockSkewMillis ? now : yield* apart(ahead, clockSkewMillis)
    }),
    now: Effect.map(Clock.currentTimeMillis, (own) => own + ahead)
  }
}

const apart = (ahead: number, most: number) =>
  new FacilitatorUnavailable({
    message: `the payment records cannot be kept: the clock of the database was expected within ${most / 1000} s of this process's, and is ${Math.round(Math.abs(ahead) / 1000)} s ${ahead > 0 ? "ahead of" : "behind"} it; set both machines' clocks (NTP)`
  })
