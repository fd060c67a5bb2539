/**
 * The worker of each lane according to the shared records, sampled from the outside all the time, so that a trial can tell
 * afterwards which worker had which lane when.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import type { TrialDatabase } from "../world/TrialDatabase.ts"

/** A lane's holder at a time: milliseconds of the monotonic clock. */
export interface LaneSample {
  readonly at: number
  /** By the signer's address in lower case. */
  readonly owners: ReadonlyMap<string, string>
  /** Until when each holder's leases last: milliseconds since the epoch, by the database's clock. */
  readonly leased: ReadonlyMap<string, number>
}

const Row = Schema.Struct({ name: Schema.String, owner: Schema.NullOr(Schema.String), until: Schema.Number })
const decodeRows = Schema.decodeUnknownSync(Schema.Array(Row))

const pauseMillis = 100
/**
 * Longest time that counts between two samples. After a longer one the watcher or the machine has stood still: who has
 * a lane by now cannot be said to have taken it that late.
 */
const mostBetweenLooks = 2 * pauseMillis

/** Takes a sample now. */
export const sample = (database: TrialDatabase): Effect.Effect<LaneSample> =>
  Effect.map(database.run(question), (answer) => {
    const held = decodeRows(answer).flatMap(({ name, owner, until }) =>
      owner === null ? [] : [{ name, owner, until }]
    )
    return {
      at: performance.now(),
      owners: new Map(held.map(({ name, owner }) => [addressOf(name), owner])),
      leased: new Map(held.toSorted((one, other) => one.until - other.until).map(({ owner, until }) => [owner, until]))
    }
  })

const question = `SELECT name, CASE WHEN until > clock_timestamp() THEN owner END AS owner,
  (extract(epoch FROM until) * 1000)::double precision AS until FROM lane`

/** A lane is named after its network and its signer. */
const addressOf = (lane: string): string => lane.slice(lane.indexOf(" ") + 1).toLowerCase()

/** Keeps looking as long as the scope; the samples so far. */
export const watch = Effect.fnUntraced(function* (database: TrialDatabase) {
  const samples: Array<LaneSample> = []
  const look = Effect.tap(sample(database), (one) => Effect.sync(() => void samples.push(one)))
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(look, Effect.sleep(pauseMillis))))
  const found: ReadonlyArray<LaneSample> = samples
  return found
})

/** A lane whose worker was struck, or was late. */
export interface LaneChange {
  /** The worker before. */
  readonly from: string
  /** The other worker now; `undefined` if the lane has none, or the same again. */
  readonly to: string | undefined
  /** Time without a worker, in milliseconds; infinite if it still has none. */
  readonly idleMillis: number
  /** Whether its worker says nothing any more. */
  readonly isStruck: boolean
}

/**
 * The lanes that lost their workers after a strike. A worker that never prolongs its leases again was struck: its lane was idle
 * since the strike, however long the records still named the worker. A worker that prolongs other leases was too busy for one
 * lane, or gave it away: that lane was idle only from the last sample in which it was still held.
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
    const found = later.findIndex(({ owners }, index) => index >= lost && owners.has(signer))
    const owner = later[found]?.owners.get(signer)
    const isStruck = !isProlonged(from, before, later)
    if (owner === undefined) return [{ from, to: undefined, idleMillis: Number.POSITIVE_INFINITY, isStruck }]
    const times = [struckAt, ...later.slice(0, found + 1).map(({ at }) => at)]
    const idleMillis = timeSeen(isStruck ? times : times.slice(lost))
    return [{ from, to: owner === from ? undefined : owner, idleMillis, isStruck }]
  })

const isProlonged = (owner: string, before: LaneSample, later: ReadonlyArray<LaneSample>): boolean =>
  later.some(({ leased }) => (leased.get(owner) ?? 0) > (before.leased.get(owner) ?? 0))

/** The time that passed while samples were taken. */
const timeSeen = (times: ReadonlyArray<number>): number =>
  times.slice(1).reduce((sum, at, index) => sum + Math.min(at - (times[index] ?? at), mostBetweenLooks), 0)

/** Whether a lane certainly belonged to another worker at a time: the samples before and after both name another. */
export const isAnothers = (samples: ReadonlyArray<LaneSample>, signer: string, owner: string, at: number): boolean => {
  const before = samples.findLast((one) => one.at <= at)
  const after = samples.find((one) => one.at > at)
  const others = [before, after].map((one) => one?.owners.get(signer.toLowerCase()))
  return others.every((found) => found !== undefined && found !== owner)
}
