/**
 * The differences between SQLite and PostgreSQL in one place: placeholders, lists, row locks and bulk writes.
 * Statements have constant texts, so both databases keep them prepared.
 */
import type * as Effect from "effect/Effect"
import type { SqlError } from "effect/sql/SqlError"

/**
 * The type of a column. `bigint` is a 64-bit integer, for values that are ordered, compared or counted. Money is
 * `text`, since it may have 256 bits.
 */
export type ColumnType = "text" | "bigint" | "boolean"

export type Value = string | bigint | boolean | null

/** Columns by their names. */
export type Columns<Name extends string = string> = Readonly<Record<Name, ColumnType>>

/** A statement without a result, run once for each row of parameters; not at all for no rows. */
export interface Batch<A = Value> {
  readonly text: string
  readonly rows: ReadonlyArray<ReadonlyArray<A>>
}

/**
 * Runs one statement in the current transaction; `?` stands for a parameter. `write` runs batches in order; if a
 * statement fails, the ones before it have happened.
 */
export interface Run {
  (text: string, parameters?: ReadonlyArray<Value>): Effect.Effect<ReadonlyArray<unknown>, SqlError>
  readonly write: (batches: ReadonlyArray<Batch>) => Effect.Effect<void, SqlError>
}

/** Builds the batch that writes rows of certain columns. */
export type Write<Name extends string> = (rows: ReadonlyArray<Readonly<Record<Name, Value>>>) => Batch

/** One database's dialect. */
export interface Dialect {
  readonly name: "sqlite" | "pg"
  /** Whether rows are locked individually; SQLite has a single writer and needs no row locks. */
  readonly locksRows: boolean
  /** The statement that locks a key for the transaction, where one is needed. */
  readonly lock: string | undefined
  /** Skips rows that another transaction works on. */
  readonly skipLocked: string
  /**
   * Where several instances write: the highest serial taken, and the transactions that write records, now or after a
   * short wait.
   */
  readonly horizon: { readonly last: string; readonly writers: string; readonly writersSoon: string } | undefined
  /** Statements that write as much as a payment does, to pages that need space on the disk. */
  readonly probe: ReadonlyArray<string>
  /** The statement with this database's placeholders. */
  readonly text: (statement: string) => string
  readonly parameter: (value: Value) => unknown
  /** A test whether a column is one of a list: one parameter, a JSON array of texts. */
  readonly isIn: (column: string, type: "text" | "bigint") => string
  /** A table of one column of texts: one parameter, a JSON array of texts. */
  readonly listed: (column: string) => string
  /** JSON text of all rows of a correlated query: an array of arrays, in this order. */
  readonly listOf: (columns: ReadonlyArray<string>, from: string, order: string) => string
  readonly insert: <Name extends string>(table: string, columns: Columns<Name>, otherwise?: string) => Write<Name>
  /** Updates rows, found by the key column. */
  readonly update: <Name extends string>(table: string, key: NoInfer<Name>, columns: Columns<Name>) => Write<Name>
}

/** SQLite: row by row, since a prepared statement costs less there than parsing JSON. */
export const sqlite: Dialect = {
  name: "sqlite",
  locksRows: false,
  lock: undefined,
  skipLocked: "",
  horizon: undefined,
  // Identical bytes would not be written at all.
  probe: [
    `INSERT INTO probe (id, filler) VALUES (1, hex(randomblob(32768)))
     ON CONFLICT (id) DO UPDATE SET filler = excluded.filler`
  ],
  text: (statement) => statement,
  parameter: (value) => (typeof value === "boolean" ? BigInt(value) : legible(value)),
  isIn: (column, type) => `${column} IN (SELECT CAST(value AS ${type}) FROM json_each(?))`,
  listed: (column) => `(SELECT value AS ${column} FROM json_each(?))`,
  listOf: (columns, from, order) =>
    `(SELECT json_group_array(json_array(${columns.join(", ")}) ORDER BY ${order}) ${from})`,
  insert: (table, columns, otherwise = "") => {
    const names = namesOf(columns)
    return rowByRow(
      `INSERT INTO ${table} (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")}) ${otherwise}`,
      names
    )
  },
  update: (table, key, columns) => {
    const names = namesOf(columns).filter((name) => name !== key)
    return rowByRow(`UPDATE ${table} SET ${names.map((name) => `${name} = ?`).join(", ")} WHERE ${key} = ?`, [
      ...names,
      key
    ])
  }
}

