/**
 * TRON addresses: 21 bytes, the first of them 0x41. On the wire and for people an address is base58check, 34 characters beginning
 * with T; nodes write it in hexadecimal. In memory it is lower-case hexadecimal text, so two addresses are the same account exactly
 * if they are `===`.
 */
import { sha256 } from "@noble/hashes/sha2.js"
import { keccak_256 } from "@noble/hashes/sha3.js"
import * as BoundedMap from "@pontage/core/BoundedMap"
import * as Brand from "effect/Brand"

import * as TronHex from "./TronHex.ts"

/** A parsed address: `41` and 40 lower-case digits. */
export type Address = string & Brand.Brand<"@pontage/tron/Address">

const make = Brand.nominal<Address>()

const hexGrammar = /^41[0-9a-f]{40}$/
const anyHexGrammar = /^(?:0x)?41[0-9a-fA-F]{40}$/
const base58Grammar = /^T[1-9A-HJ-NP-Za-km-z]{33}$/

const alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
const payloadBytes = 21
const checksumBytes = 4

const checksumOf = (payload: Uint8Array): string =>
  TronHex.fromBytes(sha256(sha256(payload)).subarray(0, checksumBytes))

/**
 * Parses base58check strictly: the one text of an address with a valid checksum; `undefined` for everything else. The wire accepts
 * no other form.
 */
export const fromBase58 = (text: string): Address | undefined => {
  if (!base58Grammar.test(text)) return undefined
  let number = 0n
  for (const character of text) number = number * 58n + BigInt(alphabet.indexOf(character))
  const hex = number.toString(16).padStart(2 * (payloadBytes + checksumBytes), "0")
  if (hex.length !== 2 * (payloadBytes + checksumBytes)) return undefined
  const payload = hex.slice(0, 2 * payloadBytes)
  const matches = hexGrammar.test(payload) && checksumOf(TronHex.toBytes(payload)) === hex.slice(2 * payloadBytes)
  return matches ? make(payload) : undefined
}

/**
 * Parses any strict form of an address, as configurations may write it: base58check, or `41` and 40 hexadecimal digits, optionally
 * after `0x`; `undefined` for everything else.
 */
export const fromText = (text: string): Address | undefined =>
  anyHexGrammar.test(text) ? make(text.slice(-2 * payloadBytes).toLowerCase()) : fromBase58(text)

/** The address in 21 bytes; `undefined` if they are not an address. */
export const fromBytes = (bytes: Uint8Array): Address | undefined =>
  bytes.length === payloadBytes && bytes[0] === 0x41 ? make(TronHex.fromBytes(bytes)) : undefined

/**
 * The address whose last 20 bytes end a longer value, such as an ABI word or an event's topic. The text must be lower-case
 * hexadecimal of at least 20 bytes; this is not checked.
 */
export const fromTail = (hex: string): Address => make(`41${hex.slice(-40)}`)

/** The account of a public key: 65 bytes beginning with 4. */
export const fromPublicKey = (publicKey: Uint8Array): Address =>
  make(`41${TronHex.fromBytes(keccak_256(publicKey.subarray(1)).subarray(12))}`)

const capacity = 4096
const texts = /* @__PURE__ */ BoundedMap.oldestOut<Address, string>(capacity)

/** The address in base58check, its form on the wire and for people. The last few thousand are remembered. */
export const toBase58 = (address: Address): string => {
  const known = texts.get(address)
  if (known !== undefined) return known
  let number = BigInt(`0x${address}${checksumOf(TronHex.toBytes(address))}`)
  let text = ""
  for (; number > 0n; number /= 58n) text = `${alphabet[Number(number % 58n)]}${text}`
  texts.set(address, text)
  return text
}

/** The address as an ABI word: 64 digits, without the leading 0x41. */
export const toWord = (address: Address): string => address.slice(2).padStart(64, "0")

/** Whether two texts are the same account; an invalid address is the same as none. */
export const equals = (left: string, right: string): boolean => {
  const address = fromText(left)
  return address !== undefined && address === fromText(right)
}
