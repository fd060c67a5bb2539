/**
 * Paid requests on payment channels over HTTP, at our shop and at the peer's: both on Express, each with its facilitator, the same
 * vouchers of the same buyers. First each buyer has a channel of its own; then all share one, and sign for the same sum at once.
 */
import { mkdirSync } from "node:fs"
import { join } from "node:path"

import * as Effect from "effect/Effect"

import * as BenchFolder from "../../BenchFolder.ts"
import { median, percentile } from "../../Median.ts"
import * as PeerChain from "../../PeerChain.ts"
import * as ChannelShops from "../../roles/ChannelShops.ts"
import type { Row } from "../../Row.ts"
import * as CryptoLayers from "../CryptoLayers.ts"
import * as ChannelLoad from "./ChannelLoad.ts"
import * as DrawRequests from "./DrawRequests.ts"

/** Requests at once, and the requests of one round. */
const stages = [
  { together: 1, requests: 400 },
  { together: 16, requests: 1_600 },
  { together: 32, requests: 1_600 }
] as const

const rounds = 3
const warmUp = 800

/** Requests at once on one channel, and how often. */
const shared = [
  { together: 4, times: 40 },
  { together: 16, times: 20 }
] as const

const most = 32
/** The channel that buyers share, behind their own. */
const sharedChannel = most
const saltsEach = 1_000

/** Milliseconds that a handler takes on the channel that all share: requests at once meet there, as with any handler that waits. */
const otherMillis = 20

const terms: ChannelShops.Terms = { price: `$${Number(ChannelLoad.price) / 1e6}`, withdrawDelay: 86_400, otherMillis }

const [inFiles, inMemory] = ["npm's server, records in files", "npm's server, records in memory"] as const

type Open = (chain: PeerChain.PeerChain, folder: string) => Promise<ChannelShops.ChannelShop>

const shops: Readonly<Record<string, Open>> = {
  "ours, facilitator in the shop on SQLite": (chain, folder) => ChannelShops.ours(chain, terms, folder),
  "ours, facilitator at a URL on SQLite": (chain, folder) => ChannelShops.oursAtService(chain, terms, folder),
  [inFiles]: (chain, folder) => ChannelShops.theirs(chain, terms, folder),
  [inMemory]: (chain) => ChannelShops.theirs(chain, terms)
}

interface Market {
  readonly name: string
  readonly isOurs: boolean
  readonly shop: ChannelShops.ChannelShop
  readonly target: DrawRequests.DrawTarget
  /** The goods whose handler takes its time. */
  readonly other: DrawRequests.DrawTarget
}

/** All shops in turns. */
export const measure = Effect.gen(function* () {
  const [fastest] = yield* CryptoLayers.all
  if (fastest === undefined) return yield* Effect.die("no cryptography")
  const chain = yield* PeerChain.make
  const folder = yield* BenchFolder.make
  const markets = yield* Effect.forEach(
    Object.entries(shops),
    Effect.fnUntraced(function* ([name, open], index) {
      const load = yield* ChannelLoad.make(chain, most + 1, fastest.crypto, index * saltsEach)
      const files = join(folder, `${index}`)
      mkdirSync(files)
      const shop = yield* Effect.acquireRelease(
        Effect.promise(() => open(chain, files)),
        ({ stop }) => Effect.promise(stop)
      )
      const buyers = { load, owed: new Map<number, bigint>() }
      const target = { ...buyers, url: `${shop.url}/report` }
      const other = { ...buyers, url: `${shop.url}/other` }
      return { name, isOurs: name.startsWith("ours"), shop, target, other } satisfies Market
    })
  )
  return yield* Effect.promise(() => rowsOf(markets))
})

interface Load extends DrawRequests.DrawsSeen {
  readonly market: Market
  readonly together: number
  /** Milliseconds of CPU for each request that was served. */
  readonly shopMillis: number
  readonly facilitatorMillis: number
}

const measured = async (market: Market, together: number, run: () => Promise<DrawRequests.DrawsSeen>) => {
  const { cpuMicros, facilitatorMicros } = market.shop
  const before = [await cpuMicros(), await facilitatorMicros()] as const
  const seen = await run()
  const each = 1_000 * Math.max(1, seen.millis.length)
  const shopMillis = ((await cpuMicros()) - before[0]) / each
  const facilitatorMillis = ((await facilitatorMicros()) - before[1]) / each
  return { ...seen, market, together, shopMillis, facilitatorMillis } satisfies Load
}

