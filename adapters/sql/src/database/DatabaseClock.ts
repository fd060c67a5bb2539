/**
 * The database's clock, by which everything is dated that several instances judge together: who holds a run and until when,
 * which notice is due, when a state was reached. Each transaction reads it, so that no instance's own clock is believed. An
 * instance whose clock is far from it keeps nothing: it would judge validities, which chains know, by another time than runs.
 */
import { FacilitatorUnavailable } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import { asks, type RecordFault } from "../records/Records.ts"
import type { Run } from "./SqlDialect.ts"

/** The clock, as one process knows it. */
export interface DatabaseClock {
  /** Reads it; Unix milliseconds. `FacilitatorUnavailable` when this process's clock is too far from it. */
  readonly read: (run: Run) => Effect.Effect<number, RecordFault>
  /** What it shows by now, as it was last read against this process's clock. */
  readonly now: Effect.Effect<number>
}

const ask = asks("clock", Schema.Struct({ now: Schema.BigInt }))

const reading = "SELECT CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS BIGINT) AS now"

/** A clock that was not read yet, and may be this far from this process's one: milliseconds. */
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
