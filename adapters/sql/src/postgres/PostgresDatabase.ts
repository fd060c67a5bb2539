/**
 * Transactions on PostgreSQL: short ones, each on a connection of its own from a pool, run again when the database had to
 * undo one for the sake of another, and given up when the database is silent.
 */
import type * as PgConnection from "@effect/sql-pg/PgConnection"
import type { FacilitatorUnavailable, Signals } from "@pontage/core"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { isSqlError, type SqlError } from "effect/sql/SqlError"

import * as Database from "../database/Database.ts"
import * as DatabaseClock from "../database/DatabaseClock.ts"
import * as SqlDialect from "../database/SqlDialect.ts"
import * as SchemaUpgrade from "../schema/SchemaUpgrade.ts"
import * as PostgresSessions from "./PostgresSessions.ts"
import type { Announce } from "./PostgresSignals.ts"

/** A transaction that the database undid is begun again so often. */
const retries = 5

/** Nothing here takes longer than a moment: after this the database counts as silent. */
const patience = Duration.seconds(10)

/**
 * The database behind a pool of sessions. `announce` is said in the transaction, and heard elsewhere after its commit.
 */
export const make = (
  sessions: PostgresSessions.PostgresSessions,
  signals: Signals.Signals,
  announce: Announce,
  clockSkewMillis: number
): Database.Database => {
  const clock = DatabaseClock.make(clockSkewMillis)
  const runOn = Database.runOn(SqlDialect.postgres, numbered())
  const runIn = (session: PgConnection.PgConnection) =>
    runOn({ execute: (text, parameters) => Effect.map(session.query(text, parameters), ({ rows }) => rows) })

  const transact: Database.Transact = (steps) => {
    const once = sessions.transact((session) =>
      Effect.gen(function* () {
        const run = runIn(session)
        const [transaction, hints] = Database.beginAt(run, yield* clock.read(run))
        const result = yield* steps(transaction)
        yield* announce(run, hints.everywhere)
        return [result, hints] as const
      })
    )
    return Effect.map(bounded(Effect.retry(once, { times: retries, while: isUndone })), ([result, hints]) => {
      Database.notify(signals, hints)
      return result
    })
  }

  const ask: Database.Transact = (steps) =>
    bounded(
      sessions.use((session) =>
        Effect.flatMap(clock.now, (now) => {
          const [transaction] = Database.beginAt(runIn(session), now)
          return steps(transaction)
        })
      )
    )

  const inspect = bounded(
    sessions.use((session) =>
      Effect.andThen(
        PostgresSessions.asUnavailable(PostgresSessions.setUp(session)),
        SchemaUpgrade.isServed(runIn(session))
      )
    )
  )

  return {
    dialect: SqlDialect.postgres,
    now: clock.now,
    transact,
    batch: transact,
    defer: transact,
    inspect,
    query: ask
  }
}

/** Whether the database is known to have undone the transaction, for a reason that another attempt may not meet. */
const isUndone = (error: unknown): boolean =>
  isSqlError(error) && (error.reason._tag === "SerializationError" || error.reason._tag === "DeadlockError")

const bounded = <A, E>(effect: Effect.Effect<A, E | SqlError>): Effect.Effect<A, E | FacilitatorUnavailable> =>
  Effect.timeoutOrElse(Database.explained(effect), { duration: patience, orElse: () => Effect.fail(silent) })

const silent = Database.unavailableBecause(
  `the database has not answered within ${Duration.toSeconds(patience)} s: look for what keeps it, or the way to it, busy`
)

/** Statements with this database's placeholders; their texts are few and constant. */
const numbered = () => {
  const known = new Map<string, string>()
  return (statement: string): string => {
    const before = known.get(statement)
    if (before !== undefined) return before
    const text = SqlDialect.postgres.text(statement)
    known.set(statement, text)
    return text
  }
}
