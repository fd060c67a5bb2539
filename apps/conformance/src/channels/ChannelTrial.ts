/**
 * One row of the channel matrix: a buyer opens a channel with a purchase, then makes 1, 4 and 16 requests at once on it, and the shop
 * claims. Answers are seen at the buyer, runs and charges at the shop, claims and payouts on the chain.
 */
import { isDeepStrictEqual } from "node:util"

import * as BaseSepolia from "@pontage/devnet/BaseSepolia"
import { initialBalance } from "@pontage/devnet/BaseSepoliaChain"
import { x402Client, x402HTTPClient } from "@x402/fetch"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { type Hex } from "viem"
import { generatePrivateKey, privateKeyToAddress } from "viem/accounts"

import * as Goods from "../shops/Goods.ts"
import { untilOnSale } from "../shops/OnSale.ts"
import { buyers } from "./ChannelBuyers.ts"
import { type ChannelMarket, type FacilitatorName, fundedSince, sumsOf } from "./ChannelMarket.ts"
import { type ChannelShop, shops } from "./ChannelShops.ts"
import * as HandlerGate from "./HandlerGate.ts"

/** A row's parties. */
export interface ChannelRow {
  readonly buyer: keyof typeof buyers
  readonly shop: keyof typeof shops
  readonly facilitator: FacilitatorName
}

const sides = ["ours", "peer"] as const

/** All rows. */
export const rows: ReadonlyArray<ChannelRow> = [
  ...sides.flatMap((facilitator) => sides.flatMap((shop) => sides.map((buyer) => ({ buyer, shop, facilitator })))),
  { buyer: "ours", shop: "ours", facilitator: "service" },
  { buyer: "peer", shop: "ours", facilitator: "service" }
]

/** The numbers of requests at once. */
export const rounds = [1, 4, 16] as const

/** The purchase that opens the channel, and all rounds. */
const requests = rounds.reduce<number>((sum, one) => sum + one, 1)

/** The observations of a row. All but the answers are numbers of requests, with the one that opens the channel. */
export interface ChannelSight {
  /** How the requests of each round ended, such as `200 x1, channel_busy x3`. */
  readonly answers: ReadonlyArray<string>
  readonly served: number
  /** In the shop's books. */
  readonly charged: number
  /** On the chain. */
  readonly claimed: number
  /** The payee's tokens. */
  readonly paidOut: number
  /** The payer's deposit and account less what is left in both. */
  readonly lost: number
}

/** The rows that cannot work, and why. */
export const ruleOf = ({ facilitator, shop }: ChannelRow): string | undefined =>
  shop === "ours" && facilitator !== "ours"
    ? "our shop keeps the ledger of channels with our facilitator in its own process; with another one it sells nothing (503)"
    : undefined

/** Whether the published client and shop meet: a request on a channel in use is refused there, and the client gives up. */
export const isPublishedPair = ({ buyer, shop }: ChannelRow): boolean => buyer === "peer" && shop === "peer"

/** The expected observations. */
export const expected = (row: ChannelRow): ChannelSight => {
  if (ruleOf(row) !== undefined) return { ...nothing, answers: [closed] }
  const isBusy = isPublishedPair(row)
  const answers = rounds.map((together) =>
    isBusy && together > 1 ? `200 x1, channel_busy x${together - 1}` : `200 x${together}`
  )
  const bought = isBusy ? rounds.length + 1 : requests
  return { answers, served: bought, charged: bought, claimed: bought, paidOut: bought, lost: bought }
}

const nothing = { served: 0, charged: 0, claimed: 0, paidOut: 0, lost: 0 }

/** A row that was run. */
export interface Result {
  readonly row: ChannelRow
  readonly sight: ChannelSight
  /** Whether it came out as it should. */
  readonly met: boolean
}

/** Runs all rows, one after the other. */
export const runAll = (market: ChannelMarket) =>
  Effect.forEach(rows, (row) =>
    Effect.map(Effect.scoped(run(market, row)), (sight): Result => ({
      row,
      sight,
      met: isDeepStrictEqual(expected(row), sight)
    }))
  )

