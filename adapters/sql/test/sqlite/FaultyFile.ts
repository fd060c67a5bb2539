/**
 * A database file in which statements fail when a test says so: before they run, or with the whole transaction undone, as
 * SQLite itself does on some faults.
 */
import * as Effect from "effect/Effect"
import { SqlError, UnknownError } from "effect/sql/SqlError"

import type { SqliteFile } from "../../src/sqlite/SqliteFile.ts"

/** The failing statements, reads excepted: of those that begin with a text, a number of them from an index on. */
export interface Fault {
  readonly text: string
  readonly from: number
  readonly length: number
  readonly undoes: boolean
}

/** No failing statements. */
export const none: Fault = { text: "", from: 0, length: 0, undoes: false }

export interface FaultyFile {
  readonly file: SqliteFile
  readonly arm: (fault: Fault) => void
  readonly disarm: () => void
}

export const make = (file: SqliteFile): FaultyFile => {
  let fault = none
  let count = 0
  const arm = (next: Fault) => {
    fault = next
    count = 0
  }
  const { connection } = file
  const isHit = (text: string): boolean => {
    if (text.startsWith("SELECT") || !text.startsWith(fault.text)) return false
    const place = count++ - fault.from
    return place >= 0 && place < fault.length
  }
  const execute: typeof connection.execute = (text, parameters, transform) =>
    Effect.suspend(() => {
      if (!isHit(text)) return connection.execute(text, parameters, transform)
      const undone = fault.undoes && file.isTransaction() ? connection.execute("ROLLBACK", [], undefined) : Effect.void
      return Effect.andThen(undone, Effect.fail(failure))
    })
  const write: typeof file.write = (batches) =>
    Effect.forEach(
      batches,
      ({ rows, text }) => Effect.forEach(rows, (row) => execute(text, row, undefined), { discard: true }),
      { discard: true }
    )
  return {
    file: { ...file, connection: { ...connection, execute }, write },
    arm,
    disarm: () => arm(none)
  }
}

const failure = new SqlError({
  reason: new UnknownError({ cause: "a trial", message: "failed", operation: "execute" })
})
