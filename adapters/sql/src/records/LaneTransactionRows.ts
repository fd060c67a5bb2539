/**
 * Flights and their signed bytes as rows.
 */
import type { PaymentStore, PreparedTransaction } from "@pontage/core"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { SqlError } from "effect/sql/SqlError"

import type { Transaction } from "../database/Database.ts"
import type { Columns, Dialect, Run, Value } from "../database/SqlDialect.ts"
import { asks, type RecordFault, type Records } from "./Records.ts"

/** A flight that is not closed, as far as its lane's worker changes it. */
export interface OpenTransaction {
  readonly lane: string
  readonly number: bigint
  /** Its cost is in the books. */
  readonly booked: boolean
}

/** The flights of one database. */
export interface LaneTransactionRows {
  readonly begin: (
    run: Run,
    lane: string,
    plans: ReadonlyArray<PaymentStore.PlannedTransaction>
  ) => Effect.Effect<void, SqlError>
  /** Begins a flight again that is closed, or one that never was; `false` when it is open. */
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
    flight: OpenTransaction,
    change: PaymentStore.LaneWrite["transaction"]
  ) => Effect.Effect<void, SqlError>
  readonly all: (
    transaction: Transaction,
    lane: string
  ) => Effect.Effect<ReadonlyArray<PaymentStore.LaneTransaction>, RecordFault>
}

export const make = (dialect: Dialect, records: Records): LaneTransactionRows => {
  const addFlights = dialect.insert("flight", flightColumns)
  const addAttempts = dialect.insert("attempt", attemptColumns)
  const addAttempt: LaneTransactionRows["addAttempt"] = (run, lane, number, prepared) =>
    Effect.flatMap(askOrdinal(run, lastOrdinal, [lane, number]), ([last]) =>
      run.write([addAttempts([toAttempt(lane, number, (last?.ordinal ?? -1n) + 1n, prepared)])])
    )
  return {
    begin: (run, lane, plans) =>
      run.write([
        addFlights(plans.map(({ number }) => ({ lane, number, booked: false, closed: false }))),
        addAttempts(plans.map(({ number, prepared }) => toAttempt(lane, number, 0n, prepared)))
      ]),
    beginAgain: Effect.fnUntraced(function* (run, lane, number, prepared) {
      const [known] = yield* askClosed(run, isClosed, [lane, number])
      if (known !== undefined && !known.closed) return false
      if (known === undefined) yield* run.write([addFlights([{ lane, number, booked: false, closed: false }])])
      else yield* run(reopening, [lane, number])
      yield* addAttempt(run, lane, number, prepared)
      return true
    }),
    addAttempt,
    open: (run, lane, number) =>
      Effect.map(askOpen(run, openFlight, [lane, number]), ([flight]) =>
        flight === undefined ? undefined : { lane, number, booked: Boolean(flight.booked) }
      ),
    change: Effect.fnUntraced(function* (run, { lane, number }, change) {
      if (change?.inclusion !== undefined) yield* run(landing, [...landedColumns(change.inclusion), lane, number])
      if (change?.closed === true) yield* run(closing, [lane, number])
    }),
    all: Effect.fnUntraced(function* (transaction, lane) {
      const flights = yield* askFlights(transaction.run, openFlights, [lane])
      if (flights.length === 0) return []
      const attempts = yield* askAttempts(transaction.run, openAttempts, [lane])
      const payments = yield* records.select(transaction, travelling, [lane])
      const attemptsOf = Arr.groupBy(attempts, ({ number }) => `${number}`)
      const paymentsOf = Arr.groupBy(payments, ({ laneNumber }) => `${laneNumber}`)
      return flights.map((row) => ({
        lane,
        number: row.number,
        attempts: (attemptsOf[`${row.number}`] ?? []).map(toPrepared),
        payments: paymentsOf[`${row.number}`] ?? [],
        inclusion: toLanded(row)
      }))
    })
  }
}

const flightColumns = {
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

const openFlight = "SELECT booked FROM flight WHERE lane = ? AND number = ? AND NOT closed"
const Flag = Schema.Union([Schema.Boolean, Schema.Literals([0n, 1n])])
const askOpen = asks("flight", Schema.Struct({ booked: Flag }))

const isClosed = "SELECT closed FROM flight WHERE lane = ? AND number = ?"
const askClosed = asks("flight", Schema.Struct({ closed: Flag }))
const reopening = `UPDATE flight SET closed = FALSE, landed_transaction = NULL, landed_block_number = NULL,
  landed_block_hash = NULL, landed_cost = NULL WHERE lane = ? AND number = ?`

const landing = `UPDATE flight SET landed_transaction = ?, landed_block_number = ?, landed_block_hash = ?, landed_cost = ?,
  booked = booked OR ? WHERE lane = ? AND number = ?`
const closing = "UPDATE flight SET closed = TRUE WHERE lane = ? AND number = ?"

const landedColumns = (inclusion: PaymentStore.LaneTransaction["inclusion"] | null): ReadonlyArray<Value> =>
  inclusion === null || inclusion === undefined
    ? [null, null, null, null, false]
    : [inclusion.transaction, `${inclusion.block.number}`, inclusion.block.hash, `${inclusion.cost}`, true]

const Text = Schema.NullOr(Schema.String)
const Number = Schema.NullOr(Schema.BigIntFromString)

const FlightRow = Schema.Struct({
  number: Schema.BigInt,
  landed_transaction: Text,
  landed_block_number: Number,
  landed_block_hash: Text,
  landed_cost: Number
})
const openFlights = `SELECT ${Object.keys(FlightRow.fields).join(", ")} FROM flight
  WHERE lane = ? AND NOT closed ORDER BY number`
const askFlights = asks("flight", FlightRow)

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
const openAttempts = `SELECT ${Object.keys(AttemptRow.fields)
  .map((name) => `a.${name}`)
  .join(", ")}
  FROM attempt a JOIN flight f ON f.lane = a.lane AND f.number = a.number
  WHERE f.lane = ? AND NOT f.closed ORDER BY a.number, a.ordinal`
const askAttempts = asks("attempt", AttemptRow)

const travelling = `JOIN flight f ON f.lane = p.lane AND f.number = p.flight
  WHERE f.lane = ? AND NOT f.closed AND p.flight IS NOT NULL ORDER BY p.flight, p.seat`

const toLanded = (row: typeof FlightRow.Type): PaymentStore.LaneTransaction["inclusion"] =>
  row.landed_transaction === null ||
  row.landed_block_number === null ||
  row.landed_block_hash === null ||
  row.landed_cost === null
    ? undefined
    : {
        transaction: row.landed_transaction,
        block: { number: row.landed_block_number, hash: row.landed_block_hash },
        cost: row.landed_cost
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
