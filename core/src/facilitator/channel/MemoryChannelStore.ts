/** The ledger of channels in the memory of this process: for tests and trials. Its end loses every accepted voucher. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

import type { DrawRecord, Standing } from "./Channel.ts"
import * as ChannelLedger from "./ChannelLedger.ts"
import { ChannelStore } from "./ChannelStore.ts"

interface Entry {
  standing: Standing
  /** By their names. */
  readonly draws: Map<string, DrawRecord>
  /** The names of draws by their claims. */
  readonly names: Map<string, string>
  /** The names of open draws. */
  readonly open: Set<string>
}

/** An empty store. */
export const make = (): ChannelStore["Service"] => {
  const entries = new Map<string, Entry>()
  const drawOf = (entry: Entry | undefined, name: string | undefined) =>
    name === undefined ? undefined : entry?.draws.get(name)
  const putDraw = (draw: DrawRecord) =>
    Effect.sync(() => {
      const entry = entries.get(draw.channelId)
      if (entry !== undefined) put(entry, draw)
    })
  const records: ChannelLedger.ChannelRecords<never> = {
    channel: (channelId) => Effect.sync(() => entries.get(channelId)?.standing),
    draw: (channelId, name) => Effect.sync(() => entries.get(channelId)?.draws.get(name)),
    drawOf: (channelId, claimId) =>
      Effect.sync(() => {
        const entry = entries.get(channelId)
        return drawOf(entry, entry?.names.get(claimId))
      }),
    reserved: (channelId) =>
      Effect.sync(() => {
        const entry = entries.get(channelId)
        return [...(entry?.open ?? [])].flatMap((name) => drawOf(entry, name) ?? [])
      }),
    create: (standing) =>
      Effect.sync(() => {
        if (!entries.has(standing.channelId))
          entries.set(standing.channelId, { standing, draws: new Map(), names: new Map(), open: new Set() })
      }),
    putChannel: (standing) =>
      Effect.sync(() => {
        const entry = entries.get(standing.channelId)
        if (entry !== undefined) entry.standing = standing
      }),
    putDraw,
    changeDraw: putDraw
  }
  return ChannelLedger.make<never>({
    findDraw: records.drawOf,
    // Steps in memory never wait, so no other fiber runs between them, and none fails after a write.
    transact: (steps) => Effect.map(Clock.currentTimeMillis, (now) => Effect.runSync(steps(records, now))),
    find: records.channel,
    unclaimed: (network, take) =>
      Effect.map(Clock.currentTimeMillis, (now) =>
        [...entries.values()]
          .map(({ standing }) => standing)
          .filter((standing) => standing.network === network && standing.unclaimedSince !== undefined)
          .toSorted((one, other) => (one.unclaimedSince ?? 0) - (other.unclaimedSince ?? 0))
          .forEach((standing) => take(standing, now))
      ),
    configs: (network, take) =>
      Effect.sync(() => {
        for (const { standing } of entries.values()) if (standing.network === network) take(standing.config)
      }),
    forget: (before) => Effect.sync(() => forgotten(entries, before))
  })
}

/** Puts a draw in the place of an earlier one of its name. */
const put = ({ draws, names, open }: Entry, draw: DrawRecord): void => {
  const before = draws.get(draw.name)
  if (before !== undefined && before.claimId !== draw.claimId) names.delete(before.claimId)
  draws.set(draw.name, draw)
  names.set(draw.claimId, draw.name)
  if (draw.state === "reserved") open.add(draw.name)
  else open.delete(draw.name)
}

const forgotten = (entries: ReadonlyMap<string, Entry>, before: number): number => {
  let count = 0
  for (const { draws, names } of entries.values())
    for (const { claimId, name, state, until } of draws.values())
      if (state !== "reserved" && until < before && draws.delete(name) && names.delete(claimId)) count++
  return count
}

/** The store as a layer. */
export const layer: Layer.Layer<ChannelStore> = Layer.sync(ChannelStore, make)
