/**
 * The payments of one payer in one asset: the open ones, which may reserve a part of its balance, and those that have
 * ended lately.
 */
import { Amount, type FacilitatorUnavailable, type PaymentStore } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import type { Transaction } from "../database/Database.ts"
import { type OpenPayment, payerOf } from "./OpenPayment.ts"
import { Reservation, toExecution } from "./PaymentRow.ts"
import { asks, reads, type RecordFault } from "./Records.ts"

/** The payer's rows in one database, read in a transaction. */
export interface PayerRows {
  readonly open: (
    transaction: Transaction,
    payment: PaymentStore.NewPayment
  ) => Effect.Effect<ReadonlyArray<OpenPayment>, RecordFault>
  /** The amounts of ended payments with a serial above this one: few, since it was read a moment ago. */
  readonly endedAfter: (
    transaction: Transaction,
    payment: PaymentStore.NewPayment,
    serial: bigint
  ) => Effect.Effect<ReadonlyArray<bigint>, RecordFault>
}

const ofPayer = "network = ? AND asset = ? AND payer = ?"
const askReservations = asks("payment", Reservation)
const reserving = `SELECT ${Object.keys(Reservation.fields).join(", ")} FROM payment WHERE ${ofPayer} AND active`
const askAmounts = asks("payment", Schema.Struct({ amount: Amount.FromText }))
const ended = `SELECT amount FROM payment WHERE ${ofPayer} AND serial > ? AND NOT active`

/** The rows as the database has them. */
export const plain: PayerRows = {
  open: ({ run }, payment) =>
    Effect.map(askReservations(run, reserving, payerOf(payment)), (rows) =>
      rows.map(({ amount, execution, lane, payment_id, status }) => ({
        paymentId: payment_id,
        amount,
        status,
        lane: lane ?? undefined,
        execution: toExecution(execution)
      }))
    ),
  endedAfter: ({ run }, payment, serial) =>
    Effect.map(askAmounts(run, ended, [...payerOf(payment), serial]), (rows) => rows.map(({ amount }) => amount))
}

/** The query of a payer's open payments (`payerOf`); one row without a payment if there are none. */
export const askingOpen = `SELECT last.serial AS newest, p.payment_id, p.amount
  FROM (SELECT coalesce(max(serial), 0) AS serial FROM payment) last
  LEFT JOIN payment p ON p.network = ? AND p.asset = ? AND p.payer = ? AND p.active`

const readOpen = reads(
  "payment",
  Schema.Struct({
    newest: Schema.BigInt,
    payment_id: Schema.NullOr(Schema.String),
    amount: Schema.NullOr(Amount.FromText)
  })
)

/** Decodes the rows of `askingOpen`. */
export const toOpen = (
  rows: ReadonlyArray<unknown>
): Effect.Effect<PaymentStore.OpenPayments, FacilitatorUnavailable> => {
  const newest = withoutOpen(rows)
  if (newest !== undefined) return Effect.succeed({ amounts: new Map(), newest })
  return Effect.map(readOpen(rows), (open) => {
    const named = open.flatMap(({ amount, payment_id }) =>
      payment_id === null || amount === null ? [] : [[payment_id, amount] as const]
    )
    return { amounts: new Map(named), newest: open[0]?.newest ?? 0n }
  })
}

/** The newest serial if the payer has no open payment: most have none, and these rows need no decoder. */
const withoutOpen = (rows: ReadonlyArray<unknown>): bigint | undefined => {
  const [row] = rows
  if (rows.length !== 1 || typeof row !== "object" || row === null) return undefined
  const isNone = "payment_id" in row && row.payment_id === null && "amount" in row && row.amount === null
  return isNone && "newest" in row && typeof row.newest === "bigint" ? row.newest : undefined
}
