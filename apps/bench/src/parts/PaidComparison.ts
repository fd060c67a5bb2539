/**
 * Paid requests from end to end, ours and the peer's in turns: how many a second at 1, 8, 32 and 64 buyers, what
 * each process spends on one, and whether every response has its transfer.
 */
import { join } from "node:path"

import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

import * as BenchFolder from "../BenchFolder.ts"
import { median, percentile } from "../Median.ts"
import * as PaidLoad from "../PaidLoad.ts"
import * as PaidMarket from "../PaidMarket.ts"
import * as PeerChain from "../PeerChain.ts"
import type { Ratio, Row } from "../Row.ts"

/** The load at which the targets are set: measured most often. */
const targetBuyers = 32
/**
 * A process that has rested while it was the others' turn spends half a second on getting its memory back: under load a
 * round is long enough to show the cost of a service that runs on.
 */
const stages: ReadonlyArray<PaidLoad.Level & { readonly rounds: number }> = [
  { buyers: 1, millis: 2_000, rounds: 3 },
  { buyers: 8, millis: 2_000, rounds: 3 },
  { buyers: targetBuyers, millis: 6_000, rounds: 5 },
  { buyers: 64, millis: 6_000, rounds: 3 }
]
/**
 * A service runs for weeks: what it costs while its code is being compiled, over the first 15 000 payments, says nothing.
 * One buyer comes first: of a new account, viem's nonce manager gives the first numbers twice to those who ask at once.
 */
const warmUp: ReadonlyArray<PaidLoad.Level> = [
  { buyers: 1, millis: 1_000 },
  ...Array.from({ length: 4 }, () => ({ buyers: targetBuyers, millis: 12_000 }))
]

const atItsBest = "the peer at its best"
const asItsExample = "the peer as its example"

/** All rows. */
export const measure: Effect.Effect<ReadonlyArray<Row>, PeerChain.Failure, Scope.Scope> = Effect.gen(function* () {
  const folder = yield* BenchFolder.make
  const markets = yield* Effect.forEach(setUps(folder), opened)
  const loads = yield* Effect.promise(() => loadsOf(markets))
  return stages.flatMap(({ buyers }) => rowsOf(buyers, loads))
})

type SetUp = (chain: PeerChain.PeerChain) => Promise<PaidMarket.PaidMarket>

const setUps = (folder: string): ReadonlyArray<SetUp> => {
  const inFile = (name: string) => `sqlite:${join(folder, `${name}.sqlite`)}`
  return [
    ours({ name: "ours, SQLite, in batches", store: inFile("batches"), batches: true }),
    theirs({ name: atItsBest, shop: "express", nonces: "counted", pollingMillis: 20 }),
    ours({ name: "ours, SQLite, one by one", store: inFile("alone"), batches: false }),
    theirs({ name: asItsExample, shop: "express", nonces: "asked" }),
    ours({ name: "ours, memory, in batches", store: "memory", batches: true }),
    theirs({ name: `${atItsBest}, Hono`, shop: "hono", nonces: "counted", pollingMillis: 20 })
  ]
}

const ours =
  (options: { readonly name: string; readonly store: string; readonly batches: boolean }): SetUp =>
  (chain) =>
    PaidMarket.ours(chain, { ...options, key: PeerChain.gasKey(chain) })

const theirs =
  ({
    name,
    shop,
    ...facilitator
  }: Pick<PaidMarket.Theirs, "name" | "shop"> & Readonly<Record<string, unknown>>): SetUp =>
  (chain) =>
    PaidMarket.theirs(chain, { name, shop, facilitator: { ...facilitator, key: PeerChain.gasKey(chain) } })

/**
 * Each on a chain of its own: a node copies what was written for every block that it makes, so that on one chain each
 * would pay for what the others have sold.
 */
const opened = (open: SetUp) => PeerChain.withItsOwn(open, PaidMarket.stop)

interface Measured extends PaidLoad.Load {
  readonly market: PaidMarket.PaidMarket
  readonly buyers: number
}

/** In turns, so that a busy moment of the machine meets everybody. */
const loadsOf = async (markets: ReadonlyArray<PaidMarket.PaidMarket>) => {
  const loads: Array<Measured> = []
  for (const level of warmUp) {
    for (const market of markets) await PaidLoad.run(market, level)
  }
  for (const { buyers, millis, rounds } of stages) {
    for (let round = 0; round < rounds; round++) {
      for (const market of markets) {
        const load = await PaidLoad.run(market, { buyers, millis })
        loads.push({ ...load, market, buyers })
        check(market, load)
      }
    }
  }
  return loads
}

/** Our figures mean nothing if a payment was lost or bought nothing. */
const check = ({ isOurs, name }: PaidMarket.PaidMarket, { failed, served, transfers }: PaidLoad.Load): void => {
  if (!isOurs || (failed === 0 && transfers === served)) return
  throw new Error(`${name}: ${failed} purchases failed, ${served} were served, ${transfers} are on the chain`)
}

const rate = ({ perSecond }: Measured) => perSecond
const facilitator = ({ cpu }: Measured) => cpu.facilitator

const rowsOf = (buyers: number, all: ReadonlyArray<Measured>): ReadonlyArray<Row> => {
  const loads = all.filter((load) => load.buyers === buyers)
  const markets = [...new Set(loads.map(({ market }) => market))]
  const of = (name: string) => loads.filter(({ market }) => market.name === name)
  return markets.flatMap(({ isOurs, name }) => {
    const mine = of(name)
    const others = isOurs ? [atItsBest, asItsExample] : []
    const targetOf = (target: number) => (buyers === targetBuyers ? { target } : {})
    const compared = (figure: (load: Measured) => number, isBetterLower: boolean, target: number) =>
      others.map((than): Ratio => {
        const quotient = median(of(than).map(figure)) / median(mine.map(figure))
        const ratio = isBetterLower ? quotient : 1 / quotient
        return Object.assign({ than, ratio }, targetOf(target))
      })
    return [
      {
        name: `paid, ${buyers} at once: ${name}`,
        value: median(mine.map(rate)),
        unit: "per second",
        note: seen(mine),
        ratios: compared(rate, false, 5)
      },
      {
        name: `paid, ${buyers} at once: ${name}: facilitator`,
        value: median(mine.map(facilitator)),
        unit: "µs CPU",
        note: spent(mine),
        ratios: compared(facilitator, true, 10)
      }
    ]
  })
}

const sum = (values: ReadonlyArray<number>) => values.reduce((a, b) => a + b, 0)

const seen = (loads: ReadonlyArray<Measured>): string => {
  const total = (figure: (load: Measured) => number) => sum(loads.map(figure))
  const served = total((load) => load.served)
  const failed = total((load) => load.failed)
  const transfers = total((load) => load.transfers)
  const millis = loads.flatMap((load) => load.millis)
  const times = `p50 ${percentile(millis, 50).toFixed(0)} ms, p99 ${percentile(millis, 99).toFixed(0)} ms`
  const repeated = total((load) => load.repeated)
  return `${failed} of ${served + failed} failed, ${repeated} requests repeated, ${transfers} transfers for ${served} served; ${times}`
}

const spent = (loads: ReadonlyArray<Measured>): string =>
  PaidLoad.parties
    .filter((party) => party !== "facilitator")
    .map((party) => `${party} ${median(loads.map(({ cpu }) => cpu[party])).toFixed(0)}`)
    .join(", ")
