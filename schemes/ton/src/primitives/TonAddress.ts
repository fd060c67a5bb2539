import * as Brand from "effect/Brand"
import * as Schema from "effect/Schema"

/**
 * TON addresses. Text is accepted strictly: raw `0:` and 64 lower-case hexadecimal digits, or the 48 characters of the
 * user-friendly form with a valid checksum. Only workchain 0, never the zero address. Inside and on the wire an address is
 * its raw text, so two addresses are the same account exactly when they are `===`.
 */
import { Address as CoreAddress } from "#cells"

/** A parsed address: raw, lower case, workchain 0. */
export type Address = string & Brand.Brand<"@pontage/ton/Address">

const make = Brand.nominal<Address>()

const raw = /^0:[0-9a-f]{64}$/
const zero = `0:${"0".repeat(64)}`
/** The two alphabets of base64, never mixed. */
const friendly = /^(?:[A-Za-z0-9_-]{48}|[A-Za-z0-9+/]{48})$/

const isAddress = (value: unknown): value is Address => typeof value === "string" && raw.test(value) && value !== zero

/**
 * A parsed text: the account, and whether it is marked for test networks only. Only the user-friendly form has the mark.
 */
export interface ParsedAddress {
  readonly address: Address
  readonly testOnly: boolean
}

/** Parses an address; `undefined` for every text that is not exactly one of the two forms. */
export const parse = (text: string): ParsedAddress | undefined => {
  if (isAddress(text)) return { address: text, testOnly: false }
  if (!friendly.test(text)) return undefined
  try {
    const { address, isTestOnly } = CoreAddress.parseFriendly(text)
    const found = fromCore(address)
    return found && { address: found, testOnly: isTestOnly }
  } catch {
    return undefined
  }
}

/** The account of a text with or without the test mark; `undefined` for an invalid address. */
export const fromText = (text: string): Address | undefined => parse(text)?.address

/** The account of an address inside a cell; `undefined` outside of workchain 0. */
export const fromCore = (address: CoreAddress): Address | undefined => {
  const text = address.toRawString()
  return isAddress(text) ? text : undefined
}

/** The address in the form that cells take. */
export const toCore = (address: Address): CoreAddress => CoreAddress.parseRaw(address)

/** The address of an account by its hash: 32 bytes. */
export const fromHash = (hash: Uint8Array): Address =>
  make(`0:${Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("")}`)

/** Whether two texts are the same account; false for an invalid address. */
export const equals = (left: string, right: string): boolean => {
  const address = fromText(left)
  return address !== undefined && address === fromText(right)
}

/** Schema of a parsed address. */
export const Address = /* @__PURE__ */ Schema.declare(isAddress, { expected: "a raw TON address of workchain 0" })
