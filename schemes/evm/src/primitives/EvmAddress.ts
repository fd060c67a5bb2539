/**
 * Ethereum addresses. Text is accepted strictly: `0x` and 40 hexadecimal digits, with a valid EIP-55 checksum where they
 * mix cases. In memory an address is its lower-case text, so two addresses are the same account exactly when they are
 * `===`; on the wire and in messages it is written with its checksum.
 */
import { keccakP } from "@noble/hashes/sha3.js"
import * as BoundedMap from "@pontage/core/BoundedMap"
import * as Brand from "effect/Brand"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import * as SchemaTransformation from "effect/SchemaTransformation"

import * as EvmHex from "./EvmHex.ts"

type Hex = EvmHex.Hex

/** A parsed address: lower case, 20 bytes. Assignable to viem's `Address`. */
export type Address = Hex & Brand.Brand<"@pontage/evm/Address">

const make = Brand.nominal<Address>()

const lowerCase = /^0x[0-9a-f]{40}$/
const upperCase = /^0x[0-9A-F]{40}$/
const anyCase = /^0x[0-9a-fA-F]{40}$/

/** The zero address, whose key is unknown. Tokens refuse to pay it. */
export const zero: Address = make("0x0000000000000000000000000000000000000000")

const isAddress = (value: unknown): value is Address => typeof value === "string" && lowerCase.test(value)

/**
 * Parses an address: all lower case, all upper case after `0x`, or mixed with a valid checksum (EIP-55); `undefined` for
 * everything else.
 */
export const fromText = (text: string): Address | undefined => {
  if (isAddress(text)) return text
  if (!anyCase.test(text)) return undefined
  const address = make(`0x${text.slice(2).toLowerCase()}`)
  return upperCase.test(text) || checksum(address) === text ? address : undefined
}

/** The reason why no payment may go to a text: the end of a sentence whose subject is the text. */
export const recipientFault = (text: string): string | undefined => {
  const address = fromText(text)
  if (address === zero) return "is the zero address, whose money nobody can spend; give an account of yours"
  if (address !== undefined || !anyCase.test(text)) return undefined
  const right = checksum(make(`0x${text.slice(2).toLowerCase()}`))
  return `has a wrong checksum, so it may be mistyped; if every digit is right, write ${right}`
}

const capacity = 4096
const checksums = /* @__PURE__ */ BoundedMap.oldestOut<Address, Hex>(capacity)

/**
 * The address with its checksum in the case of its letters (EIP-55), as on the wire and in messages. The last few thousand
 * are cached.
 */
export const checksum = (address: Address): Hex => {
  const known = checksums.get(address)
  if (known !== undefined) return known
  const text = computeChecksum(address)
  checksums.set(address, text)
  return text
}

const state = new Uint32Array(50)

/**
 * Keccak-256 of the 40 digits fills less than one block of 136 bytes, so it is the permutation alone: the digits and the
 * padding in (1 behind the digits, 0x80 at the block's end), the hash out, as words of which the lowest byte is the first.
 */
const computeChecksum = (address: Address): Hex => {
  state.fill(0)
  for (let i = 0; i < 40; i++) state[i >> 2] = (state[i >> 2] ?? 0) | (address.charCodeAt(i + 2) << (8 * (i & 3)))
  state[10] = 1
  state[33] = 0x80000000
  keccakP(state)
  let text: Hex = "0x"
  for (let i = 0; i < 40; i++) {
    const nibble = ((state[i >> 3] ?? 0) >>> (4 * ((i & 7) ^ 1))) & 15
    const digit = address.charAt(i + 2)
    text += nibble < 8 ? digit : digit.toUpperCase()
  }
  return text
}

const isAnyCase = (value: unknown): value is Hex => typeof value === "string" && anyCase.test(value)

/** Whether two texts are the same account; `false` where one of them is not an address. */
export const equals = (left: string, right: string): boolean => {
  const address = fromText(left)
  return address !== undefined && address === fromText(right)
}

/** The address in the last 20 bytes of a longer value: a public key's hash, an event's topic. */
export const fromTail = (hex: Hex): Address => make(`0x${hex.slice(-40).toLowerCase()}`)

/** The account of a public key (65 bytes beginning with 4): the last 20 bytes of the key's hash. */
export const fromPublicKey = (publicKey: Uint8Array, keccak256: (bytes: Uint8Array) => Uint8Array): Address =>
  make(EvmHex.fromBytes(keccak256(publicKey.subarray(1)).subarray(12)))

/** A parsed address. */
export const Address = /* @__PURE__ */ Schema.declare(isAddress, { expected: "a lower-case address" })

// Calls marked pure make the schemas, so that a payer's bundle, which does not need them, leaves them out.
const strict = () =>
  Schema.String.pipe(
    Schema.decodeTo(
      Address,
      SchemaTransformation.transformEffect({
        decode: (text) => {
          const address = fromText(text)
          const message =
            "Expected an address: 0x and 40 hexadecimal digits, with a valid checksum where cases are mixed"
          return address === undefined
            ? Effect.fail(new SchemaIssue.InvalidValue({ message }))
            : Effect.succeed(address)
        },
        encode: (address) => Effect.succeed(checksum(address))
      })
    )
  )

const lenient = () =>
  Schema.declare(isAnyCase, { expected: "an address" }).pipe(
    Schema.decodeTo(Address, SchemaTransformation.transform({ decode: fromTail, encode: (address): Hex => address }))
  )

/** An address as text: decoded by the strict rules of {@link fromText}, encoded with its checksum. */
export const FromText = /* @__PURE__ */ strict()

/**
 * An address in a node's response: any case, its checksum unchecked, because some chains have their own checksum rule.
 */
export const FromNode = /* @__PURE__ */ lenient()