/** Our shop's answer while it does not sell. */
const closed = "503"

const run = Effect.fnUntraced(function* (market: ChannelMarket, row: ChannelRow) {
  const { chain } = market
  const gate = HandlerGate.make()
  const payTo = privateKeyToAddress(generatePrivateKey())
  const { facilitator } = row
  const opening = yield* Effect.exit(shops[row.shop].open(market, { facilitator, payTo, before: gate.pass }))
  if (Exit.isFailure(opening)) return { ...nothing, answers: [String(Cause.squash(opening.cause))] }
  const shop = opening.value
  if (ruleOf(row) === undefined) yield* untilOnSale(shop.url)
  const payer = yield* chain.payer
  const start = yield* Effect.promise(() => chain.node.client.getBlockNumber())
  const { make, takesTurns } = buyers[row.buyer]
  const paying = make({ key: payer.key, rpcUrl: chain.node.rpcUrl })
  const call = answerOf(paying, `${shop.url}${Goods.paths.report}`)
  const first = yield* call
  if (first !== "200") return { ...nothing, answers: [first] }
  const answers: Array<string> = []
  for (const together of rounds) {
    gate.begin(takesTurns ? 0 : together)
    const one = Effect.tap(call, () => Effect.sync(gate.answered))
    const all = Effect.forEach(Array.from({ length: together }), () => one, { concurrency: "unbounded" })
    answers.push(counted(yield* all))
  }
  return { answers, ...(yield* booked(market, shop, { start, payTo, payer: payer.address })) }
})

/** The books of shop and chain, once the chain shows everything as claimed and paid out. */
const booked = Effect.fnUntraced(function* (
  market: ChannelMarket,
  shop: ChannelShop,
  { payer, payTo, start }: { readonly start: bigint; readonly payTo: Hex; readonly payer: Hex }
) {
  const { chain } = market
  const [channelId, ...others] = yield* fundedSince(market, start)
  if (channelId === undefined || others.length > 0) return yield* Effect.die("the buyer did not use one channel")
  const charged = yield* shop.charged(channelId)
  yield* shop.claim
  while ((yield* chain.balanceOf(payTo)) < charged) yield* Effect.sleep("20 millis")
  const { balance, claimed } = yield* sumsOf(market, channelId)
  const kept = (yield* chain.balanceOf(payer)) + balance - claimed
  return {
    served: shop.goods.runs[Goods.paths.report],
    charged: inRequests(charged),
    claimed: inRequests(claimed),
    paidOut: inRequests(yield* chain.balanceOf(payTo)),
    lost: inRequests(initialBalance - kept)
  }
})

const inRequests = (sum: bigint): number => Number(sum) / Number(BaseSepolia.amount)

const reading = new x402HTTPClient(new x402Client())

/** Attempts of a request that lost its turn: on a busy machine others overtake it, and it is neither run nor charged. */
const attempts = 20

const answerOf = (paying: typeof fetch, url: string): Effect.Effect<string> =>
  Effect.promise(() => onceOf(paying, url)).pipe(
    Effect.repeat({
      while: (answer) => answer === "cumulative_amount_mismatch" || answer === "503",
      times: attempts
    })
  )

/** The status, or the reason of a refusal in x402's word for it. */
const onceOf = async (paying: typeof fetch, url: string): Promise<string> => {
  try {
    const { headers, status } = await paying(url)
    if (status !== 402) return `${status}`
    const { error } = reading.getPaymentRequiredResponse((name) => headers.get(name))
    return (error ?? "402").replace(/^invalid_batch_settlement_evm_/, "")
  } catch (error) {
    return String(error)
  }
}

/** Answers with their numbers, a purchase first. */
const counted = (answers: ReadonlyArray<string>): string =>
  [...Map.groupBy(answers.toSorted(), (answer) => answer)]
    .map(([answer, each]) => `${answer} x${each.length}`)
    .join(", ")
