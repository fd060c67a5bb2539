/** Opens a PostgreSQL database: checks its durability and its tables, and names the reason if it cannot be used. */
import * as PgClient from "@effect/sql-pg/PgClient"
import * as PgConnection from "@effect/sql-pg/PgConnection"
import { type FacilitatorUnavailable, Misconfigured } from "@pontage/core"
import * as Effect from "effect/Effect"
import type * as Reactivity from "effect/reactivity/Reactivity"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import * as SqlClient from "effect/sql/SqlClient"
import { isSqlError, type SqlError } from "effect/sql/SqlError"

import { unavailable } from "../database/Database.ts"
import * as DatabaseTrouble from "../database/DatabaseTrouble.ts"
import * as SqlDialect from "../database/SqlDialect.ts"
import * as SchemaUpgrade from "../schema/SchemaUpgrade.ts"
import * as PostgresSessions from "./PostgresSessions.ts"
import * as SessionPooling from "./SessionPooling.ts"

/** Sessions on a database whose settings and tables serve, at most this number of them. */
export const open = Effect.fnUntraced(function* (
  config: PgConnection.Config,
  connections: number
): Effect.fn.Return<
  PostgresSessions.PostgresSessions,
  Misconfigured | FacilitatorUnavailable,
  Scope.Scope | Reactivity.Reactivity
> {
  yield* Effect.mapError(SessionPooling.check(PgConnection.make(config)), refused)
  yield* Effect.mapError(Effect.scoped(prepare(config)), refused)
  return yield* Effect.mapError(PostgresSessions.make({ ...config, maxConnections: connections }), refused)
})

/** The most further attempts to bring the tables up to date, and the pause before each. */
const attempts = { times: 5, schedule: Schedule.spaced("500 millis") }

/** Instances at work hold locks: the attempt that waits for them in a circle, or for long, is undone and begins again. */
const isHeldUp = (error: unknown): boolean =>
  DatabaseTrouble.isUndone(error) || (isSqlError(error) && error.reason._tag === "LockTimeoutError")

/** Checks the durability settings and the tables, on a separate session. */
const prepare = Effect.fnUntraced(function* (config: PgConnection.Config) {
  const client = yield* PgClient.makeClient(config)
  yield* PostgresSessions.setUp({ query: (text) => Effect.map(client.unsafe(text), (rows) => ({ rows })) })
  const upgrade = Effect.retry(SchemaUpgrade.upgrade(SqlDialect.postgres), { ...attempts, while: isHeldUp })
  yield* Effect.provideService(upgrade, SqlClient.SqlClient, client)
})

type Refusal = Misconfigured | FacilitatorUnavailable | PostgresSessions.NotDurable | SqlError

/** A failure that only the operator can end is `Misconfigured`; any other may pass. */
const refused = (error: Refusal): Misconfigured | FacilitatorUnavailable => {
  if (isSqlError(error)) {
    const fault = unavailable(error)
    return DatabaseTrouble.ofFault(error).lasts ? new Misconfigured({ message: fault.message }) : fault
  }
  return error._tag === "NotDurable"
    ? new Misconfigured({ message: `the payment records cannot be used: ${error.message}` })
    : error
}
