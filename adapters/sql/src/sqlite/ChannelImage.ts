/**
 * Channels and open draws in memory, equal to what the file's connection would read now: no other process writes the file. A channel
 * that many draws of one transaction change is written once, before the commit. Forgetting is always safe: a missing record is read.
 */
import type { ChannelLedger, DrawRecord, Standing } from "@pontage/core"
import * as BoundedMap from "@pontage/core/BoundedMap"
import * as Effect from "effect/Effect"

import { legible, type Run } from "../database/SqlDialect.ts"
import type { RecordFault } from "../records/Records.ts"
import type { TransactionImage } from "./TransactionImage.ts"

type Records = ChannelLedger.ChannelRecords<RecordFault>

/** The memory of a ledger's file. */
export interface ChannelImage extends TransactionImage {
  /** The records of a transaction, through this memory. */
  readonly over: (plain: Records) => Records
  /** The record of a channel, if it is here and durable at this moment. */
  readonly find: (channelId: string) => Standing | undefined
  /** The open draw of a claim, if it is here and durable at this moment. */
  readonly findDraw: (channelId: string, claimId: string) => DrawRecord | undefined
}

/** Default capacity: channels of about a kilobyte each, and as many open draws. */
const remembered = 10_000

/** Makes an empty memory; `write` is the statement that writes a known channel. */
export const make = (
  write: (run: Run, standing: Standing) => ReturnType<TransactionImage["flush"]>,
  limit: number = remembered
): ChannelImage => {
  const standings = BoundedMap.oldestOut<string, Standing>(limit)
  const open = BoundedMap.oldestOut<string, DrawRecord>(limit)
  /** Changed channels that the file does not have yet. */
  const unwritten = new Map<string, Standing>()
  /** The steps that forget each record kept in the current transaction, in order; records kept outside of one stay. */
  let kept: Array<() => void> | undefined
  const rollbackTo = (savepoint: number): void => {
    for (const forget of kept?.splice(savepoint) ?? []) forget()
    unwritten.clear()
  }
  const keep = (standing: Standing): Standing => {
    const { channelId } = standing
    if (textsOf(standing).every(isKeptAsIs)) standings.set(channelId, standing)
    else standings.delete(channelId)
    kept?.push(() => standings.delete(channelId))
    return standing
  }
  const keepDraw = (draw: DrawRecord): DrawRecord => {
    const key = keyOf(draw.channelId, draw.claimId)
    if (draw.state === "reserved" && [draw.name, draw.claimId].every(isKeptAsIs)) open.set(key, draw)
    else open.delete(key)
    kept?.push(() => open.delete(key))
    return draw
  }
  const knownDraw = (channelId: string, claimId: string) => open.get(keyOf(channelId, claimId))
  return {
    over: (plain) => ({
      ...plain,
      channel: (channelId) =>
        keptOr(() => unwritten.get(channelId) ?? standings.get(channelId), plain.channel(channelId), keep),
      drawOf: (channelId, claimId) =>
        keptOr(() => knownDraw(channelId, claimId), plain.drawOf(channelId, claimId), keepDraw),
      putChannel: (standing) =>
        Effect.suspend(() => {
          keep(standing)
          unwritten.delete(standing.channelId)
          if (!standings.has(standing.channelId)) return plain.putChannel(standing)
          unwritten.set(standing.channelId, standing)
          return Effect.void
        }),
      changeDraw: (draw) => Effect.map(plain.changeDraw(draw), () => void keepDraw(draw)),
      putDraw: (draw) => Effect.map(plain.putDraw(draw), () => void keepDraw(draw))
    }),
    find: (channelId) => (kept === undefined ? standings.get(channelId) : undefined),
    findDraw: (channelId, claimId) => (kept === undefined ? knownDraw(channelId, claimId) : undefined),
    isDurable: () => kept === undefined,
    begin: () => {
      kept = []
    },
    savepoint: () => kept?.length ?? 0,
    rollbackTo,
    rollback: () => {
      rollbackTo(0)
      kept = undefined
    },
    commit: () => {
      kept = undefined
    },
    flush: (run) =>
      unwritten.size === 0
        ? Effect.void
        : Effect.andThen(
            Effect.forEach(unwritten.values(), (standing) => write(run, standing), { discard: true }),
            Effect.sync(() => unwritten.clear())
          )
  }
}

/** Looks into memory when the step runs: it may be made before the transaction begins. */
const keptOr = <A>(
  known: () => A | undefined,
  read: Effect.Effect<A | undefined, RecordFault>,
  take: (found: A) => A
): Effect.Effect<A | undefined, RecordFault> =>
  Effect.suspend(() => {
    const record = known()
    return record === undefined
      ? Effect.map(read, (found) => (found === undefined ? undefined : take(found)))
      : Effect.succeed(record)
  })

const keyOf = (channelId: string, claimId: string): string => `${channelId} ${claimId}`

/** The database alters some texts; a text inside JSON is never altered. */
const isKeptAsIs = (text: string): boolean => legible(text) === text

const textsOf = ({ block, channelId, network }: Standing) => [channelId, network, block.hash]
