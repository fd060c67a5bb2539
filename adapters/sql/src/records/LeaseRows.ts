/**
 * Leases as rows of the table `lane`: the owner of a lane, the expiry, and the epoch that fences the store's writes.
 * All times are the database's, so the instances' clocks do not matter.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import type { Run, Value } from "../database/SqlDialect.ts"
import * as SqlDialect from "../database/SqlDialect.ts"
import { asks, type RecordFault } from "./Records.ts"

/** An instance, and the duration of its leases without a renewal. */
export interface Tenant {
  readonly owner: string
  readonly ttlMillis: number
}

/** The prefix of the name of an instance that keeps a session open for its whole life. */
const staying = "stays."

/** The prefix of its sessions' application name. */
const sessionPrefix = "pontage "

/**
 * The name of an instance and of its sessions. An instance without a permanent session is known by its leases alone.
 */
export const named = (identifier: string, stays: boolean) => {
  const owner = stays ? `${staying}${identifier}` : identifier
  return { owner, applicationName: `${sessionPrefix}${owner}` }
}

/** Epochs by the names of lanes. */
export type Epochs = ReadonlyMap<string, number>

const LeaseRow = Schema.Struct({ name: Schema.String, epoch: Schema.BigInt })
const askLeases = asks("lane", LeaseRow)
const MemberRow = Schema.Struct({ lane: Schema.String, members: Schema.BigInt })
const askMembers = asks("lane_member", MemberRow)

const names = SqlDialect.postgres.isIn("name", "text")
const until = "clock_timestamp() + make_interval(secs => CAST(? AS DOUBLE PRECISION) / 1000)"

/**
 * Whether an instance's sessions are gone: it has died, or it is cut off and the epoch fences it. Only instances with a
 * permanent session, known by the name, are judged so; the others by time alone.
 */
const isGone = (owner: string) =>
  `${owner} LIKE '${staying}%' AND NOT EXISTS (SELECT 1 FROM pg_stat_activity WHERE datname = current_database()
     AND (application_name IS NULL OR application_name = '${sessionPrefix}' || ${owner}))`

/** Sessions of other instances, of any release; the parameter is the name of ours. */
export const others = `SELECT 1 AS other FROM pg_stat_activity WHERE datname = current_database()
  AND (application_name IS NULL OR (application_name LIKE 'pontage%' AND application_name <> ?)) LIMIT 1`

const isFree = `(until <= clock_timestamp() OR (${isGone("owner")}))`

const epochs = (run: Run, text: string, parameters: ReadonlyArray<Value>): Effect.Effect<Epochs, RecordFault> =>
  Effect.map(
    askLeases(run, text, parameters),
    (rows) => new Map(rows.map(({ epoch, name }) => [name, Number(epoch)] as const))
  )

/** Inserts the rows of new lanes, and deletes instances that are long gone. */
export const prepare = (run: Run, lanes: ReadonlyArray<string>) =>
  Effect.andThen(
    run(
      `INSERT INTO lane (name, epoch, until) SELECT v, 0, clock_timestamp()
       FROM json_array_elements_text(?::text::json) AS v ORDER BY v ON CONFLICT (name) DO NOTHING`,
      [JSON.stringify(lanes)]
    ),
    run("DELETE FROM lane_member WHERE until < clock_timestamp() - interval '1 hour'")
  )

/** Registers this instance for these lanes, and returns the number of registered instances for each. */
export const attend = (run: Run, { owner, ttlMillis }: Tenant, lanes: ReadonlyArray<string>) => {
  const list = JSON.stringify(lanes)
  const said = run(
    `INSERT INTO lane_member (lane, owner, until) SELECT v, ?, ${until} FROM json_array_elements_text(?::text::json) AS v
     ON CONFLICT (lane, owner) DO UPDATE SET until = EXCLUDED.until`,
    [owner, `${ttlMillis}`, list]
  )
  return Effect.andThen(said, members(run, lanes))
}

/** The number of instances registered for each lane; lanes without one are absent. */
export const members = (run: Run, lanes: ReadonlyArray<string>) =>
  Effect.map(
    askMembers(
      run,
      `SELECT lane, count(*) AS members FROM lane_member
       WHERE ${SqlDialect.postgres.isIn("lane", "text")} AND until > clock_timestamp()
         AND NOT (${isGone("owner")}) GROUP BY lane`,
      [JSON.stringify(lanes)]
    ),
    (rows): ReadonlyMap<string, number> => new Map(rows.map((row) => [row.lane, Number(row.members)]))
  )

/** Renews the leases that this instance still holds, and returns them. */
export const renew = (run: Run, { owner, ttlMillis }: Tenant, lanes: ReadonlyArray<string>) =>
  epochs(
    run,
    `UPDATE lane SET until = ${until} WHERE owner = ? AND until > clock_timestamp() AND ${names} RETURNING name, epoch`,
    [`${ttlMillis}`, owner, JSON.stringify(lanes)]
  )

/** Takes free lanes, those with the fewest registered instances first. Each take raises the lane's epoch. */
export const take = (run: Run, { owner, ttlMillis }: Tenant, lanes: ReadonlyArray<string>, limit: number) =>
  epochs(
    run,
    `UPDATE lane SET owner = ?, epoch = epoch + 1, until = ${until} WHERE name IN (
       SELECT name FROM lane WHERE ${names} AND ${isFree}
       ORDER BY (SELECT count(*) FROM lane_member m WHERE m.lane = name AND m.until > clock_timestamp()), until, name
       LIMIT ? FOR UPDATE SKIP LOCKED)
     RETURNING name, epoch`,
    [owner, `${ttlMillis}`, JSON.stringify(lanes), BigInt(limit)]
  )

/** Takes lanes that have been free for longer than a lease lasts: no other instance has room for them. */
export const adopt = (run: Run, { owner, ttlMillis }: Tenant, lanes: ReadonlyArray<string>) =>
  epochs(
    run,
    `UPDATE lane SET owner = ?, epoch = epoch + 1, until = ${until} WHERE name IN (
       SELECT name FROM lane
       WHERE ${names} AND until <= clock_timestamp() - make_interval(secs => CAST(? AS DOUBLE PRECISION) / 1000)
       FOR UPDATE SKIP LOCKED)
     RETURNING name, epoch`,
    [owner, `${ttlMillis}`, JSON.stringify(lanes), `${ttlMillis}`]
  )

/** Gives lanes back. */
export const release = (run: Run, { owner }: Tenant, lanes: ReadonlyArray<string>) =>
  run(`UPDATE lane SET owner = NULL, until = clock_timestamp() WHERE owner = ? AND ${names}`, [
    owner,
    JSON.stringify(lanes)
  ])

/** Removes this instance's registration for these lanes. */
export const leave = (run: Run, { owner }: Tenant, lanes: ReadonlyArray<string>) =>
  run(`DELETE FROM lane_member WHERE owner = ? AND ${SqlDialect.postgres.isIn("lane", "text")}`, [
    owner,
    JSON.stringify(lanes)
  ])
