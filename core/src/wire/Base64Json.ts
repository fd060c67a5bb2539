/**
 * JSON as base64 in a header: standard alphabet with padding over UTF-8, as x402 writes it; and the bounded reading of
 * such text from a counterparty that means harm.
 */
import * as Base64 from "effect/encoding/Base64"
import * as Result from "effect/Result"

import { depthOf } from "../protocol/JsonDepth.ts"
import { invalid, type ValidationError } from "../protocol/ValidationError.ts"

/**
 * The deepest nesting that is read: extensions carry JSON schemas of their own.
 *
 * @category constants
 */
export const maximumDepth = 16

/**
 * A value as one line of base64.
 *
 * @category conversions
 */
export const encode = (value: unknown): string => Base64.encode(JSON.stringify(value))

const alphabet = /^[A-Za-z0-9+/]*={0,2}$/
const utf8 = new TextDecoder("utf-8", { fatal: true })

/**
 * Reads header text of at most `maximumBytes`. `where` is what messages call it. Fails with `malformed`.
 *
 * @category conversions
 */
export const decode = (where: string, text: string, maximumBytes: number): Result.Result<unknown, ValidationError> => {
  const malformed = (detail: string, what: string) =>
    Result.fail(invalid("malformed", detail, `the ${where} header ${what}; expected base64 of one JSON object`))
  if (text.length > maximumBytes) return malformed("too_long", `is longer than ${maximumBytes} bytes`)
  const bytes = alphabet.test(text) ? Base64.decode(text) : undefined
  if (bytes === undefined || Result.isFailure(bytes)) return malformed("not_base64", "is not base64")
  try {
    const json = utf8.decode(bytes.success)
    if (depthOf(json) > maximumDepth) return malformed("too_deep", `is nested deeper than ${maximumDepth}`)
    const value: unknown = JSON.parse(json)
    return Result.succeed(value)
  } catch {
    return malformed("not_json", "is base64 of something that is not UTF-8 JSON")
  }
}
