import type { BaseSepoliaChain } from "@pontage/devnet/BaseSepoliaChain"
/**
 * One cell of the matrix run: a buyer with a purse of its own buys a report, and what became of it is seen at the buyer, at
 * the handler and on the chain.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"

import * as Goods from "../shops/Goods.ts"
import { type Market, reasonOf } from "./Market.ts"
import { type BuyerName, buyers, type FacilitatorName, type ShopName } from "./Parties.ts"

/** The parties of a cell. */
export interface Cell {
  readonly buyer: BuyerName
  readonly shop: ShopName
  readonly facilitator: FacilitatorName
}

/** A transfer as the token's own event shows it. */
export interface SeenTransfer {
  readonly to: string
  readonly value: bigint
  readonly transaction: string
}

/** The observation. */
export interface Sight {
  /** The buyer's result: a response, or the error that it threw. */
  readonly status: number | undefined
  readonly text: string
  /** The transaction that the response's receipt names, as the buyer's own package reads it. */
  readonly receipt: string | undefined
  /** The number of runs of the handler. */
  readonly runs: number
  /** The amount that left the payer. */
  readonly transfers: ReadonlyArray<SeenTransfer>
  /** The payer's remaining balance. */
  readonly balance: bigint
}

/** Runs a cell. */
export const run = Effect.fnUntraced(function* (market: Market, { buyer, facilitator, shop: name }: Cell) {
  const { chain } = market
  const opened = market.shop(name, facilitator)
  const payer = yield* chain.payer
  if (Exit.isFailure(opened)) {
    const text = `the shop does not open: ${reasonOf(opened)}`
    return { ...nothing, text, runs: 0, ...(yield* onChain(chain, payer.address)) } satisfies Sight
  }
  const { goods, url } = opened.value
  const buy = buyers[buyer].start({ key: payer.key, rpcUrl: chain.node.rpcUrl, send: fetch })
  const before = goods.runs["/report"]
  const answer = yield* Effect.promise(() => answerOf(buyer, () => buy(`${url}${Goods.paths.report}`)))
  const runs = goods.runs["/report"] - before
  return { ...answer, runs, ...(yield* onChain(chain, payer.address)) } satisfies Sight
})

const nothing = { status: undefined, receipt: undefined }

const onChain = Effect.fnUntraced(function* (chain: BaseSepoliaChain, payer: `0x${string}`) {
  const transfers = (yield* chain.spent(payer)).map(({ to, transactionHash, value }) => ({
    to,
    value,
    transaction: transactionHash
  }))
  return { transfers, balance: yield* chain.balanceOf(payer) }
})

const answerOf = async (buyer: BuyerName, ask: () => Promise<Response>) => {
  try {
    const response = await ask()
    const receipt = buyers[buyer].receiptOf(response)
    return { status: response.status, receipt, text: await response.text() }
  } catch (error) {
    return { ...nothing, text: error instanceof Error ? `${error.name}: ${error.message}` : String(error) }
  }
}
