/**
 * Arguments of a contract's call, read as strictly as Solidity's decoder reads them: what it would revert on is `undefined`
 * here.
 */
import { EvmAddress, EvmHex } from "@pontage/evm"

/** Calldata without its selector, in words of 32 bytes. */
export interface AbiWords {
  /** A number of at most `bits` bits; default 256. */
  readonly number: (index: number, bits?: number) => bigint | undefined
  readonly address: (index: number) => EvmAddress.Address | undefined
  readonly bytes32: (index: number) => EvmHex.Hex | undefined
  /** The bytes that the word at this place points to. */
  readonly bytes: (index: number) => EvmHex.Hex | undefined
}

/** Solidity refuses offsets and lengths above 2^64 - 1. */
const largestOffset = 2n ** 64n

/** Reads arguments. `digits` is hexadecimal without `0x`. */
export const read = (digits: string): AbiWords => {
  const at = (start: number) => (start + 64 <= digits.length ? digits.slice(start, start + 64) : undefined)
  const number: AbiWords["number"] = (index, bits = 256) => {
    const word = at(64 * index)
    const value = word === undefined ? undefined : BigInt(`0x${word}`)
    return value !== undefined && value >> BigInt(bits) === 0n ? value : undefined
  }
  return {
    number,
    address: (index) => {
      const word = at(64 * index)
      return word?.startsWith("000000000000000000000000") === true ? EvmAddress.fromTail(`0x${word}`) : undefined
    },
    bytes32: (index) => {
      const word = at(64 * index)
      return word === undefined ? undefined : `0x${word}`
    },
    bytes: (index) => {
      const offset = number(index)
      if (offset === undefined || offset >= largestOffset) return undefined
      const start = 2 * Number(offset)
      const length = at(start)
      if (length === undefined || BigInt(`0x${length}`) >= largestOffset) return undefined
      const end = start + 64 + 2 * Number(BigInt(`0x${length}`))
      return end <= digits.length ? `0x${digits.slice(start + 64, end)}` : undefined
    }
  }
}

/** An address as a word: 64 digits without `0x`. */
export const addressWord = (address: EvmAddress.Address): string => address.slice(2).padStart(64, "0")

const utf8 = new TextEncoder()

/** The data of `Error(string)`, with which Solidity's `require` reverts. */
export const errorData = (words: string): EvmHex.Hex => {
  const text = EvmHex.fromBytes(utf8.encode(words)).slice(2)
  const padded = text.padEnd(Math.ceil(text.length / 64) * 64, "0")
  return `0x08c379a0${EvmHex.toWord(32)}${EvmHex.toWord(text.length / 2)}${padded}`
}
