/**
 * Leases as rows of the table `lane`: who works a lane, until when, and the epoch that fences the store's writes. All times
 * are the database's, so the clocks of the instances do not matter.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import type { Run, Value } from "../database/SqlDialect.ts"
import * as SqlDialect from "../database/SqlDialect.ts"
import { asks, type RecordFault } from "./Records.ts"

/** An instance, and for how long its leases are good without a word from it. */
export interface Tenant {
  readonly owner: string
  readonly ttlMillis: number
}

/** How the name of an instance begins that has a session for as long as it lives. */
const staying = "stays."

/** What its sessions are called, before its name. */
const sessionPrefix = "pontage "

/** The name of an instance, and of its sessions. One whose sessions come and go is known by its leases alone. */
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
 * Whether the sessions of an instance are gone: it has died, or is cut off, and then the epoch keeps it from the lane. Only
 * instances with a session that stays say so by their names; of all others the time alone tells.
 */
const isGone = (owner: string) =>
  `${owner} LIKE '${staying}%' AND NOT EXISTS (SELECT 1 FROM pg_stat_activity WHERE datname = current_database()
     AND (application_name IS NULL OR application_name = '${sessionPrefix}' || ${owner}))`

/** Sessions of other instances, of any release; the parameter is what ours are called. */
export const others = `SELECT 1 AS other FROM pg_stat_activity WHERE datname = current_database()
  AND (application_name IS NULL OR (application_name LIKE 'pontage%' AND application_name <> ?)) LIMIT 1`

const isFree = `(until <= clock_timestamp() OR (${isGone("owner")}))`

const epochs = (run: Run, text: string, parameters: ReadonlyArray<Value>): Effect.Effect<Epochs, RecordFault> =>
  Effect.map(
    askLeases(run, text, parameters),
    (rows) => new Map(rows.map(({ epoch, name }) => [name, Number(epoch)] as const))
  )

/** Makes the rows of lanes nobody has known, and forgets instances that are long gone. */
export const prepare = (run: Run, lanes: ReadonlyArray<string>) =>
  Effect.andThen(
    run(
      `INSERT INTO lane (name, epoch, until) SELECT v, 0, clock_timestamp()
       FROM json_array_elements_text(?::text::json) AS v ORDER BY v ON CONFLICT (name) DO NOTHING`,
      [JSON.stringify(lanes)]
    ),
    run("DELETE FROM lane_member WHERE until < clock_timestamp() - interval '1 hour'")
  )

/** Says that this instance would work these lanes, and how many would work each. */
export const attend = (run: Run, { owner, ttlMillis }: Tenant, lanes: ReadonlyArray<string>) => {
  const list = JSON.stringify(lanes)
  const said = run(
    `INSERT INTO lane_member (lane, owner, until) SELECT v, ?, ${until} FROM json_array_elements_text(?::text::json) AS v
     ON CONFLICT (lane, owner) DO UPDATE SET until = EXCLUDED.until`,
    [owner, `${ttlMillis}`, list]
  )
  return Effect.andThen(said, members(run, lanes))
}

/** How many instances would work each of these lanes; nothing of those that nobody would. */
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

/** Prolongs the leases of these lanes that this instance still has, and says which they are. */
export const renew = (run: Run, { owner, ttlMillis }: Tenant, lanes: ReadonlyArray<string>) =>
  epochs(
    run,
    `UPDATE lane SET until = ${until} WHERE owner = ? AND until > clock_timestamp() AND ${names} RETURNING name, epoch`,
    [`${ttlMillis}`, owner, JSON.stringify(lanes)]
  )

/** Takes free lanes, those first that the fewest others would work. Each take raises the lane's epoch. */
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

/** Takes lanes that have been free for longer than a lease lasts: nobody else has room for them. */
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

/** This instance works these lanes no more. */
export const leave = (run: Run, { owner }: Tenant, lanes: ReadonlyArray<string>) =>
  run(`DELETE FROM lane_member WHERE owner = ? AND ${SqlDialect.postgres.isIn("lane", "text")}`, [
    owner,
    JSON.stringify(lanes)
  ])
