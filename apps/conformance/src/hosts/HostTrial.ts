/**
 * Each of our hosts as strangers meet it: the newer x402 client and the Machine Payments Protocol's command line buy there,
 * from a shop that sells in every protocol.
 */
import { isDeepStrictEqual } from "node:util"

import * as Effect from "effect/Effect"

import * as PeerBuyer from "../buyers/PeerBuyer.ts"
import * as MppPrograms from "../mpp/MppPrograms.ts"
import type { MppMarket } from "../mpp/MppTrial.ts"
import { named } from "../PeerVersions.ts"
import { untilOnSale } from "../shops/OnSale.ts"
import * as OurHostShops from "../shops/OurHostShops.ts"
import * as OurKoaShop from "../shops/OurKoaShop.ts"
import * as OurNestShop from "../shops/OurNestShop.ts"
import * as TextTable from "../TextTable.ts"

/** The hosts, in the order of the table. */
export const hosts = {
  Koa: OurKoaShop.start,
  NestJS: OurNestShop.start,
  Express: OurHostShops.startExpress,
  Fastify: OurHostShops.startFastify,
  Hono: OurHostShops.startHono,
  "fetch handler": OurHostShops.startFetch,
  "Next's route handlers": OurHostShops.startNext
} as const

/** The strangers. */
export const strangers = {
  x402: MppPrograms.client(named("@x402/fetch"), false, PeerBuyer.make),
  mppx: MppPrograms.programs.mppxCommand
} as const

/** A host and a stranger. */
export interface HostRow {
  readonly host: keyof typeof hosts
  readonly stranger: keyof typeof strangers
}

/** The observation at a host. */
export interface HostSight {
  readonly ended: string
  readonly runs: number
  readonly transfers: number
}

/** The expected observation. */
export const expected: HostSight = { ended: "200", runs: 1, transfers: 1 }

/** A row that was run. */
export interface Result {
  readonly row: HostRow
  readonly sight: HostSight
  readonly met: boolean
}

/** Runs all rows, some at the same time. */
export const runAll = (market: MppMarket) =>
  Effect.forEach(
    rows,
    (row) => Effect.map(run(market, row), (sight): Result => ({ row, sight, met: isDeepStrictEqual(expected, sight) })),
    { concurrency: 4 }
  )

/** Lets a stranger buy at a host. */
const run = ({ chain, facilitator }: MppMarket, { host, stranger }: HostRow) =>
  Effect.scoped(
    Effect.gen(function* () {
      const { accounts, rpcUrl } = chain.node
      const shop = yield* hosts[host]({ facilitator, rpcUrl, payTo: accounts.payee.address })
      yield* untilOnSale(shop.url)
      const payer = yield* chain.payer
      const buy = yield* strangers[stranger].start({ key: payer.key, rpcUrl })
      const ended = yield* Effect.promise(() => buy(`${shop.url}/report`))
      const transfers = (yield* chain.spent(payer.address)).length
      return { ended, runs: shop.goods.runs["/report"], transfers } satisfies HostSight
    })
  )

const namesOf = <Name extends string>(parties: Readonly<Record<Name, unknown>>): ReadonlyArray<Name> =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys of a literal are its names; the type does not say so
  Object.keys(parties) as Array<Name>

/** All rows. */
export const rows: ReadonlyArray<HostRow> = namesOf(hosts).flatMap((host) =>
  namesOf(strangers).map((stranger) => ({ host, stranger }))
)

/** The table. */
export const toText = (results: ReadonlyArray<Result>): string =>
  TextTable.toText(
    ["our host", "buyer", "ended", "runs", "transfers", ""],
    results.map(({ met, row: { host, stranger }, sight: { ended, runs, transfers } }) => [
      host,
      strangers[stranger].title,
      ended,
      `${runs}`,
      `${transfers}`,
      met ? "" : "WRONG"
    ])
  )
