/**
 * One row: a buyer at a shop of the Machine Payments Protocol, and what it gets when it buys, buys again, when its credential
 * comes for another path or once more, and when a paid response is lost. Runs and transfers are counted at shop and chain.
 */
import { isDeepStrictEqual } from "node:util"

import * as BaseSepoliaChain from "@pontage/devnet/BaseSepoliaChain"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

import * as OurFacilitator from "../facilitators/OurFacilitator.ts"
import { named } from "../PeerVersions.ts"
import type { ShopOptions } from "../RoleOptions.ts"
import type { Shop } from "../shops/Goods.ts"
import * as Goods from "../shops/Goods.ts"
import * as MppxShop from "../shops/MppxShop.ts"
import { untilOnSale } from "../shops/OnSale.ts"
import * as OurHostShops from "../shops/OurHostShops.ts"
import * as OurKoaShop from "../shops/OurKoaShop.ts"
import * as OurNestShop from "../shops/OurNestShop.ts"
import { programs } from "./MppPrograms.ts"
import * as MppSettler from "./MppSettler.ts"
import * as WireTap from "./WireTap.ts"

/** Everything that the rows share. */
export interface MppMarket {
  readonly chain: BaseSepoliaChain.BaseSepoliaChain
  readonly facilitator: string
  /** The peer's shop's own way to settle. */
  readonly settle: ReturnType<typeof MppSettler.make>
}

/** Opens it as long as the scope. */
export const market: Effect.Effect<MppMarket, unknown, Scope.Scope> = Effect.gen(function* () {
  const chain = yield* BaseSepoliaChain.make
  const { accounts, rpcUrl } = chain.node
  const [ours, theirs] = accounts.signers
  const { url: facilitator } = yield* OurFacilitator.start({ rpcUrl, key: ours.privateKey })
  const settle = MppSettler.make({ rpcUrl, key: theirs.privateKey, pollingMillis: 20 })
  return { chain, facilitator, settle } satisfies MppMarket
})

type Open = (market: MppMarket, options: ShopOptions) => ReturnType<typeof MppxShop.start>

type Start = (options: ShopOptions) => ReturnType<typeof MppxShop.start>

const ours =
  (start: Start): Open =>
  (_market, options) =>
    start({ ...options, only: "mpp", repeat: "same" })

/** A host that keeps no responses. */
const forgetful =
  (start: Start): Open =>
  (_market, options) =>
    start({ ...options, only: "mpp" })

/** The shops, in the order of the table. */
export const shops = {
  mppxAlone: {
    title: `${named("mppx")}, its own settlement`,
    isOurs: false,
    open: ((market, options) => MppxShop.start(options, market.settle)) as Open
  },
  mppxHere: {
    title: `${named("mppx")}, our facilitator`,
    isOurs: false,
    open: ((_market, options) => MppxShop.start(options)) as Open
  },
  koa: { title: "our Koa", isOurs: true, open: ours(OurKoaShop.start) },
  nest: { title: "our NestJS", isOurs: true, open: ours(OurNestShop.start) },
  express: { title: "our Express", isOurs: true, open: ours(OurHostShops.startExpress) },
  fetch: { title: "our fetch handler", isOurs: true, open: forgetful(OurHostShops.startFetch) }
} as const

/** A row's parties. */
export interface MppRow {
  readonly buyer: keyof typeof programs
  readonly shop: keyof typeof shops
}

const namesOf = <Name extends string>(parties: Readonly<Record<Name, unknown>>): ReadonlyArray<Name> =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys of a literal are its names; the type does not say so
  Object.keys(parties) as Array<Name>

/** All rows. */
export const rows: ReadonlyArray<MppRow> = namesOf(shops).flatMap((shop) =>
  namesOf(programs).map((buyer) => ({ buyer, shop }))
)

const isProgram = ({ buyer }: MppRow) => buyer === "ourCommand" || buyer === "mppxCommand"
const isForPrograms = ({ shop }: MppRow) => shop === "mppxHere" || shop === "koa"

/** The rows with the command lines at one of the peer's shops and one of ours: each of their purchases starts a program, for a second. */
export const quickRows: ReadonlyArray<MppRow> = rows.filter((row) => !isProgram(row) || isForPrograms(row))

