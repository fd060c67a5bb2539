/**
 * A database file opened by this process alone, through the SQLite built into Node: nothing to install. Commits are
 * synced to the disk (write-ahead log, `synchronous = FULL`) before they return. The file stays locked while it is
 * open; the operating system releases the lock when the process ends in any way.
 */
import type * as NodeSqlite from "node:sqlite"

import { Misconfigured, OptionCheck } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Reactivity from "effect/reactivity/Reactivity"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import * as SqlClient from "effect/sql/SqlClient"
import type { Connection } from "effect/sql/SqlConnection"
import { classifySqliteError, SqlError } from "effect/sql/SqlError"
import * as Statement from "effect/sql/Statement"
import * as Stream from "effect/Stream"

import type { WriteAll } from "../database/Database.ts"
import * as FilePlace from "./FilePlace.ts"

/** The options of a file. */
export interface Options {
  /** Path of the database file, created if missing. Its folder has to exist. */
  readonly filename: string
  /** Called with every statement right before it runs, to count commits or check an order. */
  readonly onStatement?: (text: string) => void
}

/** The options, checked. */
export const check: OptionCheck.Check<Options> = OptionCheck.options<Options>({
  filename: OptionCheck.text,
  onStatement: OptionCheck.optional(OptionCheck.callable())
})

/** An open file. Integers come out as `bigint`. */
export interface SqliteFile {
  readonly connection: Connection
  readonly write: WriteAll
  /** Reads at once, inside an open transaction too; `undefined` if that fails. */
  readonly glance: (text: string, parameters: ReadonlyArray<unknown>) => ReadonlyArray<unknown> | undefined
  readonly isTransaction: () => boolean
  /** The reason a write would be lost, because the file's name leads elsewhere; `undefined` otherwise. */
  readonly misplaced: FilePlace.FilePlace
}

/** Capacity of the statement cache; the store has fewer statements. */
const statementsKept = 200

/** When a commit returns: once it is on the disk (`FULL`), or once a crash of this process cannot undo it (`NORMAL`). */
export type Synchronous = "FULL" | "NORMAL"

/**
 * Opens the file and closes it with the scope. `Misconfigured` if it cannot be opened or another process has it open.
 */
export const open = (
  { filename, onStatement }: Options,
  synchronous: Synchronous = "FULL"
): Effect.Effect<SqliteFile, Misconfigured, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.flatMap(sqlite, ({ DatabaseSync }) =>
        Effect.try({
          try: () => openAlone(new DatabaseSync(filename, settings), synchronous),
          catch: (cause) => cannotOpen(filename, cause)
        })
      ),
      (database) => Effect.sync(() => database.close())
    ),
    (database) => ({
      ...connect(database, onStatement),
      isTransaction: () => database.isTransaction,
      misplaced: FilePlace.watch(filename)
    })
  )

/** The file as Effect's SQL client, for migrations. */
export const toClient = ({ connection, isTransaction }: SqliteFile): Effect.Effect<SqlClient.SqlClient> =>
  Effect.gen(function* () {
    const acquirers = SqlClient.makeSqliteAcquirers({
      connection: Effect.succeed(connection),
      semaphore: yield* Semaphore.make(1),
      isTransaction
    })
    return yield* SqlClient.make({
      ...acquirers,
      driver: "node:sqlite",
      compiler: Statement.makeCompilerSqlite(),
      beginTransaction: "BEGIN IMMEDIATE",
      spanAttributes: [["db.system.name", "sqlite"]]
    })
  }).pipe(Effect.provide(Reactivity.layer))

const settings = { timeout: 0, enableForeignKeyConstraints: true }

/** Loaded only here, so that an older Node without a sufficient SQLite gets a clear error. */
const sqlite = Effect.suspend(() => {
  const found: typeof NodeSqlite | undefined = process.getBuiltinModule("node:sqlite")
  return found !== undefined && "columns" in found.StatementSync.prototype
    ? Effect.succeed(found)
    : Effect.fail(
        new Misconfigured({
          message: `payment records in a file need the SQLite of Node 22.16 or newer, and this is Node ${process.version.slice(1)} without it: run a newer Node, or keep the records in PostgreSQL`
        })
      )
})

