/**
 * Lane transactions and their signed bytes as rows.
 */
import type { PaymentStore, PreparedTransaction } from "@pontage/core"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { SqlError } from "effect/sql/SqlError"

import type { Transaction } from "../database/Database.ts"
import type { Columns, Dialect, Run, Value } from "../database/SqlDialect.ts"
import { asks, type RecordFault, type Records } from "./Records.ts"

/** An open lane transaction, as far as its lane's worker changes it. */
export interface OpenTransaction {
  readonly lane: string
  readonly number: bigint
  /** The cost of its newest inclusion, which is in the books. */
  readonly booked: bigint
}

/** The lane transactions of one database. */
export interface LaneTransactionRows {
  readonly begin: (
    run: Run,
    lane: string,
    plans: ReadonlyArray<PaymentStore.PlannedTransaction>
  ) => Effect.Effect<void, SqlError>
  /** Reopens a closed lane transaction, or begins one that never was; `false` if it is open. */
  readonly beginAgain: (
    run: Run,
    lane: string,
    number: bigint,
    prepared: PreparedTransaction
  ) => Effect.Effect<boolean, RecordFault>
  readonly addAttempt: (
    run: Run,
    lane: string,
    number: bigint,
    prepared: PreparedTransaction
  ) => Effect.Effect<void, RecordFault>
  readonly open: (run: Run, lane: string, number: bigint) => Effect.Effect<OpenTransaction | undefined, RecordFault>
  readonly change: (
    run: Run,
    transaction: OpenTransaction,
    change: PaymentStore.LaneWrite["transaction"]
  ) => Effect.Effect<void, SqlError>
  readonly all: (
    transaction: Transaction,
    lane: string
  ) => Effect.Effect<ReadonlyArray<PaymentStore.LaneTransaction>, RecordFault>
}

export const make = (dialect: Dialect, records: Records): LaneTransactionRows => {
  const addTransactions = dialect.insert("lane_transaction", transactionColumns)
  const addAttempts = dialect.insert("attempt", attemptColumns)
  const addAttempt: LaneTransactionRows["addAttempt"] = (run, lane, number, prepared) =>
    Effect.flatMap(askOrdinal(run, lastOrdinal, [lane, number]), ([last]) =>
      run.write([addAttempts([toAttempt(lane, number, (last?.ordinal ?? -1n) + 1n, prepared)])])
    )
  return {
    begin: (run, lane, plans) =>
      run.write([
        addTransactions(plans.map(({ number }) => ({ lane, number, booked: false, closed: false }))),
        addAttempts(plans.map(({ number, prepared }) => toAttempt(lane, number, 0n, prepared)))
      ]),
    beginAgain: Effect.fnUntraced(function* (run, lane, number, prepared) {
      const [known] = yield* askClosed(run, isClosed, [lane, number])
      if (known !== undefined && !known.closed) return false
      if (known === undefined) yield* run.write([addTransactions([{ lane, number, booked: false, closed: false }])])
      else yield* run(reopening, [lane, number])
      yield* addAttempt(run, lane, number, prepared)
      return true
    }),
    addAttempt,
    open: (run, lane, number) =>
      Effect.map(askOpen(run, selectOne, [lane, number]), ([row]) =>
        row === undefined ? undefined : { lane, number, booked: row.included_cost ?? 0n }
      ),
    change: Effect.fnUntraced(function* (run, { lane, number }, change) {
      if (change?.inclusion !== undefined) yield* run(including, [...inclusionColumns(change.inclusion), lane, number])
      if (change?.closed === true) yield* run(closing, [lane, number])
    }),
    all: Effect.fnUntraced(function* (transaction, lane) {
      const rows = yield* askTransactions(transaction.run, selectOpen, [lane])
      if (rows.length === 0) return []
      const attempts = yield* askAttempts(transaction.run, openAttempts, [lane])
      const payments = yield* records.select(transaction, ofOpen, [lane])
      const attemptsOf = Arr.groupBy(attempts, ({ number }) => `${number}`)
      const paymentsOf = Arr.groupBy(payments, ({ laneNumber }) => `${laneNumber}`)
      return rows.map((row) => ({
        lane,
        number: row.number,
        attempts: (attemptsOf[`${row.number}`] ?? []).map(toPrepared),
        payments: paymentsOf[`${row.number}`] ?? [],
        inclusion: toLanded(row)
      }))
    })
  }
}

const transactionColumns = {
  lane: "text",
  number: "bigint",
  booked: "boolean",
  closed: "boolean"
} as const satisfies Columns

const attemptColumns = {
  lane: "text",
  number: "bigint",
  ordinal: "bigint",
  transaction_id: "text",
  bytes: "text",
  head: "text",
  cost: "text",
  slot_lane: "text",
  slot_number: "text",
  maximum_fee: "text",
  priority_fee: "text"
} as const satisfies Columns

