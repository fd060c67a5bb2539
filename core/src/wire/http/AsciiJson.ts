/**
 * JSON for an HTTP header: one line, ASCII only, every other character written as `\uXXXX`; and the bounded reading of
 * such text from a hostile counterparty.
 */
import * as Result from "effect/Result"

import { escape } from "../../protocol/text/AsciiEscape.ts"
import { depthOf, maximumDepth } from "../../protocol/text/JsonDepth.ts"
import { invalid, type ValidationError } from "../../protocol/ValidationError.ts"

export { depthOf, escape, maximumDepth }

/** Maximum length of header text, in bytes. */
export const maximumHeaderBytes = 8 * 1024

/** Maximum length of base64 header text, in bytes: it holds as much JSON as the longest plain text. */
export const maximumBase64Bytes = Math.ceil(maximumHeaderBytes / 3) * 4

/** A value as one line of ASCII JSON. */
export const encode = (value: unknown): string => escape(JSON.stringify(value))

/** Quotes a stranger's text in a message for people: short, and without characters that a terminal would obey. */
export const quoted = (text: string): string => encode(text.slice(0, 300))

/** Reads header text: at most 8 KiB of ASCII, nested at most 8 deep. Fails with `malformed`. */
export const decode = (text: string): Result.Result<unknown, ValidationError> => {
  if (text.length > maximumHeaderBytes) return malformed("too_long", `is longer than ${maximumHeaderBytes} bytes`)
  if (!isPrintableAscii(text))
    return malformed("not_ascii", "has characters beyond printable ASCII; escape them as \\uXXXX")
  if (depthOf(text) > maximumDepth) return malformed("too_deep", `is nested deeper than ${maximumDepth}`)
  try {
    const value: unknown = JSON.parse(text)
    return Result.succeed(value)
  } catch {
    return malformed("not_json", "is not JSON")
  }
}

const malformed = (detail: string, problem: string) =>
  Result.fail(invalid("malformed", detail, `the X-Payment header ${problem}; expected one line of JSON`))

const isPrintableAscii = (text: string): boolean => {
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code > 126 || (code < 32 && code !== 9)) return false
  }
  return true
}
