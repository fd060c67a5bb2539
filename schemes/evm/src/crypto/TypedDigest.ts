/**
 * The digests of typed data (EIP-712), for structures whose words a caller lays out by hand: hexadecimal digits without `0x`, 64 a word.
 */
import { keccak_256 } from "@noble/hashes/sha3.js"

import * as EvmHex from "../primitives/EvmHex.ts"
import type { Keccak256 } from "./EvmCrypto.ts"

const utf8 = new TextEncoder()

/** The hash of a text, as a word: of the type of a structure, or of a field that is a text. */
export const textHash = (text: string, keccak256: Keccak256 = keccak_256): string =>
  EvmHex.fromBytes(keccak256(utf8.encode(text))).slice(2)

/** The hash of words, as a word: of a structure, its type's hash first, of an array, or of a domain. */
export const wordsHash = (words: string, keccak256: Keccak256 = keccak_256): string =>
  EvmHex.fromBytes(keccak256(EvmHex.toBytes(`0x${words}`))).slice(2)

/** The 32 bytes that are signed for a structure under a domain, both given as their hashes. */
export const of = (separator: string, struct: string, keccak256: Keccak256 = keccak_256): Uint8Array =>
  keccak256(EvmHex.toBytes(`0x1901${separator}${struct}`))