/** The observations of a row, each in a few words. */
export interface MppSight {
  readonly bought: string
  readonly again: string
  readonly elsewhere: string
  readonly replayed: string
  readonly lost: string
}

const once = "200: 1 run, 1 paid"
const nothing = "0 run, 0 paid"

/**
 * The expected observations. Where a response was lost our client sends the same credential again: a shop that keeps responses
 * serves it, no shop is paid twice, and the refusal of a used credential ends the purchase at once. The peer's client signs
 * another one, and pays twice everywhere.
 */
export const expected = ({ buyer, shop }: MppRow): MppSight => {
  const bought = { bought: once, again: once }
  const isOurShop = shops[shop].isOurs
  const isKept = isOurShop && shop !== "fetch"
  const elsewhere = `${isOurShop ? 409 : 402}: ${nothing}`
  const replayed = isKept ? `200: ${nothing}` : elsewhere
  return { ...bought, elsewhere, replayed, lost: lostBy(buyer, isOurShop, isKept) }
}

const lostBy = (buyer: MppRow["buyer"], isOurShop: boolean, isKept: boolean): string => {
  if (buyer === "mppx") return "TypeError, then 200: 2 run, 2 paid"
  if (buyer === "mppxCommand") return "exit 1, then 200: 2 run, 2 paid"
  if (isKept) return once
  const said = buyer === "ourCommand" ? "exit 4" : isOurShop ? "ValidationError" : "PaymentRefused"
  return `${said}, then ${said}: 1 run, 1 paid`
}

/** A row that was run. */
export interface Result {
  readonly row: MppRow
  readonly sight: MppSight
  /** Whether it came out as it should. */
  readonly met: boolean
}

/** Runs these rows, some at the same time. */
export const runAll = (market: MppMarket, these: ReadonlyArray<MppRow> = rows) =>
  Effect.forEach(
    these,
    (row) =>
      Effect.map(run(market, row), (sight): Result => ({ row, sight, met: isDeepStrictEqual(expected(row), sight) })),
    { concurrency: 4 }
  )

const run = (market: MppMarket, { buyer, shop: name }: MppRow) =>
  Effect.scoped(
    Effect.gen(function* () {
      const { chain, facilitator } = market
      const { accounts, rpcUrl } = chain.node
      const tap = yield* WireTap.make
      const options = { facilitator, rpcUrl, payTo: accounts.payee.address, origin: tap.url }
      const shop = yield* shops[name].open(market, options)
      tap.connect(shop.url)
      yield* untilOnSale(tap.url)
      const payer = yield* chain.payer
      const buy = yield* programs[buyer].start({ key: payer.key, rpcUrl })
      const count = counter(
        shop,
        Effect.map(chain.spent(payer.address), ({ length }) => length)
      )
      const bought = yield* count(() => buy(`${tap.url}/report`))
      const again = yield* count(() => buy(`${tap.url}/report`))
      const last = tap.paid.at(-1) ?? {}
      const elsewhere = yield* count(() => statusOf(`${tap.url}/other`, last))
      const replayed = yield* count(() => statusOf(`${tap.url}/report`, last))
      tap.loseNext()
      const lost = yield* count(async () => {
        const first = await buy(`${tap.url}/report`)
        return first === "200" ? first : `${first}, then ${await buy(`${tap.url}/report`)}`
      })
      return { bought, again, elsewhere, replayed, lost } satisfies MppSight
    })
  )

const statusOf = async (url: string, headers: Readonly<Record<string, string>>): Promise<string> => {
  const response = await fetch(url, { headers })
  await response.arrayBuffer()
  return `${response.status}`
}

const runsOf = ({ runs }: Goods.Goods): number => Object.values(Goods.paths).reduce((sum, path) => sum + runs[path], 0)

/** Says how something ended, and how many runs and transfers it took. */
const counter = ({ goods }: Shop, transfers: Effect.Effect<number>) =>
  Effect.fnUntraced(function* (act: () => Promise<string>) {
    const [ran, moved] = [runsOf(goods), yield* transfers]
    const said = yield* Effect.promise(act)
    return `${said}: ${runsOf(goods) - ran} run, ${(yield* transfers) - moved} paid`
  })
