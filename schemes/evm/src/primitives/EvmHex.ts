/**
 * Hexadecimal text as Ethereum's interfaces write it: `0x` and digits. Bytes have an even number of digits; quantities
 * (JSON-RPC) have no leading zeros and may have an odd number.
 */
import * as Schema from "effect/Schema"
import * as SchemaTransformation from "effect/SchemaTransformation"

/** `0x` and hexadecimal digits; the same type as viem's. */
export type Hex = `0x${string}`

const bytesGrammar = /^0x(?:[0-9a-fA-F]{2})*$/
const bytes32Grammar = /^0x[0-9a-fA-F]{64}$/
const quantityGrammar = /^0x(?:0|[1-9a-fA-F][0-9a-fA-F]{0,63})$/

/** Whether a value is bytes in hexadecimal, of any length and either case. */
export const isHex = (value: unknown): value is Hex => typeof value === "string" && bytesGrammar.test(value)

/** Whether a value is 32 bytes in hexadecimal: a hash, a nonce, a topic. */
export const isBytes32 = (value: unknown): value is Hex => typeof value === "string" && bytes32Grammar.test(value)

const isQuantity = (value: unknown): value is Hex => typeof value === "string" && quantityGrammar.test(value)

/**
 * Text that is known to be hexadecimal, as the type: for example our own bytes, read back from a store.
 */
export const fromTrusted = (text: string): Hex => `0x${text.slice(2)}`

/** The same bytes in lower case. */
export const toLowerCase = (hex: Hex): Hex => `0x${hex.slice(2).toLowerCase()}`

// The schemas are marked pure, so that a payer's bundle, which does not need them, leaves them out.
const lowerCased = (is: (value: unknown) => value is Hex, expected: string) =>
  Schema.declare(is, { expected }).pipe(
    Schema.decode(SchemaTransformation.transform({ decode: toLowerCase, encode: (hex: Hex) => hex }))
  )

/** Bytes in hexadecimal; decoded to lower case, so that equal values are equal texts. */
export const Hex = /* @__PURE__ */ lowerCased(isHex, "0x and an even number of hexadecimal digits")

/** 32 bytes in hexadecimal; decoded to lower case. */
export const Bytes32 = /* @__PURE__ */ lowerCased(isBytes32, "0x and 64 hexadecimal digits")

const quantity = <N extends bigint | number>(number: Schema.Codec<N>, decode: (hex: Hex) => N) =>
  Schema.declare(isQuantity, { expected: "a quantity: 0x and digits without leading zeros" }).pipe(
    Schema.decodeTo(number, SchemaTransformation.transform({ decode, encode: (value: N) => toQuantity(value) }))
  )

/** A JSON-RPC quantity of at most 256 bits as an exact `bigint`. */
export const Quantity = /* @__PURE__ */ quantity(Schema.BigInt, BigInt)

/** A JSON-RPC quantity as a `number`, at most 2^53 - 1: for counts, never for amounts. */
export const Count = /* @__PURE__ */ quantity(Schema.Int, Number)

/** A non-negative number as a JSON-RPC quantity. */
export const toQuantity = (value: bigint | number): Hex => `0x${value.toString(16)}`

/**
 * A non-negative number below 2^256 as a 32-byte word: 64 digits without `0x`, as in the ABI and EIP-712.
 */
export const toWord = (value: bigint | number): string => value.toString(16).padStart(64, "0")

const digits = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"))

/** Bytes as lower-case hexadecimal. */
export const fromBytes = (bytes: Uint8Array): Hex => {
  let text: Hex = "0x"
  for (const byte of bytes) text += digits[byte]
  return text
}

const nibble = (code: number): number => (code < 58 ? code - 48 : (code | 32) - 87)

/** Writes `length` bytes of hexadecimal into `target` at `offset`. The text is trusted to be hexadecimal. */
export const write = (hex: Hex, target: Uint8Array, offset: number, length: number): void => {
  for (let i = 0, at = 2; i < length; i++, at += 2) {
    target[offset + i] = (nibble(hex.charCodeAt(at)) << 4) | nibble(hex.charCodeAt(at + 1))
  }
}

/** The bytes of hexadecimal text that is trusted to be so. */
export const toBytes = (hex: Hex): Uint8Array => {
  const bytes = new Uint8Array((hex.length - 2) >> 1)
  write(hex, bytes, 0, bytes.length)
  return bytes
}
