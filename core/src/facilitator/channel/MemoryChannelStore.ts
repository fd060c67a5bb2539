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
}

/** An empty store. */
export const make = (): ChannelStore["Service"] => {
  const entries = new Map<string, Entry>()
  const drawsOf = (channelId: string) => [...(entries.get(channelId)?.draws.values() ?? [])]
  const records: ChannelLedger.ChannelRecords<never> = {
    channel: (channelId) => Effect.sync(() => entries.get(channelId)?.standing),
    draw: (channelId, name) => Effect.sync(() => entries.get(channelId)?.draws.get(name)),
    drawOf: (channelId, claimId) => Effect.sync(() => drawsOf(channelId).find((draw) => draw.claimId === claimId)),
    reserved: (channelId) => Effect.sync(() => drawsOf(channelId).filter(({ state }) => state === "reserved")),
    create: (standing) =>
      Effect.sync(() => {
        if (!entries.has(standing.channelId)) entries.set(standing.channelId, { standing, draws: new Map() })
      }),
    putChannel: (standing) =>
      Effect.sync(() => {
        const entry = entries.get(standing.channelId)
        if (entry !== undefined) entry.standing = standing
      }),
    putDraw: (draw) => Effect.sync(() => void entries.get(draw.channelId)?.draws.set(draw.name, draw))
  }
  return ChannelLedger.make<never>({
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
    forget: (before) => Effect.sync(() => forgotten(entries, before))
  })
}

const forgotten = (entries: ReadonlyMap<string, Entry>, before: number): number => {
  let count = 0
  for (const { draws } of entries.values())
    for (const { name, state, until } of draws.values())
      if (state !== "reserved" && until < before && draws.delete(name)) count++
  return count
}

/** The store as a layer. */
export const layer: Layer.Layer<ChannelStore> = Layer.sync(ChannelStore, make)