const rowsOf = async (markets: ReadonlyArray<Market>): Promise<ReadonlyArray<Row>> => {
  for (const { target } of markets) await DrawRequests.onOwnChannels(target, most, warmUp)
  const own: Array<Load> = []
  for (const { requests, together } of stages)
    for (let round = 0; round < rounds; round++)
      for (const market of markets)
        own.push(await measured(market, together, () => DrawRequests.onOwnChannels(market.target, together, requests)))
  const one: Array<Load> = []
  for (const { times, together } of shared)
    for (const market of markets)
      one.push(
        await measured(market, together, () => DrawRequests.onOneChannel(market.other, sharedChannel, together, times))
      )
  own.forEach(check)
  return [
    ...stages.flatMap(({ together }) => ownRows(own.filter((load) => load.together === together))),
    ...one.map((load) => sharedRow(load))
  ]
}

/** Our figures mean nothing if a request was refused. */
const check = ({ market, refused, together }: Load): void => {
  if (market.isOurs && refused.size > 0)
    throw new Error(`${market.name}, ${together} at once, refused requests: ${reasonsOf([refused])}`)
}

const rateOf = ({ millis, seconds }: Load): number => millis.length / seconds

const ownRows = (loads: ReadonlyArray<Load>): ReadonlyArray<Row> => {
  const markets = [...new Set(loads.map(({ market }) => market))]
  return markets.flatMap((market) => {
    const mine = loads.filter((load) => load.market === market)
    const [{ together } = { together: 0 }] = mine
    const ratios = (figure: (load: Load) => number, isBetterLower: boolean) =>
      markets
        .filter(({ isOurs }) => market.isOurs && !isOurs)
        .map((than) => {
          const theirs = median(loads.filter((load) => load.market === than).map(figure))
          const quotient = theirs / median(mine.map(figure))
          return { than: than.name, ratio: isBetterLower ? quotient : 1 / quotient }
        })
    const name = `paid by a channel each, ${together} at once: ${market.name}`
    const facilitator = median(mine.map(({ facilitatorMillis }) => facilitatorMillis))
    return [
      {
        name,
        value: median(mine.map(rateOf)),
        unit: "per second",
        note: seenOf(mine),
        ratios: ratios(rateOf, false)
      },
      {
        name: `${name}: shop`,
        value: median(mine.map(({ shopMillis }) => shopMillis)),
        unit: "ms CPU",
        ...(facilitator > 0 && { note: `its facilitator ${facilitator.toFixed(2)}` }),
        ratios: ratios(({ facilitatorMillis, shopMillis }) => shopMillis + facilitatorMillis, true)
      }
    ] satisfies ReadonlyArray<Row>
  })
}

const sharedRow = (load: Load): Row => {
  const { market, shopMillis, together } = load
  return {
    name: `paid by one channel for all, ${together} at once, a handler of ${otherMillis} ms: ${market.name}`,
    value: rateOf(load),
    unit: "per second",
    note: `${seenOf([load])}; shop ${shopMillis.toFixed(2)} ms CPU a served one`
  }
}

const seenOf = (loads: ReadonlyArray<Load>): string => {
  const millis = loads.flatMap((load) => load.millis)
  const refused = loads.flatMap((load) => [...load.refused.values()]).reduce((a, b) => a + b, 0)
  const corrected = loads.reduce((sum, load) => sum + load.corrected, 0)
  const reasons = reasonsOf(loads.map((load) => load.refused))
  const times = `p50 ${percentile(millis, 50).toFixed(1)} ms, p99 ${percentile(millis, 99).toFixed(1)} ms`
  const lost = refused === 0 ? "none refused" : `${refused} of ${millis.length + refused} refused (${reasons})`
  return `${lost}${corrected > 0 ? `, ${corrected} vouchers signed again` : ""}; ${times}`
}

const reasonsOf = (all: ReadonlyArray<ReadonlyMap<string, number>>): string =>
  [
    ...Map.groupBy(
      all.flatMap((one) => [...one]),
      ([reason]) => reason
    )
  ]
    .map(([reason, counts]) => `${reason} ×${counts.reduce((sum, [, count]) => sum + count, 0)}`)
    .join(", ")
