/**
 * Transactions on PostgreSQL: short ones, each on a connection of its own from a pool, run again when the database had to
 * undo one for the sake of another, and given up when the database is silent.
 */
import type * as PgClient from "@effect/sql-pg/PgClient"
import { FacilitatorUnavailable, type Signals } from "@pontage/core"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { Connection } from "effect/sql/SqlConnection"
import { isSqlError, type SqlError } from "effect/sql/SqlError"

import * as Database from "./Database.ts"
import * as Dialect from "./Dialect.ts"
import type { Announce } from "./PostgresSignals.ts"

/** A transaction that the database undid is begun again so often. */
const retries = 5

/** Nothing here takes longer than a moment: after this the database counts as silent. */
const patience = Duration.seconds(10)

/**
 * The database behind a pool of connections. `announce` is said in the transaction, and heard elsewhere after its commit.
 *
 * @category constructors
 */
export const make = (client: PgClient.PgClient, signals: Signals.Signals, announce: Announce): Database.Database => {
  const runOn = Database.runOn(Dialect.postgres, numbered())

  const transact: Database.Transact = (steps) => {
    const once = client.withTransaction(
      Effect.gen(function* () {
        const run = runOn(yield* connectionOf(client))
        const [transaction, hints] = yield* Database.begin(run)
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
      Effect.scoped(
        Effect.flatMap(client.reserve, (connection) =>
          Effect.flatMap(Database.begin(runOn(connection)), ([transaction]) => steps(transaction))
        )
      )
    )

  return { dialect: Dialect.postgres, transact, gather: transact, linger: transact, ask }
}

/** The connection of the transaction at hand. */
const connectionOf = (client: PgClient.PgClient): Effect.Effect<Connection> =>
  Effect.withFiber((fiber) => Effect.succeed(Context.getUnsafe(fiber.context, client.transactionService)[0]))

/** Whether the database is known to have undone the transaction, for a reason that another attempt may not meet. */
const isUndone = (error: unknown): boolean =>
  isSqlError(error) && (error.reason._tag === "SerializationError" || error.reason._tag === "DeadlockError")

const bounded = <A, E>(effect: Effect.Effect<A, E | SqlError>): Effect.Effect<A, E | FacilitatorUnavailable> =>
  Effect.timeoutOrElse(Database.inOurWords(effect), { duration: patience, orElse: () => Effect.fail(silent) })

const silent = new FacilitatorUnavailable({
  message: `the payment records cannot be asked: no answer within ${Duration.toSeconds(patience)} s`
})

/** Statements with this database's placeholders; their texts are few and constant. */
const numbered = () => {
  const known = new Map<string, string>()
  return (statement: string): string => {
    const before = known.get(statement)
    if (before !== undefined) return before
    const text = Dialect.postgres.text(statement)
    known.set(statement, text)
    return text
  }
}
