/**
 * Brings a database's tables up to date, and refuses one that this program cannot work on. The table
 * `pontage_migration` lists the migrations done; the list is believed only if the tables match it.
 */
import { type FacilitatorUnavailable, Misconfigured } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as SqlClient from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"

import { unavailableBecause } from "../database/Database.ts"
import type { Dialect, Run } from "../database/SqlDialect.ts"
import { asks } from "../records/Records.ts"
import * as Migration from "./Migration.ts"
import * as Migrations from "./Migrations.ts"
import * as SchemaShape from "./SchemaShape.ts"

const log = "pontage_migration"

const LogRow = Schema.Struct({
  migration_id: Schema.Union([Schema.Int, Schema.BigInt]),
  name: Schema.String,
  serves: Schema.Union([Schema.Int, Schema.BigInt])
})
const decodeLog = Schema.decodeUnknownEffect(Schema.Array(LogRow))

/**
 * Runs the missing migrations, by default of all in this release. Repeating it, or running it from several instances at
 * once, is harmless. `Misconfigured` names the reason if the database cannot be used.
 */
export const upgrade = Effect.fnUntraced(function* (
  dialect: Dialect,
  migrations: ReadonlyArray<Migration.Migration> = Migrations.all
): Effect.fn.Return<void, Misconfigured | SqlError, SqlClient.SqlClient> {
  const sql = yield* SqlClient.SqlClient
  yield* sql.withTransaction(steps(sql, dialect, migrations))
})

const steps = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  dialect: Dialect,
  migrations: ReadonlyArray<Migration.Migration>
): Effect.fn.Return<void, Misconfigured | SqlError> {
  const ask = (text: string) => sql.unsafe(text)
  if (dialect.lock !== undefined) {
    // Building an index of many rows takes longer than any statement of the store may; so does waiting for another
    // instance that builds it.
    yield* ask("SET LOCAL statement_timeout = 0")
    yield* sql.unsafe(dialect.text(dialect.lock), [log])
    // A change of tables that waits for a backup would make all others wait behind it.
    yield* ask("SET LOCAL lock_timeout = '5s'")
  }
  const actual = yield* SchemaShape.found(dialect.name, ask)
  const done = yield* logged(ask, actual)
  yield* judge(dialect, migrations, done, actual)
  for (const [place, migration] of migrations.entries()) {
    if (place < done.length) continue
    for (const text of Migration.statements(migration, dialect.name)) yield* ask(text)
    const row = [place + 1, migration.name, migration.serves]
    yield* sql.unsafe(dialect.text(`INSERT INTO ${log} (migration_id, name, serves) VALUES (?, ?, ?)`), row)
  }
})

type Ask = (text: string) => Effect.Effect<ReadonlyArray<unknown>, SqlError>

/** A migration that the database has gone through. */
interface Done {
  readonly number: number
  readonly name: string
  readonly serves: number
}

/** The list of migrations done; created if missing. Releases 0.1 did not write `serves`. */
const logged = Effect.fnUntraced(function* (
  ask: Ask,
  { facts, tables }: SchemaShape.SchemaShape
): Effect.fn.Return<ReadonlyArray<Done>, SqlError> {
  if (!tables.has(log)) {
    yield* ask(`CREATE TABLE ${log} (
      migration_id INTEGER PRIMARY KEY,
      created_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT CURRENT_TIMESTAMP,
      name TEXT NOT NULL,
      serves INTEGER NOT NULL DEFAULT 1
    )`)
    return []
  }
  if (![...facts].some((fact) => fact.startsWith(`column ${log}.serves `))) {
    yield* ask(`ALTER TABLE ${log} ADD COLUMN serves INTEGER NOT NULL DEFAULT 1`)
  }
  const rows = yield* ask(`SELECT migration_id, name, serves FROM ${log} ORDER BY migration_id`)
  return (yield* Effect.orDie(decodeLog(rows))).map(({ migration_id, name, serves }) => ({
    number: Number(migration_id),
    name,
    serves: Number(serves)
  }))
})

/** Checks that the tables still serve this release; a later release may have changed them meanwhile. */
export const isServed = (run: Run): Effect.Effect<void, FacilitatorUnavailable | SqlError> =>
  Effect.flatMap(askServes(run, `SELECT max(serves) AS serves FROM ${log}`, []), ([row]) =>
    row !== undefined && row.serves <= Migrations.all.length
      ? Effect.void
      : Effect.fail(
          unavailableBecause("a later release has changed the tables for its own use: run that release here too")
        )
  )

const askServes = asks(log, Schema.Struct({ serves: Schema.Int }))

const judge = (
  { name: dialect }: Dialect,
  migrations: ReadonlyArray<Migration.Migration>,
  done: ReadonlyArray<Done>,
  actual: SchemaShape.SchemaShape
): Effect.Effect<void, Misconfigured> => {
  const latest = migrations.length
  const known = migrations.slice(0, done.length)
  const strange = done.findIndex(({ name, number }, place) => {
    const own = known[place]
    return number !== place + 1 || (own !== undefined && own.name !== name)
  })
  if (strange !== -1) return refused(strangeStep(migrations, done, strange))
  const serves = Math.max(1, ...done.map((one) => one.serves))
  if (serves > latest) {
    return refused(
      `this release works on tables of schema ${latest}, and found schema ${done.length}, on which only releases from schema ${serves} on can work: start the release that made it, or restore a copy of the database from before the upgrade`
    )
  }
  const wanted = SchemaShape.expected(known, dialect)
  if (done.length === 0) {
    const taken = [...SchemaShape.expected(migrations, dialect).tables].filter((name) => actual.tables.has(name))
    return taken.length === 0
      ? Effect.void
      : refused(
          `an empty database was expected, or one that names its schema in the table ${log}; found was the table ${taken[0]} of some other program: name another database or another schema`
        )
  }
  const unlike = SchemaShape.differences(wanted, actual, done.length > latest ? "allowed" : "refused")
  return unlike.length === 0 ? Effect.void : refused(unlikeTables(Math.min(done.length, latest), unlike))
}

const strangeStep = (
  migrations: ReadonlyArray<Migration.Migration>,
  done: ReadonlyArray<Done>,
  place: number
): string => {
  const { name, number } = done[place] ?? { name: "", number: 0 }
  const own = migrations[place]?.name
  const expected = own === undefined ? `number ${place + 1}` : `number ${place + 1} ("${own}")`
  return `migration ${expected} was expected in the table ${log}, and found was number ${number} ("${name}"): the database was made by a build that is not a release; end its payments with that build, and then begin with an empty database`
}

/** Maximum number of differences that a message names. */
const named = 3

const unlikeTables = (number: number, unlike: ReadonlyArray<string>): string => {
  const rest = unlike.length > named ? `, and ${unlike.length - named} more` : ""
  return `tables of schema ${number} were expected, as the table ${log} says, and found was ${unlike.slice(0, named).join(", ")}${rest}: the database was made by a build that is not a release, or changed by hand; undo the change, or end its payments with that build and then begin with an empty database`
}

const refused = (why: string): Effect.Effect<never, Misconfigured> =>
  Effect.fail(new Misconfigured({ message: `the payment records cannot be used: ${why}` }))
