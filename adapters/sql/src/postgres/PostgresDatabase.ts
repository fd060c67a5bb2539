/**
 * Transactions on PostgreSQL: short ones, each on its own connection from a pool, repeated if the database rolled one
 * back for another's sake, and abandoned if the database does not respond.
 */
import type * as PgConnection from "@effect/sql-pg/PgConnection"
import type { FacilitatorUnavailable, Signals } from "@pontage/core"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { SqlError } from "effect/sql/SqlError"

import * as Database from "../database/Database.ts"
import * as DatabaseClock from "../database/DatabaseClock.ts"
import * as DatabaseTrouble from "../database/DatabaseTrouble.ts"
import * as SqlDialect from "../database/SqlDialect.ts"
import * as SchemaUpgrade from "../schema/SchemaUpgrade.ts"
import * as PostgresSessions from "./PostgresSessions.ts"
import type { Announce } from "./PostgresSignals.ts"

/** Number of repetitions of a transaction that the database rolled back. */
const retries = 5

/** Timeout of an operation: no response within it counts as an unresponsive database. */
const patience = Duration.seconds(10)

/**
 * The database behind a pool of sessions. `announce` runs in the transaction; other processes hear it after the commit.
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
    return Effect.map(
      bounded(Effect.retry(once, { times: retries, while: DatabaseTrouble.isUndone })),
      ([result, hints]) => {
        Database.notify(signals, hints)
        return result
      }
    )
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

/** Whether the database certainly rolled the transaction back, for a reason that another attempt may not meet. */
const bounded = <A, E>(effect: Effect.Effect<A, E | SqlError>): Effect.Effect<A, E | FacilitatorUnavailable> =>
  Effect.timeoutOrElse(Database.explained(effect), {
    duration: patience,
    orElse: () => Effect.fail(PostgresSessions.silent(patience))
  })

/** Caches statements with this database's placeholders; their texts are few and constant. */
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
