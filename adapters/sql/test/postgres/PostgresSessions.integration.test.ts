import * as PgClient from "@effect/sql-pg/PgClient"
import * as PgConnection from "@effect/sql-pg/PgConnection"
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Reactivity from "effect/reactivity/Reactivity"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"

import * as PostgresSessions from "../../src/postgres/PostgresSessions.ts"
import * as SessionPooling from "../../src/postgres/SessionPooling.ts"
import { PostgresServer } from "../../src/testing/index.ts"
import * as PostgresServers from "../PostgresServers.ts"
import * as TrialPayments from "../TrialPayments.ts"

const { database, instance } = PostgresServers
const { payment } = TrialPayments

/** Runs a statement on a database as its operator. */
const say = (url: Redacted.Redacted, ...statements: ReadonlyArray<string>) =>
  Effect.scoped(
    Effect.gen(function* () {
      const sql = yield* Effect.provide(PgClient.makeClient({ url }), Reactivity.layer)
      return yield* Effect.forEach(statements, (text) => sql.unsafe<Record<string, string>>(text))
    })
  )

const named = (url: Redacted.Redacted, statement: string) =>
  say(url, statement.replaceAll("DB", new URL(Redacted.value(url)).pathname.slice(1)))

const soon = { schedule: Schedule.spaced(50) }

/** Sets a parameter of the server, until the scope closes. */
const setting = (url: Redacted.Redacted, name: string, value: string) => {
  const isSo = (wanted: string) =>
    Effect.retry(
      Effect.flatMap(say(url, `SHOW ${name}`), ([rows]) =>
        rows?.[0]?.[name] === wanted ? Effect.void : Effect.fail("not yet")
      ),
      soon
    )
  return Effect.flatMap(say(url, `SHOW ${name}`), ([rows]) =>
    Effect.acquireRelease(
      Effect.andThen(say(url, `ALTER SYSTEM SET ${name} = ${value}`, "SELECT pg_reload_conf()"), isSo(value)),
      () =>
        Effect.orDie(
          Effect.andThen(
            say(url, `ALTER SYSTEM RESET ${name}`, "SELECT pg_reload_conf()"),
            isSo(rows?.[0]?.[name] ?? "on")
          )
        )
    )
  )
}

/**
 * A pooler in transaction mode over these sessions: each transaction gets a free one, the last or the first that became
 * free.
 */
const pooler = (free: Array<PgConnection.PgConnection>, inTurn: boolean) =>
  Effect.sync(() => {
    let held: PgConnection.PgConnection | undefined
    const query: PgConnection.PgConnection["query"] = (sql, parameters, prepare) => {
      const own = held ?? (inTurn ? free.shift() : free.pop())
      if (own === undefined) return Effect.never
      if (sql === "BEGIN") held = own
      else if (sql === "ROLLBACK") held = undefined
      return Effect.ensuring(
        own.query(sql, parameters, prepare),
        Effect.sync(() => held === undefined && free.push(own))
      )
    }
    return { query }
  })

