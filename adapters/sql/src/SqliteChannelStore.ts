/**
 * The ledger of payment channels in one file on a local disk, for one process. A granted draw is on the disk before its
 * request runs, so a crash of the process or the machine loses no voucher; draws that arrive together share a commit.
 */
import { ChannelLedger, ChannelStore, type Misconfigured, OptionCheck, Signals } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"

import * as GroupCommit from "./database/GroupCommit.ts"
import * as SqlDialect from "./database/SqlDialect.ts"
import * as ChannelRows from "./records/ChannelRows.ts"
import type { RecordFault } from "./records/Records.ts"
import * as ChannelImage from "./sqlite/ChannelImage.ts"
import * as RecordImage from "./sqlite/RecordImage.ts"
import * as SqliteFile from "./sqlite/SqliteFile.ts"
import * as SqliteTables from "./sqlite/SqliteTables.ts"

/** The options of the file: one of its own, not that of the payment records. It is created if missing. */
export type Options = SqliteFile.Options

/** Makes a store over the file. `Misconfigured` if it cannot be opened, above all if another process has it open. */
export const make = Effect.fnUntraced(function* (
  options: Options
): Effect.fn.Return<ChannelStore["Service"], Misconfigured, Scope.Scope> {
  yield* Effect.fromResult(OptionCheck.read(SqliteFile.check, options, "SqliteChannelStore"))
  const file = yield* SqliteFile.open(options)
  yield* SqliteTables.upgrade(file, options.filename)
  const image = ChannelImage.make(ChannelRows.write)
  const transactions = yield* GroupCommit.make(file, Signals.make(), RecordImage.make(), image)
  return ChannelLedger.make(remembering(transactions, image))
})

/** The file's records behind what memory keeps of them. */
export const remembering = (
  transactions: GroupCommit.Transactions,
  image: ChannelImage.ChannelImage
): ChannelLedger.ChannelPlace<RecordFault> => {
  const place = ChannelRows.make({ dialect: SqlDialect.sqlite, ...transactions }, image.over)
  const known = <A>(found: () => A | undefined) => (transactions.isAtRest() ? found() : undefined)
  return {
    ...place,
    find: (channelId) =>
      Effect.suspend(() => {
        const standing = known(() => image.find(channelId))
        return standing === undefined ? place.find(channelId) : Effect.succeed(standing)
      }),
    findDraw: (channelId, claimId) =>
      Effect.suspend(() => {
        const draw = known(() => image.findDraw(channelId, claimId))
        return draw === undefined ? place.findDraw(channelId, claimId) : Effect.succeed(draw)
      })
  }
}

/** The store as a layer. */
export const layer = (options: Options): Layer.Layer<ChannelStore, Misconfigured> =>
  Layer.effect(ChannelStore, make(options))
