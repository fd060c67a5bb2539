/**
 * The payment store in a PostgreSQL database, for any number of instances: claims, records, lanes, leases and notices
 * in one place.
 */
import * as PgClient from "@effect/sql-pg/PgClient"
import * as PgConnection from "@effect/sql-pg/PgConnection"
import {
  Entropy,
  type FacilitatorUnavailable,
  LaneLeases,
  Misconfigured,
  OptionCheck,
  PaymentStore,
  Signals
} from "@pontage/core"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Reactivity from "effect/reactivity/Reactivity"
import * as Redacted from "effect/Redacted"
import * as SqlClient from "effect/sql/SqlClient"
import { isSqlError, type SqlError } from "effect/sql/SqlError"

import { unavailable } from "./database/Database.ts"
import * as DatabaseTrouble from "./database/DatabaseTrouble.ts"
import * as SqlDialect from "./database/SqlDialect.ts"
import * as PostgresDatabase from "./postgres/PostgresDatabase.ts"
import * as PostgresLaneLeases from "./postgres/PostgresLaneLeases.ts"
import * as PostgresSessions from "./postgres/PostgresSessions.ts"
import * as PostgresSignals from "./postgres/PostgresSignals.ts"
import * as SessionPooling from "./postgres/SessionPooling.ts"
import * as DeadCalls from "./records/DeadCalls.ts"
import * as LeaseRows from "./records/LeaseRows.ts"
import * as SchemaUpgrade from "./schema/SchemaUpgrade.ts"
import * as SqlPaymentStore from "./SqlPaymentStore.ts"

/** The options of the database. */
export interface Options {
  /** `postgres://user:password@host:port/database`, as libpq reads it. */
  readonly url: Redacted.Redacted
  /** Maximum number of open connections, without the listening one; default 10. */
  readonly connections?: number
  /** The timing of lane leases. */
  readonly leases?: PostgresLaneLeases.Options
  /** Whether instances wake each other (LISTEN); default true. Without it work is found by polling. */
  readonly listens?: boolean
  /**
   * Largest accepted difference between this process's clock and the database's; beyond it no record is written.
   * Default 30 seconds.
   */
  readonly clockSkew?: Duration.Input
}

const check = OptionCheck.options<Options>({
  url: OptionCheck.given('a redacted address, such as Redacted.make("postgres://...")', Redacted.isRedacted),
  connections: OptionCheck.optional(OptionCheck.whole(1)),
  leases: OptionCheck.optional(PostgresLaneLeases.check),
  listens: OptionCheck.optional(OptionCheck.flag),
  clockSkew: OptionCheck.optional(OptionCheck.duration)
})

/**
 * The store, and the lane leases that all instances on the database share. `Misconfigured` if the database refuses
 * access; `FacilitatorUnavailable` if it cannot be reached.
 */
export const layer = (
  options: Options
): Layer.Layer<PaymentStore.PaymentStore | LaneLeases.LaneLeases, Misconfigured | FacilitatorUnavailable> =>
  Layer.effectContext(make(options)).pipe(Layer.provide(Reactivity.layer))

const make = Effect.fnUntraced(function* (options: Options) {
  const checked = yield* Effect.fromResult(OptionCheck.read(check, options, "PostgresPaymentStore"))
  const { clockSkew = "30 seconds", connections = 10, leases = {}, listens = true, url } = checked
  const times = yield* timesOf(leases)
  const { applicationName, owner } = LeaseRows.named(Entropy.identifier(yield* Entropy.Entropy), listens)
  const config = { url, applicationName, keepAlive: Duration.seconds(10) }
  yield* Effect.mapError(SessionPooling.check(PgConnection.make(config)), refused)
  yield* Effect.mapError(Effect.scoped(prepare(config)), refused)
  const sessions = yield* Effect.mapError(PostgresSessions.make({ ...config, maxConnections: connections }), refused)
  const signals = Signals.make()
  const announce = PostgresSignals.announcing(owner)
  const database = PostgresDatabase.make(sessions, signals, announce, Duration.toMillis(clockSkew))
  yield* DeadCalls.giveBack(database, DeadCalls.isAloneAs(applicationName))
  if (listens) yield* PostgresSignals.listen(config, owner, signals)
  return Context.make(PaymentStore.PaymentStore, SqlPaymentStore.make(database, signals)).pipe(
    Context.add(LaneLeases.LaneLeases, PostgresLaneLeases.make({ ...times, owner, database, signals, announce }))
  )
})

/** Checks the durability settings and the tables, on a separate session. */
const prepare = Effect.fnUntraced(function* (config: PgConnection.Config) {
  const client = yield* PgClient.makeClient(config)
  yield* PostgresSessions.setUp({ query: (text) => Effect.map(client.unsafe(text), (rows) => ({ rows })) })
  yield* Effect.provideService(SchemaUpgrade.upgrade(SqlDialect.postgres), SqlClient.SqlClient, client)
})

const timesOf = ({ tick = "2 seconds", ttl = "9 seconds" }: PostgresLaneLeases.Options) => {
  const ttlMillis = Duration.toMillis(ttl)
  const tickMillis = Duration.toMillis(tick)
  return tickMillis > 0 && tickMillis * 3 < ttlMillis
    ? Effect.succeed({ ttlMillis, tickMillis })
    : Effect.fail(
        new Misconfigured({
          message: `leases.tick (${tickMillis} ms) must be less than a third of leases.ttl (${ttlMillis} ms): a lease has to outlive a tick that was missed`
        })
      )
}

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
