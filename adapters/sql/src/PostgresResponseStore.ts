/**
 * Kept responses (`repeat: "same"`) in a PostgreSQL database, for all processes of a shop: the one that is asked again
 * need not be the one that has served.
 */
import { ResponseStore, type FacilitatorUnavailable, type Misconfigured } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Reactivity from "effect/reactivity/Reactivity"

import * as PostgresLedger from "./postgres/PostgresLedger.ts"
import * as ResponseRows from "./records/ResponseRows.ts"

/** The options of the database. */
export type Options = PostgresLedger.Options

const names = { layer: "PostgresResponseStore", application: "pontage responses" }

/**
 * The store as a layer, for `responseStore`. `Misconfigured` if the database refuses access; `FacilitatorUnavailable` if
 * it cannot be reached.
 */
export const layer = (options: Options): Layer.Layer<ResponseStore, Misconfigured | FacilitatorUnavailable> =>
  Layer.effect(
    ResponseStore,
    Effect.map(PostgresLedger.open(options, names), (database) => ResponseRows.make(database, database.query))
  ).pipe(Layer.provide(Reactivity.layer))
