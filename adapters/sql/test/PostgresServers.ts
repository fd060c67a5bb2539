/** One server for the tests of a file, and stores in databases of their own on it. */
import * as PgClient from "@effect/sql-pg/PgClient"
import { Entropy, LaneLeases, PaymentStore } from "@pontage/core"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Reactivity from "effect/reactivity/Reactivity"
import * as Redacted from "effect/Redacted"

import { PostgresPaymentStore } from "../src/postgres.ts"
import { PostgresServer } from "../src/testing/index.ts"

export const database = Effect.flatMap(PostgresServer.PostgresServer, (server) => server.database)

/** An instance of the facilitator's records: its store and its leases. */
export const instance = (url: Redacted.Redacted, options: Omit<PostgresPaymentStore.Options, "url"> = {}) =>
  Effect.map(
    Layer.build(PostgresPaymentStore.layer({ connections: 4, clockSkew: "40000 days", ...options, url })),
    (context) => ({
      store: Context.get(context, PaymentStore.PaymentStore),
      leases: Context.get(context, LaneLeases.LaneLeases)
    })
  )

export const newName = Effect.map(Entropy.Entropy, Entropy.identifier)

/** Runs statements on a database. */
export const onDatabase = (url: Redacted.Redacted, ...statements: ReadonlyArray<string>) =>
  Effect.scoped(
    Effect.flatMap(Effect.provide(PgClient.makeClient({ url }), Reactivity.layer), (sql) =>
      Effect.forEach(statements, (text) => sql.unsafe(text), { discard: true })
    )
  )

/** A database whose clock stands still, at the beginning of 1970, unless it is moved on. */
export const clocked = Effect.gen(function* () {
  const url = yield* database
  const name = new URL(Redacted.value(url)).pathname.slice(1)
  yield* onDatabase(
    url,
    "CREATE TABLE test_clock (millis BIGINT NOT NULL)",
    "INSERT INTO test_clock VALUES (0)",
    `CREATE FUNCTION public.clock_timestamp() RETURNS TIMESTAMPTZ LANGUAGE sql VOLATILE
     AS 'SELECT to_timestamp(millis / 1000.0) FROM public.test_clock'`,
    `ALTER DATABASE "${name}" SET search_path = public, pg_catalog`
  )
  const elapse = (millis: number) => Effect.orDie(onDatabase(url, `UPDATE test_clock SET millis = millis + ${millis}`))
  return { url, elapse }
})
