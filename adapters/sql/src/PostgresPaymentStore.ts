/**
 * The payment store in a PostgreSQL database, for any number of instances: claims, records, lanes, leases and notices
 * in one place.
 */
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

import * as PostgresDatabase from "./postgres/PostgresDatabase.ts"
import * as PostgresLaneLeases from "./postgres/PostgresLaneLeases.ts"
import * as PostgresSignals from "./postgres/PostgresSignals.ts"
import * as PostgresStart from "./postgres/PostgresStart.ts"
import * as DeadCalls from "./records/DeadCalls.ts"
import * as LeaseRows from "./records/LeaseRows.ts"
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
  const sessions = yield* PostgresStart.open(config, connections)
  const signals = Signals.make()
  const announce = PostgresSignals.announcing(owner)
  const database = PostgresDatabase.make(sessions, signals, announce, Duration.toMillis(clockSkew))
  yield* DeadCalls.giveBack(database, DeadCalls.isAloneAs(applicationName))
  if (listens) yield* PostgresSignals.listen(config, owner, signals)
  return Context.make(PaymentStore.PaymentStore, SqlPaymentStore.make(database, signals)).pipe(
    Context.add(LaneLeases.LaneLeases, PostgresLaneLeases.make({ ...times, owner, database, signals, announce }))
  )
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