const lastOrdinal = "SELECT ordinal FROM attempt WHERE lane = ? AND number = ? ORDER BY ordinal DESC LIMIT 1"
const askOrdinal = asks("attempt", Schema.Struct({ ordinal: Schema.BigInt }))

const Text = Schema.NullOr(Schema.String)
const Number = Schema.NullOr(Schema.BigIntFromString)

const selectOne = "SELECT included_cost FROM lane_transaction WHERE lane = ? AND number = ? AND NOT closed"
const askOpen = asks("lane_transaction", Schema.Struct({ included_cost: Number }))

const Flag = Schema.Union([Schema.Boolean, Schema.Literals([0n, 1n])])

const isClosed = "SELECT closed FROM lane_transaction WHERE lane = ? AND number = ?"
const askClosed = asks("lane_transaction", Schema.Struct({ closed: Flag }))
const reopening = `UPDATE lane_transaction SET closed = FALSE, included_transaction = NULL, included_block_number = NULL,
  included_block_hash = NULL WHERE lane = ? AND number = ?`

/** The cost of an inclusion that was taken back stays: the next one is booked with what it costs more. */
const including = `UPDATE lane_transaction SET included_transaction = ?, included_block_number = ?, included_block_hash = ?,
  included_cost = COALESCE(?, included_cost), booked = booked OR ? WHERE lane = ? AND number = ?`
const closing = "UPDATE lane_transaction SET closed = TRUE WHERE lane = ? AND number = ?"

const inclusionColumns = (inclusion: PaymentStore.LaneTransaction["inclusion"] | null): ReadonlyArray<Value> =>
  inclusion === null || inclusion === undefined
    ? [null, null, null, null, false]
    : [inclusion.transaction, `${inclusion.block.number}`, inclusion.block.hash, `${inclusion.cost}`, true]

const TransactionRow = Schema.Struct({
  number: Schema.BigInt,
  included_transaction: Text,
  included_block_number: Number,
  included_block_hash: Text,
  included_cost: Number
})
const selectOpen = `SELECT ${Object.keys(TransactionRow.fields).join(", ")} FROM lane_transaction
  WHERE lane = ? AND NOT closed ORDER BY number`
const askTransactions = asks("lane_transaction", TransactionRow)

const AttemptRow = Schema.Struct({
  number: Schema.BigInt,
  transaction_id: Schema.String,
  bytes: Schema.String,
  head: Schema.BigIntFromString,
  cost: Schema.BigIntFromString,
  slot_lane: Text,
  slot_number: Number,
  maximum_fee: Number,
  priority_fee: Number
})
/** The cross join makes SQLite begin with the open transactions, and not with all attempts of the lane. */
const openAttempts = `SELECT ${Object.keys(AttemptRow.fields)
  .map((name) => `a.${name}`)
  .join(", ")}
  FROM lane_transaction t CROSS JOIN attempt a
  WHERE a.lane = t.lane AND a.number = t.number AND t.lane = ? AND NOT t.closed ORDER BY a.number, a.ordinal`
const askAttempts = asks("attempt", AttemptRow)

const ofOpen = `JOIN lane_transaction t ON t.lane = p.lane AND t.number = p.lane_number
  WHERE t.lane = ? AND NOT t.closed AND p.lane_number IS NOT NULL ORDER BY p.lane_number, p.position`

const toLanded = (row: typeof TransactionRow.Type): PaymentStore.LaneTransaction["inclusion"] =>
  row.included_transaction === null ||
  row.included_block_number === null ||
  row.included_block_hash === null ||
  row.included_cost === null
    ? undefined
    : {
        transaction: row.included_transaction,
        block: { number: row.included_block_number, hash: row.included_block_hash },
        cost: row.included_cost
      }

const toPrepared = (row: typeof AttemptRow.Type): PreparedTransaction => ({
  slot:
    row.slot_lane === null || row.slot_number === null ? undefined : { lane: row.slot_lane, number: row.slot_number },
  transaction: row.transaction_id,
  bytes: row.bytes,
  head: row.head,
  cost: row.cost,
  ...(row.maximum_fee !== null &&
    row.priority_fee !== null && { fees: { maximum: row.maximum_fee, priority: row.priority_fee } })
})

const toAttempt = (
  lane: string,
  number: bigint,
  ordinal: bigint,
  { bytes, cost, fees, head, slot, transaction }: PreparedTransaction
): Readonly<Record<keyof typeof attemptColumns, Value>> => ({
  lane,
  number,
  ordinal,
  transaction_id: transaction,
  bytes,
  head: `${head}`,
  cost: `${cost}`,
  slot_lane: slot?.lane ?? null,
  slot_number: slot === undefined ? null : `${slot.number}`,
  maximum_fee: fees === undefined ? null : `${fees.maximum}`,
  priority_fee: fees === undefined ? null : `${fees.priority}`
})