/** PostgreSQL: one statement writes any number of rows, in one round trip. */
export const postgres: Dialect = {
  name: "pg",
  locksRows: true,
  lock: "SELECT pg_advisory_xact_lock(hashtextextended(?, 0))",
  skipLocked: "FOR UPDATE SKIP LOCKED",
  horizon: {
    last: "SELECT coalesce(pg_sequence_last_value(pg_get_serial_sequence('payment', 'serial')::regclass), 0) AS serial",
    writers: writersOn("pg_locks"),
    writersSoon: writersOn("pg_sleep(0.005), pg_locks")
  },
  // A truncated table gets a new file: rows in free space of the old file would say nothing of the disk. A running
  // backup prevents the truncation; the table then grows for a while.
  probe: [
    `DO $$ BEGIN
       LOCK TABLE probe IN ACCESS EXCLUSIVE MODE NOWAIT;
       TRUNCATE probe;
     EXCEPTION WHEN lock_not_available THEN NULL;
     END $$`,
    "INSERT INTO probe (id, filler) SELECT n, repeat('x', 1900) FROM generate_series(1, 16) n"
  ],
  text: (statement) => {
    let count = 0
    return statement.replaceAll("?", () => `$${++count}`)
  },
  parameter: legible,
  isIn: (column, type) => `${column} IN (SELECT CAST(value AS ${type}) FROM json_array_elements_text(?::text::json))`,
  listed: (column) => `(SELECT value AS ${column} FROM json_array_elements_text(?::text::json))`,
  listOf: (columns, from, order) =>
    `(SELECT json_agg(json_build_array(${columns.join(", ")}) ORDER BY ${order})::text ${from})`,
  insert: (table, columns, otherwise = "") => {
    const names = namesOf(columns).join(", ")
    return allAtOnce(`INSERT INTO ${table} (${names}) SELECT ${names} FROM ${recordset(columns)} ${otherwise}`)
  },
  update: (table, key, columns) => {
    const changes = namesOf(columns).filter((name) => name !== key)
    return allAtOnce(
      `UPDATE ${table} SET ${changes.map((name) => `${name} = v.${name}`).join(", ")} FROM ${recordset(columns)}
       WHERE ${table}.${key} = v.${key}`
    )
  }
}

/** The names of columns, in their order. */
export const namesOf = <Name extends string>(columns: Columns<Name>): ReadonlyArray<Name> =>
  Object.keys(columns).filter((name): name is Name => name in columns)

/** The transactions that hold the lock mode of an INSERT on `payment`; it is kept until the transaction ends. */
function writersOn(source: string): string {
  return `SELECT virtualtransaction AS writer FROM ${source}
    WHERE locktype = 'relation' AND relation = 'payment'::regclass AND mode = 'RowExclusiveLock' AND granted
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
}

const recordset = (columns: Columns): string =>
  `json_to_recordset(?::text::json) AS v(${Object.entries(columns)
    .map((column) => column.join(" "))
    .join(", ")})`

const rowByRow =
  <Name extends string>(text: string, names: ReadonlyArray<Name>): Write<Name> =>
  (rows) => ({ text, rows: rows.map((row) => names.map((name) => row[name])) })

const allAtOnce =
  (text: string): Write<string> =>
  (rows) => ({ text, rows: rows.length === 0 ? [] : [[JSON.stringify(rows, plainValue)]] })

const plainValue = (_key: string, value: unknown) =>
  typeof value === "bigint" ? `${value}` : typeof value === "string" ? legible(value) : value

/**
 * PostgreSQL rejects text with NUL or a lone surrogate. Such input must not make a record fail, so these characters are
 * replaced.
 */
export function legible<A>(value: A): A | string {
  if (typeof value !== "string" || (value.isWellFormed() && !value.includes("\0"))) return value
  return value.toWellFormed().replaceAll("\0", "\uFFFD")
}
