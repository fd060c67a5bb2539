import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, layer } from "@effect/vitest"
import { Entropy, type PaymentStore } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Reactivity from "effect/reactivity/Reactivity"
import * as Redacted from "effect/Redacted"

import { PostgresServer } from "../../src/testing/index.ts"
import * as PostgresServers from "../PostgresServers.ts"
import * as TrialPayments from "../TrialPayments.ts"

const { database, instance, newName } = PostgresServers
const { payment } = TrialPayments

type Store = PaymentStore.PaymentStore["Service"]

const client = (url: Redacted.Redacted) =>
  Effect.provide(PgClient.makeClient({ url, applicationName: "trial" }), Reactivity.layer)

/** An operator of a database, with sessions on it and on another database of the same server. */
const operator = Effect.fnUntraced(function* (url: Redacted.Redacted) {
  const name = new URL(Redacted.value(url)).pathname.slice(1)
  const outside = new URL(Redacted.value(url))
  outside.pathname = "/postgres"
  const inside = yield* client(url)
  const beside = yield* client(Redacted.make(outside.href))
  return {
    say: (text: string) => inside.unsafe(text),
    command: (text: string) => beside.unsafe(text.replaceAll("DB", name)),
    cutOff: beside.unsafe(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1 AND application_name LIKE 'pontage%'",
      [name]
    )
  }
})

/** The result of the probe and of a claim, once the cut sessions are replaced. */
const troubles = Effect.fnUntraced(function* (store: Store) {
  yield* Effect.ignore(store.probe)
  yield* Effect.ignore(store.probe)
  const probed = yield* Effect.flip(store.probe)
  const claimed = yield* Effect.flip(store.claim(payment("in-trouble"), undefined))
  assert.strictEqual(probed._tag, "FacilitatorUnavailable")
  return [probed.message, claimed.message]
})

const areWell = Effect.fnUntraced(function* (store: Store) {
  yield* Effect.ignore(store.probe)
  yield* Effect.ignore(store.probe)
  yield* store.probe
  yield* store.claim(payment("well"), undefined)
})

const alone = { connections: 1, listens: false }

layer(PostgresServer.layer, { timeout: 900_000, excludeTestServices: true })(
  "a PostgreSQL database in trouble",
  (it) => {
    it.effect("that is read-only is told as that, and works again", () =>
      Effect.gen(function* () {
        const url = yield* database
        const { store } = yield* instance(url, alone)
        yield* areWell(store)
        const { command, cutOff } = yield* operator(url)
        yield* command("ALTER DATABASE DB SET default_transaction_read_only = on")
        yield* cutOff
        for (const message of yield* troubles(store)) {
          assert.include(message, "the database is read-only: let the URL name the primary")
        }
        // Records can still be read.
        assert.strictEqual((yield* store.find("pay_well"))?.status, "accepted")
        yield* command("ALTER DATABASE DB SET default_transaction_read_only = off")
        yield* cutOff
        yield* areWell(store)
      })
    )

    it.effect("whose disk is full is told as that, and works again", () =>
      Effect.gen(function* () {
        const url = yield* database
        const { store } = yield* instance(url, alone)
        const { say } = yield* operator(url)
        yield* say(
          "CREATE FUNCTION full_disk() RETURNS trigger AS 'BEGIN RAISE SQLSTATE ''53100''; END' LANGUAGE plpgsql"
        )
        for (const table of ["payment", "probe"]) {
          yield* say(`CREATE TRIGGER full_disk BEFORE INSERT ON ${table} EXECUTE FUNCTION full_disk()`)
        }
        for (const message of yield* troubles(store)) {
          assert.include(message, "the disk is full: make room on the disk of the database (53100)")
        }
        yield* say("DROP FUNCTION full_disk CASCADE")
        yield* areWell(store)
      })
    )

    it.effect("without room for connections is told as that, and works again", () =>
      Effect.gen(function* () {
        const url = yield* database
        const { command, cutOff, say } = yield* operator(url)
        const name = `user_${Buffer.from((yield* Entropy.Entropy).bytes(6)).toString("hex")}`
        const password = yield* newName
        yield* command(`CREATE ROLE ${name} LOGIN PASSWORD '${password}'`)
        yield* say(`GRANT CREATE ON SCHEMA public TO ${name}`)
        const own = new URL(Redacted.value(url))
        own.username = name
        own.password = password
        const { store } = yield* instance(Redacted.make(own.href), alone)
        yield* areWell(store)
        yield* command(`ALTER ROLE ${name} CONNECTION LIMIT 0`)
        yield* cutOff
        for (const message of yield* troubles(store)) {
          assert.include(message, "the database has no room for connections: raise max_connections")
          assert.notInclude(message, password)
        }
        yield* command(`ALTER ROLE ${name} CONNECTION LIMIT -1`)
        yield* areWell(store)
      })
    )

    it.effect("whose tables a later release has made its own is not ready any more", () =>
      Effect.gen(function* () {
        const url = yield* database
        const { store } = yield* instance(url, alone)
        const { say } = yield* operator(url)
        yield* say("INSERT INTO pontage_migration (migration_id, name, serves) VALUES (900, 'a breach', 900)")
        assert.include(
          (yield* Effect.flip(store.probe)).message,
          "a later release has changed the tables for its own use"
        )
      })
    )

    it.effect("whose tables a crash would empty is refused", () =>
      Effect.gen(function* () {
        const url = yield* database
        yield* Effect.scoped(instance(url, alone))
        const { say } = yield* operator(url)
        yield* say("ALTER TABLE spending SET UNLOGGED")
        const error = yield* Effect.flip(instance(url, alone))
        assert.strictEqual(error._tag, "Misconfigured")
        assert.include(error.message, "no table spending that outlives a crash")
      })
    )

    it.effect("of which a backup is being made is ready, and so it is for many who probe at once", () =>
      Effect.gen(function* () {
        const url = yield* database
        const { store } = yield* instance(url, { connections: 8, listens: false })
        const backup = yield* client(url)
        yield* backup.withTransaction(
          Effect.gen(function* () {
            yield* backup.unsafe("LOCK TABLE probe IN ACCESS SHARE MODE")
            yield* store.probe
            yield* Effect.all(
              Array.from({ length: 12 }, () => store.probe),
              { concurrency: "unbounded" }
            )
          })
        )
        const size = "SELECT pg_relation_size('probe')::int AS size"
        const [during] = yield* backup.unsafe<{ size: number }>(size)
        yield* store.probe
        const [after] = yield* backup.unsafe<{ size: number }>(size)
        assert.isAbove(during?.size ?? 0, 12 * 16 * 1900)
        assert.isBelow(after?.size ?? 0, 64 * 1024)
      })
    )
  }
)
