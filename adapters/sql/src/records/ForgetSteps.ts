/**
 * Forgets old records: their rows, those of their histories, contracts and notices, and the transactions that nobody
 * travelled in but them. What is asked of a step is bounded, so that no other write waits long for it.
 */
import { TransactionCost, type PaymentStore, RecordAge } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import type { Transaction } from "../database/Database.ts"
import type { Dialect, Value } from "../database/SqlDialect.ts"
import { asks, type RecordFault, type Records } from "./Records.ts"

type Stored = PaymentStore.StoredPayment

const askPayments = asks("payment", Schema.Struct({ payment: Schema.BigInt }))
const askFlights = asks("flight", Schema.Struct({ number: Schema.BigInt }))

/** So many numbers below those that a step has emptied are looked at too: transactions without payments lie between them. */
const between = 64n

/** The steps, over the records of one database. */
export const make = (dialect: Dialect, records: Records) => {
  const oldest = `WHERE p.serial > ? AND p.serial < (SELECT max(serial) FROM payment) ORDER BY p.serial
    LIMIT CAST(? AS BIGINT) ${dialect.skipLocked}`
  const told = `SELECT payment FROM notice WHERE ${dialect.isIn("payment", "bigint")}
    AND (NOT closed OR id = (SELECT max(id) FROM notice))`
  const aboard = `SELECT p.serial AS payment FROM payment p JOIN flight f ON f.lane = p.lane AND f.number = p.flight
    WHERE ${dialect.isIn("p.serial", "bigint")} AND NOT f.closed`
  const emptied = `SELECT f.number FROM flight f WHERE f.lane = ? AND f.number >= ? AND f.number <= ? AND f.closed
    AND NOT EXISTS (SELECT 1 FROM payment p WHERE p.lane = f.lane AND p.flight = f.number)`
  const deletions = ["notice", "event", "contract"].map(
    (table) => `DELETE FROM ${table} WHERE ${dialect.isIn("payment", "bigint")}`
  )
  const flightDeletions = ["attempt", "flight"].map(
    (table) => `DELETE FROM ${table} WHERE lane = ? AND ${dialect.isIn("number", "bigint")}`
  )

  const removeFlights = Effect.fnUntraced(function* ({ run }: Transaction, gone: ReadonlyArray<Stored>) {
    for (const [lane, { first, last }] of flightsOf(gone)) {
      const rows = yield* askFlights(run, emptied, [lane, first - between, last])
      if (rows.length === 0) continue
      const numbers = JSON.stringify(rows.map(({ number }) => `${number}`))
      for (const text of flightDeletions) yield* run(text, [lane, numbers])
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
      for (const text of over.length === 0 ? [] : [told, aboard]) {
        for (const { payment } of yield* askPayments(run, text, [listOf(over)])) needed.add(payment)
      }
      const gone = over.filter(({ serial }) => !needed.has(serial))
      if (gone.length > 0) {
        for (const text of deletions) yield* run(text, [listOf(gone)])
        yield* records.remove(transaction, gone)
        yield* removeFlights(transaction, gone)
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

/** The first and the last number of each lane that these payments travelled in. */
const flightsOf = (payments: ReadonlyArray<Stored>) => {
  const ranges = new Map<string, { readonly first: bigint; readonly last: bigint }>()
  for (const { laneNumber: flight, lane } of payments) {
    if (flight === undefined || lane === undefined) continue
    const known = ranges.get(lane) ?? { first: flight, last: flight }
    ranges.set(lane, {
      first: flight < known.first ? flight : known.first,
      last: flight > known.last ? flight : known.last
    })
  }
  return ranges
}
