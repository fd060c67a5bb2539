/**
 * The operator's own stock on another network, from which deliveries are paid. A record draws its amount from the stock in the same step
 * in which it begins to reserve a part of its payer's balance, so that no two payments are promised the same money, and a pair's limit for
 * 24 hours holds across restarts. A payment that was given back, or whose lease has lapsed, draws nothing until it is wanted again: else
 * payments without a settlement would hold the stock.
 */
import { isDead, type PaymentState } from "../../protocol/Settlement.ts"
import type { StockDraw } from "../../scheme/Onward.ts"
import type { Delivered, RecordedDraw } from "./Delivery.ts"

/**
 * The present state of a stock: its balance on the chain, and the time by the store's clock before that was read. A draw that was paid
 * for good since then counts as reserved, because its money may still have been in that balance.
 */
export interface StockCover {
  readonly balance: bigint
  /** Unix milliseconds. */
  readonly readAt: number
  /** The most that the deliveries of the pair may draw in any 24 hours. */
  readonly perDay: bigint
}

/** A cover without limits, for a payment whose money has moved: its delivery is owed, whatever is left. */
export const unlimited: StockCover = { balance: 2n ** 256n, perDay: 2n ** 256n, readAt: 0 }

/**
 * A stock has no room for a draw: its balance is promised to others, or the pair's limit for 24 hours is reached; `unknown` without a
 * cover.
 */
export interface Unstocked {
  readonly _tag: "Unstocked"
  readonly limit: "balance" | "day" | "unknown"
  /** The rest of the limit, in the token's smallest unit. */
  readonly left: bigint
}

/** Draws that were made, or paid for good, longer ago count for nothing; milliseconds. */
export const dayMillis = 86_400_000

/** Whether a stock has room for a draw beside the others on it; without a cover it has none. */
export const judge = (
  { amount, pair }: StockDraw,
  others: Iterable<RecordedDraw>,
  cover: StockCover | undefined,
  now: number
): Unstocked | undefined => {
  if (cover === undefined) return { _tag: "Unstocked", limit: "unknown", left: 0n }
  let [reserved, today] = [0n, 0n]
  for (const other of others) {
    if (other.freedAt === undefined || other.freedAt >= cover.readAt) reserved += other.amount
    if (other.pair === pair && (other.at ?? now) > now - dayMillis) today += other.amount
  }
  if (reserved + amount > cover.balance) return { _tag: "Unstocked", limit: "balance", left: cover.balance - reserved }
  if (today + amount > cover.perDay) return { _tag: "Unstocked", limit: "day", left: cover.perDay - today }
  return undefined
}

/** Whether a record still counts against the limit for 24 hours of the stock that it draws on. */
export const isCounted = ({ delivery, status }: Delivered & { readonly status: PaymentState }, now: number): boolean =>
  delivery?.draw !== undefined && !isDead(status) && (delivery.draw.at ?? now) > now - dayMillis
