/**
 * The cost of transactions by caller and hour. Costs are text, since a busy day's total may exceed 64 bits; they are
 * added here and not by the database.
 */
import { TransactionCost, type NetworkSpend } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { SqlError } from "effect/sql/SqlError"

import type { Transaction } from "../database/Database.ts"
import type { Dialect } from "../database/SqlDialect.ts"
import * as OpenExpenses from "./OpenExpenses.ts"
import { asks, type RecordFault } from "./Records.ts"

/** The books of one database. */
export interface CostBook {
  /** Divides a transaction's cost among the callers of its payments. */
  readonly book: (
    transaction: Transaction,
    lane: string,
    cost: bigint,
    callers: ReadonlyArray<string>
  ) => Effect.Effect<void, RecordFault>
  readonly spent: (
    transaction: Transaction,
    network: string,
    since: number,
    caller: string | undefined
  ) => Effect.Effect<bigint, RecordFault>
  /**
   * The books of a network (`PaymentStore.books`). Open expenses are read first: a transaction included meanwhile
   * counts twice rather than not at all.
   */
  readonly books: (transaction: Transaction, network: string, since: number) => Effect.Effect<NetworkSpend, RecordFault>
  /** Makes this transaction the only one that plans on the network until it ends. */
  readonly lock: (transaction: Transaction, network: string) => Effect.Effect<void, SqlError>
}

const ask = asks("spending", Schema.Struct({ cost: Schema.BigIntFromString }))

export const make = (dialect: Dialect): CostBook => {
  const expenses = OpenExpenses.make(dialect)
  const current = `SELECT cost FROM spending WHERE network = ? AND caller = ? AND hour = ?${
    dialect.locksRows ? " FOR UPDATE" : ""
  }`
  return {
    book: Effect.fnUntraced(function* ({ now, run }, lane, cost, callers) {
      const network = TransactionCost.networkOf(lane)
      const hour = BigInt(TransactionCost.hourOf(now))
      // The same order everywhere, so two lanes that book to the same callers cannot deadlock.
      for (const [caller, part] of [...TransactionCost.shares(cost, callers)].toSorted(byName)) {
        const row = [network, caller, hour]
        yield* run(begun, row)
        const [before] = yield* ask(run, current, row)
        yield* run(changed, [`${(before?.cost ?? 0n) + part}`, ...row])
      }
    }),
    spent: ({ run }, network, since, caller) =>
      Effect.map(
        caller === undefined
          ? ask(run, `${all} `, [network, BigInt(TransactionCost.hourOf(since))])
          : ask(run, `${all} AND caller = ?`, [network, BigInt(TransactionCost.hourOf(since)), caller]),
        (rows) => rows.reduce((total, { cost }) => total + cost, 0n)
      ),
    books: Effect.fnUntraced(function* (transaction, network, since) {
      const open = yield* expenses.on(transaction.run, network)
      const rows = yield* askByCaller(transaction.run, byCaller, [network, BigInt(TransactionCost.hourOf(since))])
      const spent = new Map<string, bigint>()
      for (const { caller, cost } of rows) spent.set(caller, (spent.get(caller) ?? 0n) + cost)
      return { open, spent }
    }),
    lock: ({ run }, network) =>
      dialect.lock === undefined ? Effect.void : Effect.asVoid(run(dialect.lock, [`spending ${network}`]))
  }
}

const begun = "INSERT INTO spending (network, caller, hour, cost) VALUES (?, ?, ?, '0') ON CONFLICT DO NOTHING"
const changed = "UPDATE spending SET cost = ? WHERE network = ? AND caller = ? AND hour = ?"
const all = "SELECT cost FROM spending WHERE network = ? AND hour >= ?"

const askByCaller = asks("spending", Schema.Struct({ caller: Schema.String, cost: Schema.BigIntFromString }))
const byCaller = "SELECT caller, cost FROM spending WHERE network = ? AND hour >= ?"

const byName = ([a]: readonly [string, bigint], [b]: readonly [string, bigint]): number => (a < b ? -1 : a > b ? 1 : 0)
