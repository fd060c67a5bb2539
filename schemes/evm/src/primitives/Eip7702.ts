/**
 * Authorizations of accounts to delegate to code (EIP-7702): their digest, and their list in a transaction.
 */
import type * as EvmHex from "./EvmHex.ts"
import { bytes, itemsIn, list, number } from "./Rlp.ts"

/** A signed authorization: its account delegates to the code at `address`, once, by the transaction count `nonce`. */
export interface Authorization {
  readonly chainId: number
  readonly address: EvmHex.Hex
  readonly nonce: number
  readonly yParity: number
  readonly r: EvmHex.Hex
  readonly s: EvmHex.Hex
}

/** Gas of an authorization, also of one that the chain skips. */
export const gas = 25_000n

type Terms = Pick<Authorization, "chainId" | "address" | "nonce">

const terms = ({ address, chainId, nonce }: Terms): string =>
  number(chainId) + bytes(address.slice(2).toLowerCase()) + number(nonce)

/** The bytes whose hash is signed: 5, and the chain, the address and the nonce. */
export const toSign = (authorization: Terms): EvmHex.Hex => `0x05${list(terms(authorization))}`

/** The code of an account that delegates to an address. */
export const delegationTo = (address: EvmHex.Hex): EvmHex.Hex => `0xef0100${address.slice(2).toLowerCase()}`

const entry = (one: Authorization): string =>
  list(terms(one) + number(one.yParity) + number(BigInt(one.r)) + number(BigInt(one.s)))

/** The list as a field of a transaction. */
export const encodeList = (authorizations: ReadonlyArray<Authorization>): string =>
  list(authorizations.map(entry).join(""))

/** The list in a field's content; `undefined` for other digits. */
export const decodeList = (digits: string): ReadonlyArray<Authorization> | undefined => {
  const entries = itemsIn(digits, 0, digits.length)?.map(({ from, isList, to }) =>
    isList ? decodeEntry(digits, from, to) : undefined
  )
  if (entries === undefined || entries.includes(undefined)) return undefined
  return entries.flatMap((one) => one ?? [])
}

const decodeEntry = (digits: string, from: number, to: number): Authorization | undefined => {
  const [chainId, address, nonce, yParity, r, s] =
    itemsIn(digits, from, to)?.map((item) => digits.slice(item.from, item.to)) ?? []
  if (chainId === undefined || address?.length !== 40 || nonce === undefined || yParity === undefined) return undefined
  if (r === undefined || s === undefined) return undefined
  return {
    chainId: countOf(chainId),
    address: `0x${address}`,
    nonce: countOf(nonce),
    yParity: countOf(yParity),
    r: word(r),
    s: word(s)
  }
}

const word = (field: string): EvmHex.Hex => `0x${field.padStart(64, "0")}`
const countOf = (digits: string): number => (digits === "" ? 0 : Number.parseInt(digits, 16))