layer(PostgresServer.layer, { timeout: 900_000, excludeTestServices: true })("sessions on PostgreSQL", (it) => {
  it.effect("are durable on a database, and for a user, that would not wait for the disk", () =>
    Effect.gen(function* () {
      const server = yield* PostgresServer.PostgresServer
      const url = yield* database
      yield* named(url, "ALTER DATABASE DB SET synchronous_commit = off")
      const { store } = yield* instance(url)
      for (const round of ["first", "second"]) {
        const ids = yield* Effect.forEach(
          Array.from({ length: 60 }, (_, index) => payment(`${round}-${index}`)),
          (one) => Effect.as(store.claim(one, undefined), one.paymentId),
          { concurrency: 8 }
        )
        yield* server.stop("immediate")
        yield* server.start
        const found = yield* Effect.forEach(ids, (id) => Effect.retry(store.find(id), soon))
        assert.lengthOf(
          found.filter((one) => one === undefined),
          0
        )
      }
    })
  )

  it.effect("keep a promise that is stronger, and other settings that an operator chose do not reach them", () =>
    Effect.gen(function* () {
      const url = yield* database
      yield* named(url, "ALTER DATABASE DB SET synchronous_commit = remote_apply")
      yield* named(url, "ALTER DATABASE DB SET default_transaction_isolation = serializable")
      yield* named(url, "ALTER DATABASE DB SET statement_timeout = 0")
      const sessions = yield* PostgresSessions.make({ url, maxConnections: 1 })
      const show = (name: string) =>
        Effect.map(
          sessions.transact((session) => session.query(`SHOW ${name}`)),
          ({ rows: [row] }) => row?.[name]
        )
      assert.strictEqual(yield* show("synchronous_commit"), "remote_apply")
      assert.strictEqual(yield* show("transaction_isolation"), "read committed")
      assert.strictEqual(yield* show("statement_timeout"), "10s")
      assert.strictEqual(yield* show("idle_in_transaction_session_timeout"), "3s")
    })
  )

  it.effect("give up a commit that waits for a standby, and the commit waits on", () =>
    Effect.gen(function* () {
      const url = yield* database
      const sessions = yield* PostgresSessions.make({ url, maxConnections: 2 })
      yield* sessions.use((session) => session.query("CREATE TABLE promised (name TEXT)"))
      const promised = Effect.map(
        sessions.use((session) => session.query("SELECT name FROM promised")),
        ({ rows }) => rows
      )
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* setting(url, "synchronous_standby_names", "nobody")
          const error = yield* Effect.flip(
            sessions.transact((session) => session.query("INSERT INTO promised VALUES ('one')"))
          )
          assert.include(String(error), "the database has not answered within")
          // Cancelled, it would be seen though no standby has it.
          assert.lengthOf(yield* promised, 0)
        })
      )
      const arrived = Effect.flatMap(promised, (rows) => (rows.length === 1 ? Effect.void : Effect.fail("not yet")))
      yield* Effect.retry(arrived, soon)
    })
  )

  for (const name of ["fsync", "full_page_writes"]) {
    it.effect(`are refused where ${name} is off, at the start and later`, () =>
      Effect.gen(function* () {
        const url = yield* database
        const { store } = yield* instance(url, { connections: 1 })
        yield* store.probe
        yield* Effect.scoped(
          Effect.gen(function* () {
            yield* setting(url, name, "off")
            const error = yield* Effect.flip(instance(url))
            assert.strictEqual(error._tag, "Misconfigured")
            assert.include(error.message, `${name} of the database was expected to be on, and is off`)
            assert.include(error.message, `set ${name} = on in postgresql.conf and reload it`)
            const later = yield* Effect.flip(store.probe)
            assert.include(later.message, `${name} of the database was expected to be on, and is off`)
          })
        )
        yield* store.probe
        yield* instance(url)
      })
    )
  }

  it.effect("that stand in a transaction that has failed are given up", () =>
    Effect.gen(function* () {
      const sessions = yield* PostgresSessions.make({ url: yield* database, maxConnections: 1 })
      const ask = sessions.use((session) => session.query("SELECT pg_backend_pid() AS pid"))
      const before = yield* ask
      yield* Effect.flip(
        sessions.use((session) => Effect.andThen(session.query("BEGIN"), session.query("SELECT nothing FROM nowhere")))
      )
      yield* Effect.flip(ask)
      const after = yield* ask
      assert.notDeepEqual(before.rows, after.rows)
    })
  )

  it.effect("that have lost their prepared statements undo a transaction all the same", () =>
    Effect.gen(function* () {
      const sessions = yield* PostgresSessions.make({ url: yield* database, maxConnections: 1 })
      const failing = (...statements: ReadonlyArray<string>) =>
        sessions.transact((session) => Effect.forEach(statements, (text) => session.query(text), { discard: true }))
      yield* Effect.flip(failing("SELECT nothing FROM nowhere"))
      yield* Effect.flip(failing("DEALLOCATE ALL", "SELECT nothing FROM nowhere"))
      for (let times = 0; times < 3; times++) yield* failing("SELECT 1")
    })
  )

  for (const [way, inTurn] of [
    ["the one that was free last", false],
    ["the one that was free first", true]
  ] as const) {
    it.effect(`are refused where a pooler gives each transaction ${way}`, () =>
      Effect.gen(function* () {
        const connect = PgConnection.make({ url: yield* database })
        yield* SessionPooling.check(connect)
        for (const count of [1, 2, 3, 5]) {
          const free = yield* Effect.forEach(Array.from({ length: count }), () => connect)
          const error = yield* Effect.flip(SessionPooling.check(pooler(free, inTurn)))
          assert.include(error.message, "pool_mode = session")
        }
      })
    )
  }
})
