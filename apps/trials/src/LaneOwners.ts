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
 * A lane whose worker was struck, or was late.
 *
 * @category models
 */
export interface LaneChange {
  /** Who worked it before. */
  readonly from: string
  /** Who else works it now; `undefined` when nobody does, or the same again. */
  readonly to: string | undefined
  /** How long it was without a worker: milliseconds, for ever if it still is. */
  readonly idleMillis: number
}

/**
 * The lanes that lost their workers after a strike. A lane that another takes was idle since the strike, however long the
 * records still named the one who was struck. Who has it again was never struck, but too busy to prolong its lease: that lane
 * was idle only from the last look at which it was still held.
 *
 * @category getters
 */
export const changes = (
  before: LaneSample,
  samples: ReadonlyArray<LaneSample>,
  struckAt: number
): ReadonlyArray<LaneChange> =>
  [...before.owners].flatMap(([signer, from]): ReadonlyArray<LaneChange> => {
    const later = samples.filter(({ at }) => at > struckAt)
    const lost = later.findIndex(({ owners }) => owners.get(signer) !== from)
    if (lost === -1) return []
    const found = later.slice(lost).find(({ owners }) => owners.has(signer))
    const owner = found?.owners.get(signer)
    if (found === undefined || owner === undefined) {
      return [{ from, to: undefined, idleMillis: Number.POSITIVE_INFINITY }]
    }
    return owner === from
      ? [{ from, to: undefined, idleMillis: found.at - (later[lost - 1]?.at ?? struckAt) }]
      : [{ from, to: owner, idleMillis: found.at - struckAt }]
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
