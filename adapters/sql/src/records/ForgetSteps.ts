/**
 * Deletes old records: their rows, histories, contracts and notices, and the lane transactions that carried no other
 * payment. The work of one step is bounded, so no other write waits long for it.
 */
import { TransactionCost, type PaymentStore, RecordAge } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import type { Transaction } from "../database/Database.ts"
import type { Dialect, Value } from "../database/SqlDialect.ts"
import { asks, type RecordFault, type Records } from "./Records.ts"

type Stored = PaymentStore.StoredPayment

const askPayments = asks("payment", Schema.Struct({ payment: Schema.BigInt }))
const askNumbers = asks("lane_transaction", Schema.Struct({ number: Schema.BigInt }))

/** Numbers below the emptied ones that are checked too: transactions without payments lie between them. */
const between = 64n

/** The steps, over the records of one database. */
export const make = (dialect: Dialect, records: Records) => {
  const oldest = `WHERE p.serial > ? AND p.serial < (SELECT max(serial) FROM payment) ORDER BY p.serial
    LIMIT CAST(? AS BIGINT) ${dialect.skipLocked}`
  const noticed = `SELECT payment FROM notice WHERE ${dialect.isIn("payment", "bigint")}
    AND (NOT closed OR id = (SELECT max(id) FROM notice))`
  const ofOpenTransaction = `SELECT p.serial AS payment FROM payment p JOIN lane_transaction t ON t.lane = p.lane AND t.number = p.lane_number
    WHERE ${dialect.isIn("p.serial", "bigint")} AND NOT t.closed`
  const emptied = `SELECT t.number FROM lane_transaction t WHERE t.lane = ? AND t.number >= ? AND t.number <= ? AND t.closed
    AND NOT EXISTS (SELECT 1 FROM payment p WHERE p.lane = t.lane AND p.lane_number = t.number)`
  const deletions = ["notice", "event", "contract"].map(
    (table) => `DELETE FROM ${table} WHERE ${dialect.isIn("payment", "bigint")}`
  )
  const transactionDeletions = ["attempt", "lane_transaction"].map(
    (table) => `DELETE FROM ${table} WHERE lane = ? AND ${dialect.isIn("number", "bigint")}`
  )

  const removeTransactions = Effect.fnUntraced(function* ({ run }: Transaction, gone: ReadonlyArray<Stored>) {
    for (const [lane, { first, last }] of rangesOf(gone)) {
      const rows = yield* askNumbers(run, emptied, [lane, first - between, last])
      if (rows.length === 0) continue
      const numbers = JSON.stringify(rows.map(({ number }) => `${number}`))
      for (const text of transactionDeletions) yield* run(text, [lane, numbers])
    }
  })

  return {
    forget: Effect.fnUntraced(function* (
      transaction: Transaction,
      ageMillis: number,
      after: bigint,
      limit: number
    ): Effect.fn.Return<PaymentStore.Forgotten, RecordFault> {
      const { now, run } = transaction
      const serials = yield* records.serials(transaction, oldest, [after, BigInt(limit)])
      const found = yield* records.ofSerials(transaction, serials)
      const young = found.findIndex((one) => RecordAge.isYoung(one, now, ageMillis))
      const old = young === -1 ? found : found.slice(0, young)
      const over = old.filter((one) => RecordAge.isForgettable(one, now, ageMillis))
      const needed = new Set<bigint>()
      for (const text of over.length === 0 ? [] : [noticed, ofOpenTransaction]) {
        for (const { payment } of yield* askPayments(run, text, [listOf(over)])) needed.add(payment)
      }
      const gone = over.filter(({ serial }) => !needed.has(serial))
      if (gone.length > 0) {
        for (const text of deletions) yield* run(text, [listOf(gone)])
        yield* records.remove(transaction, gone)
        yield* removeTransactions(transaction, gone)
      }
      const isDone = young !== -1 || serials.length < limit
      if (isDone)
        yield* run(oldCosts, [BigInt(TransactionCost.hourOf(now - Math.max(ageMillis, TransactionCost.keptMillis)))])
      return { count: gone.length, next: isDone ? undefined : serials.at(-1) }
    })
  }
}

const oldCosts = "DELETE FROM spending WHERE hour < ?"

const listOf = (payments: ReadonlyArray<Stored>): Value => JSON.stringify(payments.map(({ serial }) => `${serial}`))

/** The range of lane numbers of these payments, for each lane. */
const rangesOf = (payments: ReadonlyArray<Stored>) => {
  const ranges = new Map<string, { readonly first: bigint; readonly last: bigint }>()
  for (const { lane, laneNumber: number } of payments) {
    if (number === undefined || lane === undefined) continue
    const known = ranges.get(lane) ?? { first: number, last: number }
    ranges.set(lane, {
      first: number < known.first ? number : known.first,
      last: number > known.last ? number : known.last
    })
  }
  return ranges
}
