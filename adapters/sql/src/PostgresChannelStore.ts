/**
 * The ledger of payment channels in a PostgreSQL database, for any number of processes: transactions on one channel follow
 * each other, whichever process runs them.
 */
import {
  ChannelLedger,
  ChannelStore,
  type FacilitatorUnavailable,
  type Misconfigured,
  OptionCheck,
  Signals
} from "@pontage/core"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Reactivity from "effect/reactivity/Reactivity"
import * as Redacted from "effect/Redacted"

import * as PostgresDatabase from "./postgres/PostgresDatabase.ts"
import * as PostgresStart from "./postgres/PostgresStart.ts"
import * as ChannelRows from "./records/ChannelRows.ts"

/** The options of the database. It may be that of the payment records. */
export interface Options {
  /** `postgres://user:password@host:port/database`, as libpq reads it. */
  readonly url: Redacted.Redacted
  /** Maximum number of open connections; default 4. */
  readonly connections?: number
}

const check = OptionCheck.options<Options>({
  url: OptionCheck.given('a redacted address, such as Redacted.make("postgres://...")', Redacted.isRedacted),
  connections: OptionCheck.optional(OptionCheck.whole(1))
})

const make = Effect.fnUntraced(function* (options: Options) {
  const { connections = 4, url } = yield* Effect.fromResult(OptionCheck.read(check, options, "PostgresChannelStore"))
  const sessions = yield* PostgresStart.open(
    { url, applicationName: "pontage channels", keepAlive: Duration.seconds(10) },
    connections
  )
  const database = PostgresDatabase.make(sessions, Signals.make(), () => Effect.void, Infinity)
  return ChannelLedger.make(ChannelRows.make(database))
})

/**
 * The store as a layer. `Misconfigured` if the database refuses access; `FacilitatorUnavailable` if it cannot be reached.
 */
export const layer = (options: Options): Layer.Layer<ChannelStore, Misconfigured | FacilitatorUnavailable> =>
  Layer.effect(ChannelStore, make(options)).pipe(Layer.provide(Reactivity.layer))
