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

/**
 * The base64 of a text with words in the places of a mark. The words are ASCII and as long as the mark, so that everything that
 * they do not reach is encoded once.
 */
export const filling = (text: string, mark: string): ((word: string) => string) => {
  const parts = text.split(mark)
  const [first = "", ...others] = parts.map(bytewise)
  // Words that share a group of three bytes leave nothing between them that could be encoded once.
  if (others.slice(0, -1).some(({ length }) => length < 2)) return (word) => encode(parts.join(word))
  const pieces: Array<Piece> = []
  let open = first
  for (const next of others) {
    const start = open.length - (open.length % 3)
    const end = (3 - ((open.length - start + mark.length) % 3)) % 3
    pieces.push({ fixed: btoa(open.slice(0, start)), head: open.slice(start), tail: next.slice(0, end) })
    open = next.slice(end)
  }
  const last = btoa(open)
  return (word) => {
    let all = ""
    for (const { fixed, head, tail } of pieces) all += fixed + btoa(head + word + tail)
    return all + last
  }
}

/** The base64 of whole groups of three bytes, and the bytes that share groups with the word behind them. */
interface Piece {
  readonly fixed: string
  readonly head: string
  readonly tail: string
}

/** The bytes of a text in UTF-8, each as a character. */
const bytewise = (text: string): string =>
  beyondAscii.test(text)
    ? Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join("")
    : text

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
