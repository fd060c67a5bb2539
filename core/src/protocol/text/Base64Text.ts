/**
 * Text as base64: the standard alphabet with padding, over UTF-8. The platform's own functions take each character for a
 * byte, which is right for ASCII, and a thirtieth of the cost.
 */
import * as Base64 from "effect/encoding/Base64"
import * as Result from "effect/Result"

const beyondAscii = /[\u0080-\uffff]/
const alphabet = /^[A-Za-z0-9+/]*={0,2}$/
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

/** A text as one line of base64. */
export const encode = (text: string): string => (beyondAscii.test(text) ? Base64.encode(text) : btoa(text))

/** The mistake in a value that should be the base64 of a text. */
export type Fault = "not_base64" | "not_text"

/** The text of a padded base64 value. Fails on invalid base64 and on bytes that are not UTF-8. */
export const decode = (written: string): Result.Result<string, Fault> => {
  if (written.length % 4 !== 0 || !alphabet.test(written)) return Result.fail("not_base64")
  const bytewise = atob(written)
  if (!beyondAscii.test(bytewise)) return Result.succeed(bytewise)
  return Result.try({
    try: () => utf8.decode(Uint8Array.from(bytewise, (character) => character.charCodeAt(0))),
    catch: () => "not_text"
  })
}
