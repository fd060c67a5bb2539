/**
 * Hexadecimal text as TRON's interfaces write it: digits alone, without `0x`. In memory it is always lower case, so that equal bytes
 * have equal texts.
 */
import * as Schema from "effect/Schema"
import * as SchemaTransformation from "effect/SchemaTransformation"

const grammar = /^(?:[0-9a-f]{2})*$/
const anyCase = /^(?:[0-9a-fA-F]{2})*$/
const bytes32Grammar = /^[0-9a-fA-F]{64}$/

/** Whether a text is bytes in lower-case hexadecimal, of any length. */
export const isHex = (text: string): boolean => grammar.test(text)

const lowerCased = (is: (text: string) => boolean, expected: string) =>
  Schema.String.check(Schema.makeFilter(is, { expected })).pipe(
    Schema.decode(
      SchemaTransformation.transform({ decode: (text: string) => text.toLowerCase(), encode: (text: string) => text })
    )
  )

// A payer needs none of the schemas: they are marked pure, so that its bundle leaves them out.
/** Bytes as a node writes them, in either case; decoded to lower case. */
export const FromNode = /* @__PURE__ */ lowerCased((text) => anyCase.test(text), "hexadecimal digits, two for a byte")

/** 32 bytes as a node writes them; decoded to lower case. */
export const Bytes32 = /* @__PURE__ */ lowerCased((text) => bytes32Grammar.test(text), "64 hexadecimal digits")

/** A number from 0 to 2^256 - 1 as an ABI word: 64 digits. */
export const toWord = (value: bigint): string => value.toString(16).padStart(64, "0")

const digits = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"))

/** Bytes as lower-case hexadecimal. */
export const fromBytes = (bytes: Uint8Array): string => {
  let text = ""
  for (const byte of bytes) text += digits[byte]
  return text
}

const nibble = (code: number): number => (code < 58 ? code - 48 : (code | 32) - 87)

/** The bytes of hexadecimal text, which is not checked. */
export const toBytes = (text: string): Uint8Array => {
  const bytes = new Uint8Array(text.length >> 1)
  for (let i = 0, at = 0; i < bytes.length; i++, at += 2) {
    bytes[i] = (nibble(text.charCodeAt(at)) << 4) | nibble(text.charCodeAt(at + 1))
  }
  return bytes
}
