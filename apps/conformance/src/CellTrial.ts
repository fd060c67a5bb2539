/**
 * One cell of the matrix run: a buyer with a purse of its own buys a report, and what became of it is seen at the buyer, at
 * the handler and on the chain.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"

import type { ConformanceChain } from "./ConformanceChain.ts"
import * as Goods from "./Goods.ts"
import { type Market, reasonOf } from "./Market.ts"
import { type BuyerName, buyers, type FacilitatorName, type ShopName } from "./Parties.ts"

/** Who meets whom. */
export interface Cell {
  readonly buyer: BuyerName
  readonly shop: ShopName
  readonly facilitator: FacilitatorName
}

/** What was seen. */
export interface Sight {
  /** What the buyer got: an answer, or the error it threw. */
  readonly status: number | undefined
  readonly text: string
  /** How often the handler ran. */
  readonly runs: number
  /** What left the payer: to whom, and how much. */
  readonly transfers: ReadonlyArray<{ readonly to: string; readonly value: bigint }>
  /** What the payer still owns. */
  readonly balance: bigint
}

/** Runs a cell. */
export const run = Effect.fnUntraced(function* (market: Market, { buyer, facilitator, shop: name }: Cell) {
  const { chain } = market
  const opened = market.shop(name, facilitator)
  const payer = yield* chain.payer
  if (Exit.isFailure(opened)) {
    const text = `the shop does not open: ${reasonOf(opened)}`
    return { status: undefined, text, runs: 0, ...(yield* onChain(chain, payer.address)) } satisfies Sight
  }
  const { goods, url } = opened.value
  const buy = buyers[buyer].start({ key: payer.key, rpcUrl: chain.node.rpcUrl, send: fetch })
  const before = goods.runs["/report"]
  const answer = yield* Effect.promise(() => answerOf(() => buy(`${url}${Goods.paths.report}`)))
  const runs = goods.runs["/report"] - before
  return { ...answer, runs, ...(yield* onChain(chain, payer.address)) } satisfies Sight
})

const onChain = Effect.fnUntraced(function* (chain: ConformanceChain, payer: `0x${string}`) {
  const transfers = (yield* chain.spent(payer)).map(({ to, value }) => ({ to, value }))
  return { transfers, balance: yield* chain.balanceOf(payer) }
})

const answerOf = async (ask: () => Promise<Response>) => {
  try {
    const response = await ask()
    return { status: response.status, text: await response.text() }
  } catch (error) {
    return { status: undefined, text: error instanceof Error ? `${error.name}: ${error.message}` : String(error) }
  }
}
