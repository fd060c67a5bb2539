/**
 * Reads request headers so that duplicates stay visible. Node joins repeated headers into one text; two payments must
 * never look like one.
 */
import type { ReadHeader } from "../../wire/pontage/Dialect.ts"

/** Reads Node's `rawHeaders` (name, value, name, value, ...): several values of one name are returned as an array. */
export const fromRaw =
  (raw: ReadonlyArray<string>): ReadHeader =>
  (name) => {
    let found: string | undefined
    let all: Array<string> | undefined
    for (let index = 0; index + 1 < raw.length; index += 2) {
      const key = raw[index]
      const value = raw[index + 1]
      if (key === undefined || value === undefined) continue
      if (key.length !== name.length || key.toLowerCase() !== name) continue
      if (found === undefined) found = value
      else if (all === undefined) all = [found, value]
      else all.push(value)
    }
    return all ?? found
  }
