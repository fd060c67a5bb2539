/**
 * The ABI encoding of a call's parameters, as hexadecimal digits without `0x`: words of 32 bytes, and behind all words the values
 * of variable length.
 */
import type * as EvmAddress from "./EvmAddress.ts"
import * as EvmHex from "./EvmHex.ts"

/** A parameter: one word (64 digits), or a value of variable length, which is encoded behind the words. */
export type Parameter = string | { readonly tail: string }

const wordDigits = 64

/** An address as a word. */
export const address = (value: EvmAddress.Address): string => value.slice(2).padStart(wordDigits, "0")

/** Bytes as a value of variable length: their number, and themselves in whole words. */
export const bytes = (value: EvmHex.Hex): { readonly tail: string } => {
  const digits = value.slice(2)
  const padded = digits.padEnd(Math.ceil(digits.length / wordDigits) * wordDigits, "0")
  return { tail: `${EvmHex.toWord(digits.length / 2)}${padded}` }
}

/** The parameters of a call or of a structure, in their order. */
export const parameters = (values: ReadonlyArray<Parameter>): string => {
  let offset = 32 * values.length
  let words = ""
  let tails = ""
  for (const value of values) {
    words += typeof value === "string" ? value : EvmHex.toWord(offset)
    if (typeof value === "string") continue
    tails += value.tail
    offset += value.tail.length / 2
  }
  return words + tails
}
