/**
 * A pool of sessions on a PostgreSQL database. Each is set up before its first use, so that committed data is durable
 * and a frozen process leaves nothing behind. The session's own settings count, whatever the defaults of the database,
 * the user or a pooler.
 */
import type * as PgConnection from "@effect/sql-pg/PgConnection"
import * as PgPool from "@effect/sql-pg/PgPool"
import type { FacilitatorUnavailable } from "@pontage/core"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { isSqlError, SqlError, UnknownError } from "effect/sql/SqlError"

import { unavailableBecause } from "../database/Database.ts"
import * as DatabaseTrouble from "../database/DatabaseTrouble.ts"

/** The sessions. */
export interface PostgresSessions {
  /** Runs steps on a session that is not shared meanwhile. */
  readonly use: <A, E>(work: Work<A, E>) => Effect.Effect<A, E | SqlError | FacilitatorUnavailable>
  /** The same in a transaction; a failure rolls it back. */
  readonly transact: <A, E>(work: Work<A, E>) => Effect.Effect<A, E | SqlError | FacilitatorUnavailable>
}

type Work<A, E> = (session: PgConnection.PgConnection) => Effect.Effect<A, E>

/** The database may lose committed data; `message` names the setting to change. */
export class NotDurable extends Schema.TaggedError<NotDurable>("@pontage/sql/NotDurable")("NotDurable", {
  message: Schema.String
}) {}

/** Opens a pool; sessions are opened on demand. */
export const make = (config: PgPool.Config): Effect.Effect<PostgresSessions, SqlError, Scope.Scope> =>
  Effect.map(PgPool.make(config), (pool) => {
    const known = new WeakSet<PgConnection.PgConnection>()
    const session = Effect.tap(pool.get, (connection) =>
      known.has(connection) ? Effect.void : Effect.map(asUnavailable(setUp(connection)), () => known.add(connection))
    )
    /** A session in an unknown state is closed. */
    const watched = <A, E>(connection: PgConnection.PgConnection, work: Effect.Effect<A, E>) =>
      Effect.tapError(work, (error) =>
        isSqlError(error) && isBroken(error) ? pool.invalidate(connection) : Effect.void
      )
    return {
      use: (work) => Effect.scoped(Effect.flatMap(session, (connection) => watched(connection, work(connection)))),
      transact: (work) =>
        Effect.scoped(
          Effect.flatMap(session, (connection) =>
            watched(connection, transaction(connection, work, pool.invalidate(connection)))
          )
        )
    }
  })

/** The same failure after payments have been taken. */
export const asUnavailable = Effect.mapError((error: SqlError | NotDurable) =>
  isSqlError(error) ? error : unavailableBecause(error.message)
)

/** Timeout of BEGIN and of ROLLBACK, which wait for nothing in the database. */
const short = Duration.seconds(5)

/** Timeout of COMMIT, which may wait for a disk or a standby. */
const long = Duration.seconds(10)

/** The failure of a database that is silent: its host may have vanished without closing a connection. */
export const silent = (limit: Duration.Duration): FacilitatorUnavailable =>
  unavailableBecause(
    `the database has not answered within ${Duration.toSeconds(limit)} s: look for what keeps it, or the way to it, busy`
  )

/**
 * Waits for a statement until the limit, also where nothing interrupts. The statement is not cancelled: a cancelled
 * COMMIT that waits for a standby takes effect without it. It ends with its session, which has to be invalidated.
 */
const answered = <A, E>(statement: Effect.Effect<A, E>, limit: Duration.Duration) =>
  Effect.flatMap(Effect.forkDetach(statement, { startImmediately: true }), (asked) =>
    Effect.timeoutOrElse(Fiber.join(asked), { duration: limit, orElse: () => Effect.fail(silent(limit)) })
  )

const transaction = <A, E>(
  connection: PgConnection.PgConnection,
  work: Work<A, E>,
  invalidate: Effect.Effect<void>
): Effect.Effect<A, E | SqlError | FacilitatorUnavailable> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      // The database may have begun, though its answer failed.
      yield* Effect.onError(answered(connection.query("BEGIN"), short), () => invalidate)
      const exit = yield* Effect.exit(restore(work(connection)))
      // A failed transaction could not run a prepared ROLLBACK that the database has lost.
      const end = Exit.isSuccess(exit)
        ? answered(commit(connection), long)
        : answered(connection.query("ROLLBACK", [], false), short)
      const ended = yield* Effect.exit(end)
      if (Exit.isFailure(ended)) yield* invalidate
      if (Exit.isSuccess(exit) && Exit.isFailure(ended)) return yield* Effect.failCause(ended.cause)
      return yield* exit
    })
  )

/** PostgreSQL answers the COMMIT of a transaction that has failed with ROLLBACK. */
const commit = (connection: PgConnection.PgConnection): Effect.Effect<void, SqlError> =>
  Effect.flatMap(connection.query("COMMIT"), ({ command }) =>
    command === "COMMIT" ? Effect.void : Effect.fail(undone)
  )

const undone = new SqlError({
  reason: new UnknownError({ cause: { code: "25P02" }, message: "the transaction was undone", operation: "commit" })
})

/**
 * The codes of a transaction that failed earlier (25P02) and of prepared statements of another session (26000, 42P05).
 */
const isBroken = (error: SqlError): boolean => ["25P02", "26000", "42P05"].includes(DatabaseTrouble.ofFault(error).code)

const Settings = Schema.Struct({
  fsync: Schema.String,
  full_page_writes: Schema.String,
  synchronous_commit: Schema.String
})
const decodeSettings = Schema.decodeUnknownEffect(Schema.NonEmptyArray(Settings))

/**
 * Session settings, in milliseconds: a frozen owner must not keep row locks, and no statement may outlive its client. A
 * commit waits for the disk at least; stronger guarantees, to standbys, stay as configured. Each statement sees the
 * data committed before it.
 */
const setting = `SELECT
  current_setting('fsync') AS fsync,
  current_setting('full_page_writes') AS full_page_writes,
  set_config('synchronous_commit',
    CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END,
    false) AS synchronous_commit,
  set_config('default_transaction_isolation', 'read committed', false) AS isolation,
  set_config('idle_in_transaction_session_timeout', '3000', false) AS idle,
  set_config('statement_timeout', '10000', false) AS statement`

/** A function that runs a statement on a session. */
interface Asked {
  readonly query: (text: string) => Effect.Effect<{ readonly rows: ReadonlyArray<unknown> }, SqlError>
}

/** Sets a session up. `NotDurable` if the server's own configuration lets a crash lose committed data. */
export const setUp = Effect.fnUntraced(function* (session: Asked): Effect.fn.Return<void, SqlError | NotDurable> {
  const { rows } = yield* session.query(setting)
  const [found] = yield* Effect.orDie(decodeSettings(rows))
  for (const [name, why] of [
    ["fsync", "a crash of the database's machine loses or damages records"],
    ["full_page_writes", "a crash of the database's machine damages records"],
    ["synchronous_commit", "a crash of the database loses records"]
  ] as const) {
    if (found[name] === "off") {
      return yield* new NotDurable({
        message: `${name} of the database was expected to be on, and is off: ${why}; set ${name} = on in postgresql.conf and reload it`
      })
    }
  }
})
