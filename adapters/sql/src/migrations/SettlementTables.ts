/**
 * Schema 1.
 * - `payment`: one record for each authorization. Its name (`payment_id`) derives from what the chain consumes, and the
 *   database keeps it unique. `active` says that its money has neither moved nor been proven not to move: indexes
 *   depend on it and not on `status`, which changes more often. There are only indexes that a query needs: each costs
 *   another page in every commit, and one over unordered values a page for each record.
 * - `contract`: the long parts of a record that never change: offer, signed terms, payload.
 * - `event`: the payments' histories, each in its order. Rows are only added, and each has its own place.
 * - `lane`, `lane_transaction`, `attempt`: the lanes, their transactions by number, and the signed bytes of each.
 * - `spending`: the cost of transactions by caller and hour.
 * - `notice`: the notices for callers.
 * - `lane_member` (PostgreSQL): the instances registered for each lane.
 */
import { type Change, column, index, type Migration, table } from "../schema/Migration.ts"

/**
 * SQLite stores a table in the order of its key if the key's type is exactly this. A new row gets the number after the
 * highest: rows are only added, so no number repeats, and no counter table is needed.
 */
const types = {
  sqlite: { serial: "INTEGER PRIMARY KEY", key: "INTEGER PRIMARY KEY", byKey: { options: "WITHOUT ROWID" } },
  pg: { serial: "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY", key: "BIGINT PRIMARY KEY", byKey: {} }
}

const payments = ({ byKey, key, serial }: (typeof types)["sqlite" | "pg"]): ReadonlyArray<Change> => [
  table(
    "payment",
    {
      serial,
      payment_id: "TEXT NOT NULL",
      network: "TEXT NOT NULL",
      asset: "TEXT NOT NULL",
      payer: "TEXT NOT NULL",
      nonce: "TEXT NOT NULL",
      amount: "TEXT NOT NULL",
      valid_before: "BIGINT NOT NULL",
      caller: "TEXT NOT NULL",
      notify: "BOOLEAN NOT NULL",
      status: "TEXT NOT NULL",
      active: "BOOLEAN NOT NULL",
      transaction_id: "TEXT NOT NULL",
      block_number: "TEXT",
      block_hash: "TEXT",
      lane: "TEXT",
      lane_number: "BIGINT",
      position: "BIGINT",
      since: "TEXT",
      refusal: "TEXT",
      execution: "TEXT NOT NULL",
      answer_owed: "BOOLEAN NOT NULL"
    },
    { unique: ["payment_id"] }
  ),
  table("contract", {
    payment: `${key} REFERENCES payment (serial)`,
    requirements: "TEXT NOT NULL",
    terms: "TEXT NOT NULL",
    payload: "TEXT NOT NULL"
  }),
  index("payment_reserving", "payment (network, asset, payer) WHERE active"),
  index("payment_lane", "payment (lane, lane_number, serial) WHERE active"),
  index("payment_lane_number", "payment (lane, lane_number) WHERE lane_number IS NOT NULL"),
  index("payment_unwanted", "payment (valid_before) WHERE active AND lane IS NULL"),
  index("payment_caller", "payment (caller, serial)"),
  table(
    "event",
    {
      payment: "BIGINT NOT NULL REFERENCES payment (serial)",
      ordinal: "BIGINT NOT NULL",
      status: "TEXT NOT NULL",
      at: "BIGINT NOT NULL",
      note: "TEXT"
    },
    { key: ["payment", "ordinal"], ...byKey }
  )
]

const transactions: ReadonlyArray<Change> = [
  table("lane", { name: "TEXT PRIMARY KEY", next: "BIGINT", epoch: "BIGINT NOT NULL" }),
  table(
    "lane_transaction",
    {
      lane: "TEXT NOT NULL",
      number: "BIGINT NOT NULL",
      included_transaction: "TEXT",
      included_block_number: "TEXT",
      included_block_hash: "TEXT",
      included_cost: "TEXT",
      booked: "BOOLEAN NOT NULL",
      closed: "BOOLEAN NOT NULL"
    },
    { key: ["lane", "number"] }
  ),
  index("lane_transaction_open", "lane_transaction (lane, number) WHERE NOT closed"),
  table(
    "attempt",
    {
      lane: "TEXT NOT NULL",
      number: "BIGINT NOT NULL",
      ordinal: "BIGINT NOT NULL",
      transaction_id: "TEXT NOT NULL",
      bytes: "TEXT NOT NULL",
      head: "TEXT NOT NULL",
      cost: "TEXT NOT NULL",
      slot_lane: "TEXT",
      slot_number: "TEXT",
      maximum_fee: "TEXT",
      priority_fee: "TEXT"
    },
    { key: ["lane", "number", "ordinal"] }
  )
]

const books = ({ serial }: (typeof types)["sqlite" | "pg"]): ReadonlyArray<Change> => [
  table(
    "spending",
    { network: "TEXT NOT NULL", caller: "TEXT NOT NULL", hour: "BIGINT NOT NULL", cost: "TEXT NOT NULL" },
    { key: ["network", "caller", "hour"] }
  ),
  table(
    "notice",
    {
      id: serial,
      payment: "BIGINT NOT NULL REFERENCES payment (serial)",
      status: "TEXT NOT NULL",
      at: "BIGINT NOT NULL",
      attempts: "BIGINT NOT NULL",
      due: "BIGINT NOT NULL",
      closed: "BOOLEAN NOT NULL"
    },
    { unique: ["payment", "status"] }
  ),
  index("notice_due", "notice (due) WHERE NOT closed")
]

/**
 * Columns and tables for a database with several writers: the worker of a lane, and the transaction that made a record.
 */
const concurrency: ReadonlyArray<Change> = [
  column("payment", "born", "XID8 NOT NULL DEFAULT pg_current_xact_id()"),
  column("lane", "owner", "TEXT"),
  column("lane", "until", "TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT '-infinity'"),
  table(
    "lane_member",
    { lane: "TEXT NOT NULL", owner: "TEXT NOT NULL", until: "TIMESTAMP WITH TIME ZONE NOT NULL" },
    { key: ["lane", "owner"] }
  )
]

/** The tables of the releases 0.1. */
export const settlementTables: Migration = {
  name: "settlement",
  serves: 1,
  changes: (dialect) => [
    ...payments(types[dialect]),
    ...transactions,
    ...books(types[dialect]),
    ...(dialect === "pg" ? concurrency : [])
  ]
}
