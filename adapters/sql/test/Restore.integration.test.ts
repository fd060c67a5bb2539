/** A database that is dumped out of one cluster and restored into another one, as `pg_dump` and `pg_restore` do. */
import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Reactivity from "effect/reactivity/Reactivity"
import type * as Redacted from "effect/Redacted"
import * as SqlClient from "effect/sql/SqlClient"

import * as SqlDialect from "../src/database/SqlDialect.ts"
import * as Migrations from "../src/schema/Migrations.ts"
import * as SchemaShape from "../src/schema/SchemaShape.ts"
import * as SchemaUpgrade from "../src/schema/SchemaUpgrade.ts"
import { PostgresServer } from "../src/testing/index.ts"
import * as PostgresServers from "./PostgresServers.ts"
import * as TrialPayments from "./TrialPayments.ts"

const { instance } = PostgresServers
const { lane, payment, prepared } = TrialPayments

const client = (url: Redacted.Redacted) => Effect.provide(PgClient.makeClient({ url }), Reactivity.layer)

const tables = ["pontage_migration", ...SchemaShape.expected(Migrations.all, "pg").tables]

/** All rows of all tables, with the values that the database itself filled in. */
const dump = (url: Redacted.Redacted) =>
  Effect.scoped(
    Effect.flatMap(client(url), (sql) =>
      Effect.forEach(tables, (table) =>
        Effect.map(
          sql.unsafe<{ rows: string }>(`SELECT coalesce(json_agg(t), '[]')::text AS rows FROM ${table} t`),
          ([one]) => [table, one?.rows ?? "[]"] as const
        )
      )
    )
  )

/** Copies the rows into another database and sets its counters behind them. */
const restore = (url: Redacted.Redacted, dumped: ReadonlyArray<readonly [table: string, rows: string]>) =>
  Effect.scoped(
    Effect.gen(function* () {
      const sql = yield* client(url)
      yield* Effect.provideService(SchemaUpgrade.upgrade(SqlDialect.postgres), SqlClient.SqlClient, sql)
      yield* sql.unsafe(`TRUNCATE ${tables.join(", ")}`)
      for (const [table, rows] of dumped) {
        yield* sql.unsafe(
          `INSERT INTO ${table} OVERRIDING SYSTEM VALUE SELECT * FROM json_populate_recordset(NULL::${table}, $1::text::json)`,
          [rows]
        )
      }
      for (const [table, column] of [
        ["payment", "serial"],
        ["notice", "id"]
      ]) {
        yield* sql.unsafe(
          `SELECT setval(pg_get_serial_sequence('${table}', '${column}'), (SELECT max(${column}) FROM ${table}))`
        )
      }
    })
  )

describe("a database that was restored into another cluster", () => {
  it.live("lists every record at once, and its payments go on", () =>
    Effect.gen(function* () {
      const [old, fresh] = yield* Effect.all([PostgresServer.make, PostgresServer.make])
      const from = yield* old.database
      // The old cluster's transaction ids are ahead of the new one's for a long time.
      yield* Effect.scoped(
        Effect.flatMap(client(from), (sql) =>
          sql.unsafe("DO $$ BEGIN FOR i IN 1..5000 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$")
        )
      )
      const names = Array.from({ length: 20 }, (_, index) => `kept-${index}`)
      yield* Effect.scoped(
        Effect.gen(function* () {
          const { store } = yield* instance(from)
          for (const name of names) yield* store.claim({ ...payment(name), notify: true }, undefined, { lane })
        })
      )
      const into = yield* fresh.database
      yield* restore(into, yield* dump(from))
      const { store } = yield* instance(into)
      const listed = Effect.map(store.page(0n, 100), (page) => page.map(({ paymentId }) => paymentId))
      const ids = names.map((name) => `pay_${name}`)
      assert.deepStrictEqual(yield* listed, ids)

      const lease = { lane, epoch: 1, isValid: () => true }
      yield* store.openLane(lease, 0n)
      const [first = ""] = ids
      yield* store.plan(lease, [{ number: 0n, prepared: prepared(0n), paymentIds: [first] }])
      yield* store.record(lease, { changes: [{ paymentId: first, from: ["planned"], to: "included" }] })
      assert.strictEqual((yield* store.find(first))?.status, "included")
      yield* store.claim(payment("new"), undefined)
      assert.deepStrictEqual(yield* listed, [...ids, "pay_new"])
      // Another start changes nothing.
      yield* instance(into)
      assert.deepStrictEqual(yield* listed, [...ids, "pay_new"])
    })
  )
})
