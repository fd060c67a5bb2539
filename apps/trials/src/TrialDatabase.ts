import * as PgClient from "@effect/sql-pg/PgClient"
/**
 * A PostgreSQL of the trial's own, as a scoped resource that can be hurt.
 */
import { PostgresServer } from "@pontage/sql/testing"
import * as Effect from "effect/Effect"
import * as Reactivity from "effect/reactivity/Reactivity"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"

import type { MutationName } from "./Mutation.ts"

/**
 * A running database. What goes wrong in hurting it is a mistake of the trial.
 *
 * @category models
 */
export interface TrialDatabase {
  readonly url: string
  /** Stops the server as a power cut would, and starts it again. */
  readonly powerCut: Effect.Effect<void>
  /** Runs a statement on a connection of its own; its rows. */
  readonly run: (statement: string) => Effect.Effect<ReadonlyArray<unknown>>
}

/**
 * Starts a database; it goes away with the scope.
 *
 * @category constructors
 */
export const make = Effect.fnUntraced(function* (
  mutation: MutationName | undefined
): Effect.fn.Return<TrialDatabase, never, Scope.Scope> {
  const server = yield* Effect.orDie(PostgresServer.make)
  const url = yield* Effect.orDie(server.database)
  const run = (statement: string) =>
    Effect.flatMap(PgClient.makeClient({ url, applicationName: "trial" }), (sql) => sql.unsafe(statement)).pipe(
      Effect.scoped,
      Effect.provide(Reactivity.layer),
      Effect.orDie
    )
  if (mutation === "commit-before-sync") for (const statement of commitsLater) yield* run(statement)
  return {
    url: Redacted.value(url),
    powerCut: Effect.orDie(Effect.andThen(server.stop("immediate"), server.start)),
    run
  }
})

/** What was answered as committed reaches the disk up to half a minute later. */
const commitsLater = [
  "ALTER SYSTEM SET synchronous_commit = off",
  "ALTER SYSTEM SET wal_writer_delay = '10s'",
  "SELECT pg_reload_conf()"
]