const openAlone = (database: NodeSqlite.DatabaseSync, synchronous: Synchronous): NodeSqlite.DatabaseSync => {
  try {
    database.exec("PRAGMA locking_mode = EXCLUSIVE")
    const mode = database.prepare("PRAGMA journal_mode = WAL").get()
    if (mode?.["journal_mode"] !== "wal") throw new NoLog()
    database.exec(`PRAGMA synchronous = ${synchronous}; PRAGMA fullfsync = ON; PRAGMA checkpoint_fullfsync = ON`)
    // The lock is taken with the first write and kept from then on.
    database.exec("BEGIN EXCLUSIVE; COMMIT")
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

/** SQLite keeps no write-ahead log for this file, so nothing in it would be durable. */
class NoLog extends Error {}

const busy = 5
const readOnly = 8
const inputOrOutput = 10
const cannotOpenFile = 14
const notADatabase = 26

const cannotOpen = (filename: string, cause: unknown): Misconfigured => {
  if (cause instanceof NoLog) return misconfigured(filename, "must be a file on a local disk")
  switch (resultCode(cause) & 0xff) {
    case busy:
      return misconfigured(
        filename,
        "is in use by another process: stop that one first, or use PostgreSQL to run several at once"
      )
    // Beside an unwritable file no log can be created; SQLite reports that as a disk failure.
    case readOnly:
    case inputOrOutput:
      return misconfigured(
        filename,
        `cannot be written (SQLite says ${resultCode(cause)}): let this process write the file, the "-wal" file beside it and their folder; where it may, look at the disk in the system's log`
      )
    case cannotOpenFile:
      return misconfigured(filename, "cannot be opened: create its folder, and let this process write in it")
    case notADatabase:
      return misconfigured(filename, "is not a SQLite database: name another file")
    default:
      return misconfigured(filename, `cannot be opened (SQLite says ${resultCode(cause)})`)
  }
}

const misconfigured = (filename: string, what: string): Misconfigured =>
  new Misconfigured({ message: `the payment records' file ${filename} ${what}` })

const resultCode = (cause: unknown): number =>
  cause instanceof Error && "errcode" in cause && typeof cause.errcode === "number" ? cause.errcode : 0

/** A statement, and whether it returns rows. */
interface Ready {
  readonly statement: NodeSqlite.StatementSync
  readonly answers: boolean
}

const connect = (
  database: NodeSqlite.DatabaseSync,
  onStatement: Options["onStatement"]
): Pick<SqliteFile, "connection" | "write" | "glance"> => {
  const kept = new Map<string, Ready>()
  const prepare = (text: string): Ready => {
    const known = kept.get(text)
    if (known !== undefined) return known
    const statement = database.prepare(text)
    statement.setReadBigInts(true)
    const ready = { statement, answers: statement.columns().length > 0 }
    if (kept.size < statementsKept) kept.set(text, ready)
    return ready
  }
  const said = (text: string, parameters: ReadonlyArray<unknown>): ReadonlyArray<Record<string, unknown>> => {
    onStatement?.(text)
    const { answers, statement } = prepare(text)
    if (answers) return statement.all(...inputs(parameters))
    statement.run(...inputs(parameters))
    return []
  }
  const glance: SqliteFile["glance"] = (text, parameters) => {
    try {
      return said(text, parameters)
    } catch {
      return undefined
    }
  }
  const rows = (text: string, parameters: ReadonlyArray<unknown>) =>
    Effect.try({ try: () => said(text, parameters), catch: (cause) => toSqlError(cause) })
  const write: WriteAll = (batches) =>
    Effect.try({
      try: () => {
        for (const { rows: all, text } of batches) {
          if (all.length === 0) continue
          const { statement } = prepare(text)
          for (const parameters of all) {
            onStatement?.(text)
            statement.run(...inputs(parameters))
          }
        }
      },
      catch: (cause) => toSqlError(cause)
    })
  const values = (text: string, parameters: ReadonlyArray<unknown>) =>
    Effect.map(rows(text, parameters), (found) => found.map((row) => Object.values(row)))
  const execute: Connection["execute"] = (text, parameters, transform) =>
    transform === undefined ? rows(text, parameters) : Effect.map(rows(text, parameters), transform)
  const connection: Connection = {
    execute,
    executeUnprepared: execute,
    executeRaw: rows,
    executeValues: values,
    executeValuesUnprepared: values,
    executeStream: (text, parameters, transform) =>
      Stream.unwrap(Effect.map(execute(text, parameters, transform), (found) => Stream.fromIterable(found)))
  }
  return { connection, write, glance }
}

const inputs = (values: ReadonlyArray<unknown>): ReadonlyArray<NodeSqlite.SQLInputValue> => {
  if (areInputs(values)) return values
  throw new TypeError(
    `SQLite takes only texts, numbers and nothing, and not ${values.map((one) => typeof one).join(", ")}`
  )
}

const areInputs = (values: ReadonlyArray<unknown>): values is ReadonlyArray<NodeSqlite.SQLInputValue> =>
  values.every(
    (value) => typeof value === "string" || typeof value === "bigint" || typeof value === "number" || value === null
  )

const toSqlError = (cause: unknown): SqlError => {
  const code = resultCode(cause)
  // Effect knows the unique constraint's code (2067); a primary key's is another one.
  const classified = cause instanceof Error ? Object.assign(cause, { errno: code === 1555 ? 2067 : code }) : cause
  return new SqlError({ reason: classifySqliteError(classified, { message: "SQLite refused", operation: "execute" }) })
}
