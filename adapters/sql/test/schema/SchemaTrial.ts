/** Databases that a release can or cannot work on, and the messages about them; for both dialects. */
import { assert } from "@effect/vitest"
import type { Misconfigured } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as SqlClient from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"

import type { Dialect } from "../../src/database/SqlDialect.ts"
import { column, type Migration } from "../../src/schema/Migration.ts"
import * as Migrations from "../../src/schema/Migrations.ts"
import * as SchemaShape from "../../src/schema/SchemaShape.ts"
import * as SchemaUpgrade from "../../src/schema/SchemaUpgrade.ts"

type Trial = Effect.Effect<void, void | Misconfigured | SqlError, SqlClient.SqlClient>

const latest = Migrations.all.length

/** Changes that a later release might make. */
const later = (serves: number): Migration => ({
  name: "of a later release",
  serves,
  changes: () => [column("payment", "added", "TEXT"), column("lane", "counted", "BIGINT NOT NULL DEFAULT 0")]
})

const run = (...statements: ReadonlyArray<string>) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.forEach(statements, (text) => sql.unsafe(text), { discard: true })
  )

const refusal = (dialect: Dialect) =>
  Effect.map(Effect.flip(SchemaUpgrade.upgrade(dialect)), (error) => {
    assert.strictEqual(error._tag, "Misconfigured")
    return error.message
  })

/** Each case needs an empty database. */
export const cases = (dialect: Dialect): Readonly<Record<string, Trial>> => ({
  "the tables that migrations make look as they say, after each of them": Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    for (const [place] of Migrations.all.entries()) {
      const some = Migrations.all.slice(0, place + 1)
      yield* SchemaUpgrade.upgrade(dialect, some)
      const actual = yield* SchemaShape.found(dialect.name, (text) => sql.unsafe(text))
      const expected = SchemaShape.expected(some, dialect.name)
      assert.isAbove(expected.facts.size, 60)
      assert.deepStrictEqual(SchemaShape.differences(expected, actual, "refused"), [])
    }
    yield* SchemaUpgrade.upgrade(dialect)
  }),

  "tables of a newer schema are refused, in words": Effect.gen(function* () {
    yield* SchemaUpgrade.upgrade(dialect, [...Migrations.all, later(latest + 1)])
    const message = yield* refusal(dialect)
    assert.include(message, `this release works on tables of schema ${latest}, and found schema ${latest + 1}`)
    assert.include(message, "start the release that made it")
  }),

  "tables of a newer schema that serves this release are worked on": Effect.gen(function* () {
    yield* SchemaUpgrade.upgrade(dialect, [...Migrations.all, later(latest)])
    yield* SchemaUpgrade.upgrade(dialect)
    yield* SchemaUpgrade.upgrade(dialect, [...Migrations.all, later(latest)])
    // Unless they lack what it needs.
    yield* run("ALTER TABLE contract RENAME COLUMN terms TO words")
    assert.include(yield* refusal(dialect), "no column contract.terms TEXT NOT NULL")
  }),

  "a migration that no release has is refused, in words": Effect.gen(function* () {
    yield* SchemaUpgrade.upgrade(dialect)
    yield* run("UPDATE pontage_migration SET name = 'experiment' WHERE migration_id = 1")
    const message = yield* refusal(dialect)
    assert.include(message, `number 1 ("settlement") was expected`)
    assert.include(message, `found was number 1 ("experiment")`)
    yield* run("UPDATE pontage_migration SET name = 'settlement', migration_id = 700 WHERE migration_id = 1")
    assert.include(yield* refusal(dialect), latest === 1 ? `found was number 700 ("settlement")` : "found was number 2")
  }),

  "tables that differ from what their number says are refused, and the difference is named": Effect.gen(function* () {
    yield* SchemaUpgrade.upgrade(dialect)
    const faults = [
      ["ALTER TABLE payment RENAME COLUMN refusal TO objection", "no column payment.refusal TEXT"],
      ["ALTER TABLE payment RENAME COLUMN objection TO refusal"],
      ["DROP INDEX payment_reserving", "no index payment_reserving of payment"],
      ["CREATE INDEX payment_reserving ON payment (network, asset, payer) WHERE active"],
      ["ALTER TABLE lane ADD COLUMN colour TEXT NOT NULL DEFAULT 'red'"],
      ["CREATE UNIQUE INDEX once ON payment (nonce)", "an unknown key payment (nonce)"],
      ["DROP INDEX once"],
      ["ALTER TABLE spending RENAME TO costs", "no column spending.network TEXT NOT NULL"]
    ]
    for (const [statement = "", difference] of faults) {
      yield* run(statement)
      if (difference === undefined) yield* SchemaUpgrade.upgrade(dialect)
      else assert.include(yield* refusal(dialect), difference)
    }
  }),

  "tables of another program are refused, and left as they are": Effect.gen(function* () {
    yield* run("CREATE TABLE notice (headline TEXT)")
    assert.include(yield* refusal(dialect), "the table notice of some other program")
    yield* run("INSERT INTO notice (headline) VALUES ('still there')")
  })
})
