/**
 * Who works which lane, as the shared records say it: looked at from the outside, all the time, so that a trial can tell
 * afterwards who had which lane when.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import type { TrialDatabase } from "./TrialDatabase.ts"

/**
 * A lane's holder at a time: milliseconds of the monotonic clock.
 *
 * @category models
 */
export interface LaneSample {
  readonly at: number
  /** By the signer's address in lower case. */
  readonly owners: ReadonlyMap<string, string>
}

const Row = Schema.Struct({ name: Schema.String, owner: Schema.NullOr(Schema.String) })
const decodeRows = Schema.decodeUnknownSync(Schema.Array(Row))

const pauseMillis = 100

/**
 * Looks now.
 *
 * @category getters
 */
export const sample = (database: TrialDatabase): Effect.Effect<LaneSample> =>
  Effect.map(
    database.run("SELECT name, CASE WHEN until > clock_timestamp() THEN owner END AS owner FROM lane"),
    (rows) => ({
      at: performance.now(),
      owners: new Map(
        decodeRows(rows).flatMap(({ name, owner }) => (owner === null ? [] : [[addressOf(name), owner] as const]))
      )
    })
  )

/** A lane is named after its network and its signer. */
const addressOf = (lane: string): string => lane.slice(lane.indexOf(" ") + 1).toLowerCase()

/**
 * Keeps looking as long as the scope; the samples so far.
 *
 * @category constructors
 */
export const watch = Effect.fnUntraced(function* (database: TrialDatabase) {
  const samples: Array<LaneSample> = []
  const look = Effect.tap(sample(database), (one) => Effect.sync(() => void samples.push(one)))
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(look, Effect.sleep(pauseMillis))))
  const found: ReadonlyArray<LaneSample> = samples
  return found
})

/**
 * Whether a lane was another's for certain at a time: before it and after it somebody else had it.
 *
 * @category guards
 */
export const isAnothers = (samples: ReadonlyArray<LaneSample>, signer: string, owner: string, at: number): boolean => {
  const before = samples.findLast((one) => one.at <= at)
  const after = samples.find((one) => one.at > at)
  const others = [before, after].map((one) => one?.owners.get(signer.toLowerCase()))
  return others.every((found) => found !== undefined && found !== owner)
}
