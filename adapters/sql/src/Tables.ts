/**
 * The tables. Columns are only ever added, each with a default or empty, so that instances of two releases can share a
 * database while one replaces the other.
 *
 * - `payment`: one record for each authorization, whose name (`payment_id`) is derived from what the chain itself consumes:
 *   that no name comes twice is what the database holds. `active` says that its money has neither moved nor been proven
 *   not to: indexes depend on it and not on `status`, which changes more often. There are no more indexes than are asked:
 *   each touches another page in every commit, and one of unordered values a page for each record.
 * - `contract`: what a record says for good and at length, apart from what changes: offer, signed terms, payload.
 * - `event`: the payments' histories, each in its order. Rows are only added, and none has the place of another.
 * - `lane`, `flight`, `attempt`: the lines of transactions and the signed bytes.
 * - `spending`: what transactions have cost, by caller and hour.
 * - `notice`: what callers are to be told.
 * - `lane_member` (PostgreSQL): which instances would work which lanes.
 */
import * as Effect from "effect/Effect"
import * as Migrator from "effect/sql/Migrator"
import * as SqlClient from "effect/sql/SqlClient"

import type { Dialect } from "./Dialect.ts"

/** Brings the database's tables up to date. Harmless to repeat, and from several instances at once. */
export const migrate = Effect.fnUntraced(function* (dialect: Dialect) {
  const sql = yield* SqlClient.SqlClient
  const migrated = Migrator.make({})({
    loader: Migrator.fromRecord({ "0001_settlement": Effect.asVoid(first(dialect)) }),
    table: "pontage_migration"
  })
  if (dialect.lock === undefined) return yield* migrated
  const alone = sql.unsafe(dialect.text(dialect.lock), ["pontage_migration"])
  return yield* sql.withTransaction(Effect.andThen(alone, migrated))
})

const first = (dialect: Dialect) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => {
    const statements = dialect.name === "pg" ? [...tables(types.pg), ...concurrency] : tables(types.sqlite)
    return Effect.forEach(statements, (one) => sql.unsafe(one), { discard: true })
  })

/**
 * SQLite keeps a table in the order of its key when the key's type is exactly so. A new row gets the number after the
 * highest: since rows are only added, none comes twice, and nothing has to be remembered for that in another table.
 */
const types = {
  sqlite: { serial: "INTEGER PRIMARY KEY", key: "INTEGER PRIMARY KEY", byKey: "WITHOUT ROWID" },
  pg: { serial: "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY", key: "BIGINT PRIMARY KEY", byKey: "" }
}

const tables = ({ byKey, key, serial }: (typeof types)["pg"]): ReadonlyArray<string> => [
  `CREATE TABLE payment (
    serial ${serial},
    payment_id TEXT NOT NULL UNIQUE,
    network TEXT NOT NULL,
    asset TEXT NOT NULL,
    payer TEXT NOT NULL,
    nonce TEXT NOT NULL,
    amount TEXT NOT NULL,
    valid_before BIGINT NOT NULL,
    caller TEXT NOT NULL,
    notify BOOLEAN NOT NULL,
    status TEXT NOT NULL,
    active BOOLEAN NOT NULL,
    transaction_id TEXT NOT NULL,
    block_number TEXT,
    block_hash TEXT,
    lane TEXT,
    flight BIGINT,
    seat BIGINT,
    since TEXT,
    refusal TEXT,
    run TEXT NOT NULL,
    answer_owed BOOLEAN NOT NULL
  )`,
  `CREATE TABLE contract (
    payment ${key} REFERENCES payment (serial),
    requirements TEXT NOT NULL,
    terms TEXT NOT NULL,
    payload TEXT NOT NULL
  )`,
  `CREATE INDEX payment_reserving ON payment (network, asset, payer) WHERE active`,
  `CREATE INDEX payment_lane ON payment (lane, flight, serial) WHERE active`,
  `CREATE INDEX payment_flight ON payment (lane, flight) WHERE flight IS NOT NULL`,
  `CREATE INDEX payment_unwanted ON payment (valid_before) WHERE active AND lane IS NULL`,
  `CREATE INDEX payment_caller ON payment (caller, serial)`,
  `CREATE TABLE event (
    payment BIGINT NOT NULL REFERENCES payment (serial),
    ordinal BIGINT NOT NULL,
    status TEXT NOT NULL,
    at BIGINT NOT NULL,
    note TEXT,
    PRIMARY KEY (payment, ordinal)
  ) ${byKey}`,
  `CREATE TABLE lane (
    name TEXT PRIMARY KEY,
    next BIGINT,
    epoch BIGINT NOT NULL
  )`,
  `CREATE TABLE flight (
    lane TEXT NOT NULL,
    number BIGINT NOT NULL,
    landed_transaction TEXT,
    landed_block_number TEXT,
    landed_block_hash TEXT,
    landed_cost TEXT,
    booked BOOLEAN NOT NULL,
    closed BOOLEAN NOT NULL,
    PRIMARY KEY (lane, number)
  )`,
  `CREATE INDEX flight_open ON flight (lane, number) WHERE NOT closed`,
  `CREATE TABLE attempt (
    lane TEXT NOT NULL,
    number BIGINT NOT NULL,
    ordinal BIGINT NOT NULL,
    transaction_id TEXT NOT NULL,
    bytes TEXT NOT NULL,
    head TEXT NOT NULL,
    cost TEXT NOT NULL,
    slot_lane TEXT,
    slot_number TEXT,
    maximum_fee TEXT,
    priority_fee TEXT,
    PRIMARY KEY (lane, number, ordinal)
  )`,
  `CREATE TABLE spending (
    network TEXT NOT NULL,
    caller TEXT NOT NULL,
    hour BIGINT NOT NULL,
    cost TEXT NOT NULL,
    PRIMARY KEY (network, caller, hour)
  )`,
  `CREATE TABLE notice (
    id ${serial},
    payment BIGINT NOT NULL REFERENCES payment (serial),
    status TEXT NOT NULL,
    at BIGINT NOT NULL,
    attempts BIGINT NOT NULL,
    due BIGINT NOT NULL,
    closed BOOLEAN NOT NULL,
    UNIQUE (payment, status)
  )`,
  `CREATE INDEX notice_due ON notice (due) WHERE NOT closed`
]

/** What only a database that several instances write to needs: who works a lane, and which transaction made a record. */
const concurrency: ReadonlyArray<string> = [
  `ALTER TABLE payment ADD COLUMN born XID8 NOT NULL DEFAULT pg_current_xact_id()`,
  `ALTER TABLE lane ADD COLUMN owner TEXT`,
  `ALTER TABLE lane ADD COLUMN until TIMESTAMPTZ NOT NULL DEFAULT '-infinity'`,
  `CREATE TABLE lane_member (
    lane TEXT NOT NULL,
    owner TEXT NOT NULL,
    until TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (lane, owner)
  )`
]
