/**
 * Kept responses (`repeat: "same"`) in one file on a local disk, for one process of a shop. They survive a restart of the
 * process; a crash of the machine may lose the last ones, which costs their payers the repetition and no money.
 */
import { ResponseStore, type Misconfigured, OptionCheck, Signals } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"

import * as GroupCommit from "./database/GroupCommit.ts"
import * as ResponseRows from "./records/ResponseRows.ts"
import * as RecordImage from "./sqlite/RecordImage.ts"
import * as SqliteFile from "./sqlite/SqliteFile.ts"
import * as SqliteTables from "./sqlite/SqliteTables.ts"

/** The options of the file: one of its own, not that of the payment records. It is created if missing. */
export type Options = SqliteFile.Options

/** Makes a store over the file. `Misconfigured` if it cannot be opened, above all if another process has it open. */
export const make = Effect.fnUntraced(function* (
  options: Options
): Effect.fn.Return<ResponseStore["Service"], Misconfigured, Scope.Scope> {
  yield* Effect.fromResult(OptionCheck.read(SqliteFile.check, options, "SqliteResponseStore"))
  const file = yield* SqliteFile.open(options, "NORMAL")
  yield* SqliteTables.upgrade(file, options.filename)
  const database = yield* GroupCommit.make(file, Signals.make(), RecordImage.make())
  return ResponseRows.make(database, database.batch)
})

/** The store as a layer, for `responseStore`. */
export const layer = (options: Options): Layer.Layer<ResponseStore, Misconfigured> =>
  Layer.effect(ResponseStore, make(options))
