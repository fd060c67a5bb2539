/**
 * JSON as base64 in a header: standard alphabet with padding over UTF-8, as x402 writes it; and the bounded reading of
 * such text from a hostile counterparty.
 */
import * as Result from "effect/Result"

import * as Base64Text from "../../protocol/text/Base64Text.ts"
import { depthOf } from "../../protocol/text/JsonDepth.ts"
import { invalid, type ValidationError } from "../../protocol/ValidationError.ts"

/** Maximum nesting: extensions carry JSON schemas of their own. */
export const maximumDepth = 16

/** A value as one line of base64. */
export const encode = (value: unknown): string => Base64Text.encode(JSON.stringify(value))

/** Reads header text of at most `maximumBytes`. Messages call the header `where`. Fails with `malformed`. */
export const decode = (where: string, text: string, maximumBytes: number): Result.Result<unknown, ValidationError> => {
  const malformed = (detail: string, problem: string) =>
    Result.fail(invalid("malformed", detail, `the ${where} header ${problem}; expected base64 of one JSON object`))
  if (text.length > maximumBytes) return malformed("too_long", `is longer than ${maximumBytes} bytes`)
  const json = Base64Text.decode(text)
  if (Result.isFailure(json)) {
    return json.failure === "not_base64" ? malformed("not_base64", "is not base64") : malformed("not_json", noJson)
  }
  if (depthOf(json.success) > maximumDepth) return malformed("too_deep", `is nested deeper than ${maximumDepth}`)
  try {
    const value: unknown = JSON.parse(json.success)
    return Result.succeed(value)
  } catch {
    return malformed("not_json", noJson)
  }
}

const noJson = "is base64 of something that is not UTF-8 JSON"
