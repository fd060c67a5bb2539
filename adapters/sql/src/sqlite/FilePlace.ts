/**
 * Checks that open files are still those that their names lead to. A file that was deleted, moved or replaced accepts
 * every write of a process that has it open, and loses all of it when the process ends.
 */
import { realpathSync, statSync } from "node:fs"
import { resolve } from "node:path"

/** The fault of a database's files; `undefined` while they are in their places. */
export type FilePlace = () => string | undefined

/** Watches an open database file and its write-ahead log, once there is one. */
export const watch = (filename: string): FilePlace => {
  const places = [
    place(resolve(filename), "the file of the records"),
    // The log lies beside the file itself, not beside a link to it.
    place(`${realpathSync(filename)}-wal`, "the log of the records' file")
  ]
  return () => {
    for (const look of places) {
      const fault = look()
      if (fault !== undefined) return `${fault} while it is in use: ${mend}`
    }
    return undefined
  }
}

const mend =
  "nothing more is written to it; put the same file back in its place, or stop this process and restore the records"

const place = (path: string, what: string): FilePlace => {
  let own = identity(path)
  return () => {
    const now = identity(path)
    own ??= now
    if (own === now) return undefined
    return now === undefined ? `${what} was deleted or moved away` : `${what} was replaced by another`
  }
}

/** An unreadable folder counts as missing. */
const identity = (path: string): string | undefined => {
  try {
    const { dev, ino } = statSync(path, { bigint: true })
    return `${dev}:${ino}`
  } catch {
    return undefined
  }
}
