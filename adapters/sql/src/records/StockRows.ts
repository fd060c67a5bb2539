/** The draws on operators' own stocks, as columns of the payments that draw. */
import { Amount, type Delivery, PaymentStore, Settlement, Stock } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import type { Transaction } from "../database/Database.ts"
import { Reservation, toExecution } from "./PaymentRow.ts"
import { asks, type RecordFault } from "./Records.ts"
import { open } from "./StockColumns.ts"

const dead = Settlement.paymentStates
  .filter(Settlement.isDead)
  .map((state) => `'${state}'`)
  .join(", ")

/** The open draws on a stock, and those that were paid for good since a time. */
const drawing = `SELECT p.stock_pair, p.stock_amount, p.stock_at, p.stock_until, p.payment_id, p.status, p.lane, p.execution FROM payment p
  WHERE p.stock = ? AND p.stock_until >= ? AND p.status NOT IN (${dead})`
const DrawRow = Schema.Struct({
  stock_pair: Schema.String,
  stock_amount: Amount.FromText,
  stock_at: Schema.BigInt,
  stock_until: Schema.BigInt,
  payment_id: Schema.String,
  status: Reservation.fields.status,
  lane: Reservation.fields.lane,
  execution: Reservation.fields.execution
})

type DrawRow = typeof DrawRow.Type

const askDraws = asks("payment", DrawRow)

/** The refusal if the operator's stock has no room for the payment's delivery beside the other draws. */
export const unstocked = Effect.fnUntraced(function* (
  { now, run }: Transaction,
  { delivery, paymentId }: PaymentStore.NewPayment,
  { stock: cover }: PaymentStore.Cover
): Effect.fn.Return<Stock.Unstocked | undefined, RecordFault> {
  const draw = delivery?.draw
  if (draw === undefined) return undefined
  const rows = yield* askDraws(run, drawing, [draw.stock, BigInt(now - Stock.dayMillis)])
  const others = rows.filter(
    ({ execution, lane, payment_id, status }) =>
      payment_id !== paymentId &&
      PaymentStore.draws({ lane: lane ?? undefined, status, execution: toExecution(execution) }, now)
  )
  return Stock.judge(
    draw,
    others.map((row) => toDraw(draw.stock, row)),
    cover,
    now
  )
})

const toDraw = (stock: string, row: DrawRow): Delivery.RecordedDraw => ({
  stock,
  pair: row.stock_pair,
  amount: row.stock_amount,
  at: Number(row.stock_at),
  freedAt: row.stock_until === open ? undefined : Number(row.stock_until)
})
