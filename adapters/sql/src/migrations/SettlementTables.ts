/**
 * Schema 1.
 *
 * - `payment`: one record for each authorization, whose name (`payment_id`) is derived from what the chain itself consumes:
 *   that no name comes twice is what the database holds. `active` says that its money has neither moved nor been proven
 *   not to: indexes depend on it and not on `status`, which changes more often. There are no more indexes than are asked:
 *   each touches another page in every commit, and one of unordered values a page for each record.
 * - `contract`: what a record says for good and at length, apart from what changes: offer, signed terms, payload.
 * - `event`: the payments' histories, each in its order. Rows are only added, and none has the place of another.
 * - `lane`, `lane_transaction`, `attempt`: the lanes, their transactions by number, and the signed bytes of each.
 * - `spending`: what transactions have cost, by caller and hour.
 * - `notice`: what callers are to be told.
 * - `lane_member` (PostgreSQL): which instances would work which lanes.
 */
import { type Change, column, index, type Migration, table } from "../schema/Migration.ts"

/**
 * SQLite keeps a table in the order of its key when the key's type is exactly so. A new row gets the number after the
 * highest: since rows are only added, none comes twice, and nothing has to be remembered for that in another table.
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

/** What only a database that several instances write to needs: who works a lane, and which transaction made a record. */
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
