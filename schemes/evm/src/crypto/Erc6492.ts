/**
 * The signature of a contract account that may not be deployed yet (ERC-6492): the account's factory, the factory's calldata and
 * the signature that the account accepts, as ABI parameters before a fixed suffix. Only the canonical encoding is read, so that
 * nothing is hidden between its parts.
 */
import * as AbiEncoding from "../primitives/AbiEncoding.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import type * as EvmHex from "../primitives/EvmHex.ts"

/** The parts of a wrapped signature. */
export interface Erc6492 {
  readonly factory: EvmAddress.Address
  readonly factoryData: EvmHex.Hex
  readonly signature: EvmHex.Hex
}

const suffix = /* @__PURE__ */ "6492".repeat(16)

/** Whether bytes in lower case have the suffix of a wrapped signature. */
export const isWrapped = (hex: EvmHex.Hex): boolean => hex.endsWith(suffix)

const wordDigits = 64

/** The parts of a wrapped signature in lower case; `undefined` for another encoding than the canonical one. */
export const unwrap = (hex: EvmHex.Hex): Erc6492 | undefined => {
  const digits = hex.slice(2, -suffix.length)
  const number = (at: number): number => {
    const value = Number.parseInt(digits.slice(at, at + wordDigits), 16)
    return Number.isSafeInteger(value) ? value : 0
  }
  const bytesAt = (at: number): EvmHex.Hex => `0x${digits.slice(at + wordDigits, at + wordDigits + 2 * number(at))}`
  const parts: Erc6492 = {
    factory: EvmAddress.fromTail(`0x${digits.slice(0, wordDigits).padStart(40, "0")}`),
    factoryData: bytesAt(2 * number(wordDigits)),
    signature: bytesAt(2 * number(2 * wordDigits))
  }
  return wrap(parts) === hex ? parts : undefined
}

/** Wraps a signature. */
export const wrap = ({ factory, factoryData, signature }: Erc6492): EvmHex.Hex => {
  const parts = [AbiEncoding.address(factory), AbiEncoding.bytes(factoryData), AbiEncoding.bytes(signature)]
  return `0x${AbiEncoding.parameters(parts)}${suffix}`
}
