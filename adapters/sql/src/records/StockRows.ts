/** The draws on operators' own stocks, as columns of the payments that draw. */
import { Amount, type Delivery, Settlement, Stock } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import type { Transaction } from "../database/Database.ts"
import type { Dialect } from "../database/SqlDialect.ts"
import { asks, type RecordFault } from "./Records.ts"
import { open } from "./StockColumns.ts"

const dead = Settlement.paymentStates
  .filter(Settlement.isDead)
  .map((state) => `'${state}'`)
  .join(", ")

/** The open draws on a stock, and those that were paid for good since a time. */
const drawing = `SELECT p.stock_pair, p.stock_amount, p.stock_at, p.stock_until FROM payment p
  WHERE p.stock = ? AND p.stock_until >= ? AND p.status NOT IN (${dead})`
const askDraws = asks(
  "payment",
  Schema.Struct({
    stock_pair: Schema.String,
    stock_amount: Amount.FromText,
    stock_at: Schema.BigInt,
    stock_until: Schema.BigInt
  })
)

/** Serialises the claims on a stock: each sees what the others have drawn. */
export const takeTurn = (dialect: Dialect, transaction: Transaction, stock: string) =>
  dialect.lock === undefined ? Effect.void : Effect.asVoid(transaction.run(dialect.lock, [`stock ${stock}`]))

/** The draws on a stock that its limits depend on. */
export const draws = (
  { now, run }: Transaction,
  stock: string
): Effect.Effect<ReadonlyArray<Delivery.RecordedDraw>, RecordFault> =>
  Effect.map(askDraws(run, drawing, [stock, BigInt(now - Stock.dayMillis)]), (rows) =>
    rows.map(({ stock_amount: amount, stock_at, stock_pair: pair, stock_until }) => ({
      stock,
      pair,
      amount,
      at: Number(stock_at),
      freedAt: stock_until === open ? undefined : Number(stock_until)
    }))
  )
