/**
 * The transactions of a network that are in no block yet, with the most that each may cost and the callers who share it.
 */
import { TransactionCost, type OpenExpense } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import type { Dialect, Run } from "../database/SqlDialect.ts"
import { asks, type RecordFault } from "./Records.ts"

/** The open transactions of one database. */
export interface OpenExpenses {
  readonly on: (run: Run, network: string) => Effect.Effect<ReadonlyArray<OpenExpense>, RecordFault>
}

const askLanes = asks("lane", Schema.Struct({ name: Schema.String }))
const askAttempts = asks(
  "attempt",
  Schema.Struct({
    lane: Schema.String,
    number: Schema.BigInt,
    cost: Schema.BigIntFromString,
    slot_lane: Schema.NullOr(Schema.String)
  })
)
const askPayments = asks(
  "payment",
  Schema.Struct({ lane: Schema.String, lane_number: Schema.BigInt, caller: Schema.String, status: Schema.String })
)

/**
 * SQLite reads the tables of a cross join in the order of the text. A plain join lets it begin with all payments that the
 * lane has ever settled.
 */
export const make = (dialect: Dialect): OpenExpenses => {
  const isOpen = `${dialect.isIn("t.lane", "text")} AND NOT t.closed AND t.included_transaction IS NULL`
  const attempts = `SELECT a.lane, a.number, a.cost, a.slot_lane FROM lane_transaction t
    CROSS JOIN attempt a WHERE a.lane = t.lane AND a.number = t.number AND ${isOpen} ORDER BY a.lane, a.number, a.ordinal`
  const payments = `SELECT p.lane, p.lane_number, p.caller, p.status FROM lane_transaction t
    CROSS JOIN payment p WHERE p.lane = t.lane AND p.lane_number = t.number AND ${isOpen} ORDER BY p.position`
  return {
    on: Effect.fnUntraced(function* (run, network) {
      const lanes = (yield* askLanes(run, "SELECT name FROM lane", [])).map(({ name }) => name)
      const own = JSON.stringify(lanes.filter((lane) => TransactionCost.networkOf(lane) === network))
      const open = new Map<string, { cost: bigint; readonly callers: Array<string>; isOpen: boolean }>()
      for (const { cost, lane, number, slot_lane: slot } of yield* askAttempts(run, attempts, [own])) {
        open.set(`${lane} ${number}`, { cost, callers: [], isOpen: slot !== null })
      }
      if (open.size === 0) return []
      for (const { caller, lane, lane_number: number, status } of yield* askPayments(run, payments, [own])) {
        const expense = open.get(`${lane} ${number}`)
        expense?.callers.push(caller)
        if (expense !== undefined && (status === "planned" || status === "sent")) expense.isOpen = true
      }
      return [...open.values()].flatMap(({ callers, cost, isOpen }) => (isOpen ? [{ cost, callers }] : []))
    })
  }
}
