/**
 * A PostgreSQL of the trial's own, as a scoped resource that can be hurt.
 */
import { readFileSync, rmSync } from "node:fs"
import { join } from "node:path"

import * as PgClient from "@effect/sql-pg/PgClient"
import { PostgresServer } from "@pontage/sql/testing"
import * as Effect from "effect/Effect"
import * as Reactivity from "effect/reactivity/Reactivity"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"

import * as FileSizeLimit from "./FileSizeLimit.ts"

/** A running database. An error in hurting it is a mistake of the trial. */
export interface TrialDatabase {
  readonly url: string
  /** Runs a statement on its own connection and returns the rows. */
  readonly run: (statement: string) => Effect.Effect<ReadonlyArray<unknown>>
  /** From now on commits are answered before they are on the disk. */
  readonly commitLater: Effect.Effect<void>
  /** Stops the server as a power cut would, and starts it again. */
  readonly powerCut: Effect.Effect<void>
  /** Cuts one connection of a facilitator, or all of them. */
  readonly cutConnections: (which: "one" | "all") => Effect.Effect<void>
  /** Refuses writes; or allows them again. */
  readonly setReadOnly: (readOnly: boolean) => Effect.Effect<void>
  /** Leaves no room on the disk during this. An operator starts the server again if that has stopped it. */
  readonly fillDisk: <A>(during: Effect.Effect<A>) => Effect.Effect<A>
}

/** Starts a database; it goes away with the scope. */
export const make: Effect.Effect<TrialDatabase, never, Scope.Scope> = Effect.gen(function* () {
  const server = yield* Effect.orDie(PostgresServer.make)
  const url = Redacted.value(yield* Effect.orDie(server.database))
  const run = (statement: string) => runOn(url, statement)
  const outside = new URL(url)
  const name = outside.pathname.slice(1)
  outside.pathname = "/postgres"
  /** From another database, so that the fault of this one does not prevent its repair. */
  const command = (statement: string) => Effect.asVoid(runOn(outside.href, statement))
  const cutConnections = (which: "one" | "all") =>
    command(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'pontage%' ORDER BY random() ${which === "one" ? "LIMIT 1" : ""}`
    )
  const folder = yield* Effect.map(run("SHOW data_directory"), (rows) => decodeFolder(rows)[0].data_directory)
  const isUp = Effect.retry(Effect.sandbox(command("SELECT 1")), patience)
  // A server that has ended by itself does not report that it has stopped, and its folder is not removed.
  const restart = Effect.andThen(
    Effect.ignore(Effect.timeout(server.stop("immediate"), "2 seconds")),
    Effect.orDie(server.start)
  )
  yield* Effect.addFinalizer(() => Effect.sync(() => rmSync(folder, { recursive: true, force: true })))
  return {
    url,
    run,
    commitLater: Effect.forEach(commitsLater, command, { discard: true }),
    cutConnections,
    powerCut: Effect.orDie(Effect.andThen(server.stop("immediate"), server.start)),
    setReadOnly: (readOnly) =>
      Effect.andThen(
        command(`ALTER DATABASE ${name} SET default_transaction_read_only = ${readOnly ? "on" : "off"}`),
        cutConnections("all")
      ),
    fillDisk: Effect.fnUntraced(function* (during) {
      const pids = yield* Effect.orDie(processesOf(folder))
      for (const pid of pids) yield* FileSizeLimit.set(pid, noRoom)
      const result = yield* during
      for (const pid of yield* Effect.catch(processesOf(folder), () => Effect.succeed(pids))) {
        yield* FileSizeLimit.set(pid, "unlimited")
      }
      yield* Effect.catch(isUp, () => restart)
      return result
    })
  }
})

/** A busy machine takes long to connect; a server that is down refuses at once. */
const connectTimeout = "1 minute"

const runOn = (url: string, statement: string): Effect.Effect<ReadonlyArray<unknown>> =>
  Effect.flatMap(PgClient.makeClient({ url: Redacted.make(url), applicationName: "trial", connectTimeout }), (sql) =>
    sql.unsafe(statement)
  ).pipe(Effect.scoped, Effect.provide(Reactivity.layer), Effect.orDie)

/** Commits that were confirmed reach the disk up to half a minute later. */
const commitsLater = [
  "CHECKPOINT",
  "ALTER SYSTEM SET synchronous_commit = off",
  "ALTER SYSTEM SET wal_writer_delay = '10s'",
  "SELECT pg_reload_conf()"
]

const decodeFolder = Schema.decodeUnknownSync(Schema.NonEmptyArray(Schema.Struct({ data_directory: Schema.String })))

/** Size limit of a file while the disk is full, in bytes: less than every file that grows. */
const noRoom = 8_192

const patience = Schedule.max([Schedule.spaced("500 millis"), Schedule.recurs(6)])

/** The server's processes: the first one and its children. New ones have the limits of the first. */
const processesOf = (folder: string): Effect.Effect<ReadonlyArray<number>, { readonly message: string }> =>
  Effect.try({
    try: () => {
      const first = Number(readFileSync(join(folder, "postmaster.pid"), "utf8").split("\n")[0])
      const children = readFileSync(`/proc/${first}/task/${first}/children`, "utf8").trim().split(" ")
      return [first, ...children.filter((pid) => pid !== "").map(Number)]
    },
    catch: () => ({ message: "the server does not run" })
  })
