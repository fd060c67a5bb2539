/**
 * The payment store in one file on a local disk, for one process: durable, with nothing to install. For several
 * instances use `PostgresPaymentStore`.
 */
import { LaneLeases, type Misconfigured, OptionCheck, PaymentStore, Signals } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"

import * as GroupCommit from "./database/GroupCommit.ts"
import * as SqlDialect from "./database/SqlDialect.ts"
import * as DeadCalls from "./records/DeadCalls.ts"
import * as RecordImage from "./sqlite/RecordImage.ts"
import * as SqliteFile from "./sqlite/SqliteFile.ts"
import * as SqliteTables from "./sqlite/SqliteTables.ts"
import * as SqlPaymentStore from "./SqlPaymentStore.ts"

/** The options of the file. It is created if missing; its folder has to exist. */
export type Options = SqliteFile.Options

/** Makes a store over the file. `Misconfigured` if it cannot be opened, above all if another process has it open. */
export const make = Effect.fnUntraced(function* (
  options: Options
): Effect.fn.Return<PaymentStore.PaymentStore["Service"], Misconfigured, Scope.Scope> {
  yield* Effect.fromResult(OptionCheck.read(SqliteFile.check, options, "SqlitePaymentStore"))
  const file = yield* SqliteFile.open(options)
  yield* SqliteTables.upgrade(file, options.filename)
  const signals = Signals.make()
  const transactions = yield* GroupCommit.make(file, signals, RecordImage.make())
  const database = { dialect: SqlDialect.sqlite, ...transactions }
  yield* DeadCalls.giveBack(database)
  return SqlPaymentStore.make(database, signals)
})

/** The store and the leases of all lanes: no other process can open the file, so this one holds every lane. */
export const layer = (
  options: Options
): Layer.Layer<PaymentStore.PaymentStore | LaneLeases.LaneLeases, Misconfigured> =>
  Layer.merge(Layer.effect(PaymentStore.PaymentStore, make(options)), LaneLeases.layerSole)
