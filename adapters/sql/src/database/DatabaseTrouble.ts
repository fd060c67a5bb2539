/**
 * Database faults in plain words: the cause and the remedy. The text depends on the database's own code alone, never on
 * the statement or the URL, which holds a password.
 */
import { isSqlError, type SqlError } from "effect/sql/SqlError"

/** A trouble in words. */
export interface Trouble {
  readonly cause: string
  readonly mend: string
  /** The database's own code, or the kind of fault where there is none. */
  readonly code: string
  /** Whether only an operator can end it; waiting does not help. */
  readonly lasts: boolean
}

type Words = readonly [cause: string, mend: string, lasts?: "lasts"]

/** A database fault in words. */
export const ofFault = ({ reason }: SqlError): Trouble => {
  const code = codeOf(reason.cause)
  const [cause, mend, lasts] = wordsOf(code, reason.cause) ?? kinds[reason._tag] ?? unknown
  return { cause, mend, code: code ?? reason._tag, lasts: lasts !== undefined }
}

/** Whether the database has rolled a transaction back for another's sake: the same transaction may succeed next time. */
export const isUndone = (error: unknown): boolean =>
  isSqlError(error) && (error.reason._tag === "SerializationError" || error.reason._tag === "DeadlockError")

/** A trouble as one sentence. */
export const sentence = ({ cause, code, mend }: Omit<Trouble, "lasts">): string => `${cause}: ${mend} (${code})`

const unknown: Words = ["the database has failed", "look in its log"]

/** By the kind of error that Effect reports, if the database gave no code. */
const kinds: Readonly<Record<string, Words>> = {
  ConnectionError: ["the database cannot be reached", "start it, and let this machine connect to it"],
  StatementTimeoutError: ["a statement took too long", "look for what keeps the database busy"],
  LockTimeoutError: ["the database is busy with something else", "let what holds a lock on the tables come to its end"]
}

const wordsOf = (code: string | undefined, cause: unknown): Words | undefined => {
  if (code === undefined) return undefined
  const parameter = refusedParameter(cause)
  if (parameter !== undefined) {
    return [
      `the pooler takes no start-up parameter ${parameter}`,
      `leave it out of the URL, or name it in ignore_startup_parameters of PgBouncer`,
      "lasts"
    ]
  }
  if (code === "1") return isTableMissing(cause) ? tablesGone : undefined
  if (isDigits(code) && code.length !== 5) return sqlite[Number(code)] ?? sqlite[Number(code) & 0xff]
  return postgres[code] ?? postgres[code.slice(0, 2)] ?? network[code]
}

const isDigits = (code: string): boolean => /^\d+$/.test(code)

const diskFull: Words = ["the disk is full", "make room on the disk of the database"]
const tablesGone: Words = [
  "the tables of the records are not there",
  "restore the database, and restart this process",
  "lasts"
]

/** By SQLite's result codes: an extended one, or its last byte. */
const sqlite: Readonly<Record<number, Words>> = {
  3: ["the file may not be written", "let this process write it and its folder"],
  5: ["the file is in use by another process", "stop that one"],
  7: ["this process has no memory left", "give it more"],
  8: ["the database is read-only", "let this process write the file and its folder"],
  10: ["the disk fails, or a limit on the size of files is reached", "look in the system's log, and replace the disk"],
  11: ["the file is damaged", "stop this process and restore the file", "lasts"],
  13: diskFull,
  14: ["the file cannot be opened", "create its folder, and let this process write in it"],
  26: ["the file is no database", "stop this process and restore the file", "lasts"]
}

/** By PostgreSQL's codes (appendix A of its manual), or their classes. */
const postgres: Readonly<Record<string, Words>> = {
  "08": ["the connection to the database has broken", "start the database, and let this machine connect to it"],
  "25P02": ["a transaction was broken off", "nothing: it begins again on a connection of its own"],
  "25006": ["the database is read-only", "let the URL name the primary, and set default_transaction_read_only to off"],
  "26000": [
    "the database has lost a prepared statement, as behind a pooler in transaction mode",
    "use session mode",
    "lasts"
  ],
  "28": ["the database does not let this user in", "let the user of the URL log in", "lasts"],
  "3D000": ["there is no such database", "create it, or name another one in the URL", "lasts"],
  "3F000": ["there is no schema to keep tables in", "create the schema that search_path names", "lasts"],
  "42501": ["the database does not allow it to this user", "let the user of the URL create tables", "lasts"],
  "42": tablesGone,
  "42P05": ["a prepared statement is there twice, as behind a pooler in transaction mode", "use session mode", "lasts"],
  "53100": diskFull,
  "53200": ["the database has no memory left", "give it more"],
  "53300": ["the database has no room for connections", "raise max_connections, or lower connections here"],
  "53400": ["a limit that is set on the database is reached", "raise it"],
  "55P03": ["the tables are locked by another session", "let what holds the lock come to its end"],
  "57014": ["a statement took too long", "look for what keeps the database busy"],
  "57P01": ["the database has ended the connection, as when it stops", "start it if it has stopped"],
  "57P02": ["the database has crashed", "look in its log"],
  "57P03": ["the database is starting", "wait until it is there"],
  "57P05": ["the database has ended an idle connection", "nothing: another one is opened"],
  "58": ["the database's disk fails", "look in its log"],
  XX001: ["the database is damaged", "restore it", "lasts"],
  XX002: ["an index of the database is damaged", "rebuild it (REINDEX)", "lasts"]
}

/** By the names that the system gives to what goes wrong on the network. */
const network: Readonly<Record<string, Words>> = {
  ECONNREFUSED: ["no server listens at the address of the database", "start the database, or mend the URL"],
  ECONNRESET: ["the connection to the database has broken", "look for what closes connections on the way"],
  EHOSTUNREACH: ["the database's machine cannot be reached", "mend the network, or the URL"],
  ENETUNREACH: ["the database's network cannot be reached", "mend the network, or the URL"],
  ENOTFOUND: ["the database's name is not known", "mend the URL, or the name service"],
  EAI_AGAIN: ["the name service does not answer", "mend it"],
  EPIPE: ["the connection to the database has broken", "look for what closes connections on the way"],
  ETIMEDOUT: ["the database's machine does not answer", "start it, and let this machine connect to it"]
}

const codeOf = (cause: unknown): string | undefined => {
  if (typeof cause !== "object" || cause === null) return undefined
  const code = "errcode" in cause ? cause.errcode : "code" in cause ? cause.code : undefined
  return typeof code === "string" || typeof code === "number" ? `${code}` : undefined
}

/** SQLite has no code of its own for it. */
const isTableMissing = (cause: unknown): boolean =>
  cause instanceof Error && /^no such (?:table|column)\b/.test(cause.message)

/** The parameter that PgBouncer names in its refusal; no other message is read. */
const refusedParameter = (cause: unknown): string | undefined =>
  cause instanceof Error
    ? /unsupported startup parameter(?: in options)?: ([a-z_]{1,63})/.exec(cause.message)?.[1]
    : undefined
