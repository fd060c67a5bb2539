/**
 * Buyers put to work at one market, and what was seen: by them, on the chain, and in the CPU time of each process.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import * as AnvilCpu from "./AnvilCpu.ts"
import type { PaidMarket } from "./PaidMarket.ts"
import type { RoleProcess } from "./roles/RoleProcess.ts"

/** The number of buyers at the same time, each buying one thing after the other, and their duration. */
export interface Level {
  readonly buyers: number
  readonly millis: number
}

/** The report of a crowd of buyers. */
const Seen = Schema.Struct({
  answers: Schema.Record(Schema.String, Schema.Number),
  requests: Schema.Number,
  millis: Schema.Array(Schema.Number)
})
const decodeSeen = Schema.decodeUnknownSync(Schema.fromJsonString(Seen))
/** The observations of a crowd of buyers. */
export type Seen = typeof Seen.Type

/** One measurement. */
export interface Load {
  readonly served: number
  /** Purchases that did not end with what was bought. */
  readonly failed: number
  /** Requests beyond the two that a purchase takes. */
  readonly repeated: number
  /** Payments that the chain knows of. */
  readonly transfers: number
  readonly perSecond: number
  readonly millis: ReadonlyArray<number>
  /** Microseconds for each purchase that was served. */
  readonly cpu: Readonly<Record<Party, number>>
}

/** The roles whose CPU time is reported separately. */
export type Party = (typeof parties)[number]
/** All of them. */
export const parties = ["facilitator", "shop", "buyers", "anvil"] as const

/** Puts them to work. */
export const run = async (market: PaidMarket, level: Level): Promise<Load> => {
  const { chain } = market
  const block = await chain.client.getBlockNumber({ cacheTime: 0 })
  const before = await usage(market)
  const start = process.hrtime.bigint()
  const { answers, millis, requests } = await buy(market.buyers, level)
  const seconds = Number(process.hrtime.bigint() - start) / 1e9
  const after = await usage(market)
  const served = answers["200"] ?? 0
  const cpuOf = (party: Party) => (after[party] - before[party]) / served
  return {
    served,
    failed: millis.length - served,
    repeated: requests - 2 * millis.length,
    transfers: await Effect.runPromise(chain.paidSince(block)),
    perSecond: served / seconds,
    millis,
    cpu: { facilitator: cpuOf("facilitator"), shop: cpuOf("shop"), buyers: cpuOf("buyers"), anvil: cpuOf("anvil") }
  }
}

/** Has a crowd buy, and tells what it has seen. */
export const buy = async (crowd: RoleProcess, { buyers, millis }: Level): Promise<Seen> => {
  const response = await fetch(`${crowd.url}/?buyers=${buyers}&millis=${millis}`)
  return decodeSeen(await response.text())
}

const usage = async ({ buyers, facilitator, shop }: PaidMarket): Promise<Record<Party, number>> => ({
  facilitator: await facilitator.cpuMicros(),
  shop: await shop.cpuMicros(),
  buyers: await buyers.cpuMicros(),
  anvil: AnvilCpu.micros()
})
