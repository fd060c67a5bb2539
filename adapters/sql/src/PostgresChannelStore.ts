/**
 * The ledger of payment channels in a PostgreSQL database, for any number of processes: transactions on one channel follow
 * each other, whichever process runs them.
 */
import { ChannelLedger, ChannelStore, type FacilitatorUnavailable, type Misconfigured } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Reactivity from "effect/reactivity/Reactivity"

import * as PostgresLedger from "./postgres/PostgresLedger.ts"
import * as ChannelRows from "./records/ChannelRows.ts"

/** The options of the database. */
export type Options = PostgresLedger.Options

const names = { layer: "PostgresChannelStore", application: "pontage channels" }

/**
 * The store as a layer. `Misconfigured` if the database refuses access; `FacilitatorUnavailable` if it cannot be reached.
 */
export const layer = (options: Options): Layer.Layer<ChannelStore, Misconfigured | FacilitatorUnavailable> =>
  Layer.effect(
    ChannelStore,
    Effect.map(PostgresLedger.open(options, names), (database) => ChannelLedger.make(ChannelRows.make(database)))
  ).pipe(Layer.provide(Reactivity.layer))
