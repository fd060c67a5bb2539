/**
 * Transactions as bytes: EIP-1559 (type 2), and the same with authorizations of accounts to delegate to code (EIP-7702, type 4). Bytes
 * are handled as hexadecimal digits without `0x`, the form of both input and output.
 */
import * as Eip7702 from "./Eip7702.ts"
import * as EvmHex from "./EvmHex.ts"
import { bytes, itemAt, itemsIn, list, number } from "./Rlp.ts"

interface Fields {
  readonly chainId: number
  readonly nonce: number
  readonly to: EvmHex.Hex
  readonly data: EvmHex.Hex
  readonly gas: bigint
  readonly value: bigint
  /** Wei for one unit of gas. */
  readonly maxFeePerGas: bigint
  /** Wei for one unit of gas. */
  readonly maxPriorityFeePerGas: bigint
}

/** An unsigned transaction, and one with authorizations, of which there is at least one. */
export type UnsignedTransaction =
  | (Fields & { readonly type: "eip1559" })
  | (Fields & { readonly type: "eip7702"; readonly authorizationList: ReadonlyArray<Eip7702.Authorization> })

/** The most gas of one transaction (EIP-7825). */
export const mostGas = 16_777_216n

const address = /^0x[0-9a-fA-F]{40}$/
const isCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 0
const isBelow = (bits: bigint, value: bigint): boolean => value >= 0n && value >> bits === 0n

/**
 * The name of the first field whose value no chain accepts; `undefined` when all fields are in range.
 */
export const irregularity = (transaction: UnsignedTransaction): keyof Fields | "authorizationList" | undefined => {
  const { chainId, data, gas, maxFeePerGas, maxPriorityFeePerGas, nonce, to, value } = transaction
  if (transaction.type === "eip7702" && transaction.authorizationList.length === 0) return "authorizationList"
  if (!isCount(chainId) || chainId === 0) return "chainId"
  if (!isCount(nonce)) return "nonce"
  if (!address.test(to)) return "to"
  if (!EvmHex.isHex(data)) return "data"
  if (!isBelow(64n, gas)) return "gas"
  if (!isBelow(256n, value)) return "value"
  if (!isBelow(256n, maxFeePerGas)) return "maxFeePerGas"
  return isBelow(256n, maxPriorityFeePerGas) && maxPriorityFeePerGas <= maxFeePerGas
    ? undefined
    : "maxPriorityFeePerGas"
}

const emptyList = "c0"

/**
 * The encoded fields of a transaction, not yet framed. The caller makes sure that there is no {@link irregularity}.
 */
export const encodeFields = (transaction: UnsignedTransaction): string =>
  number(transaction.chainId) +
  number(transaction.nonce) +
  number(transaction.maxPriorityFeePerGas) +
  number(transaction.maxFeePerGas) +
  number(transaction.gas) +
  bytes(transaction.to.slice(2).toLowerCase()) +
  number(transaction.value) +
  bytes(transaction.data.slice(2).toLowerCase()) +
  emptyList +
  (transaction.type === "eip7702" ? Eip7702.encodeList(transaction.authorizationList) : "")

type Type = UnsignedTransaction["type"]

const framed = (fields: string, type: Type): EvmHex.Hex => `0x${type === "eip7702" ? "04" : "02"}${list(fields)}`

/** The bytes to hash and sign, from the encoded fields. */
export const toSign = (fields: string, type: Type = "eip1559"): EvmHex.Hex => framed(fields, type)

/** The bytes to send, from the encoded fields and a signature: r, s and the recovery bit, 65 bytes. */
export const signed = (fields: string, signature: Uint8Array, type: Type = "eip1559"): EvmHex.Hex => {
  const digits = EvmHex.fromBytes(signature).slice(2)
  const [r, s] = [digits.slice(0, 64), digits.slice(64, 128)]
  return framed(fields + number(signature[64] ?? 0) + number(BigInt(`0x${r}`)) + number(BigInt(`0x${s}`)), type)
}

/**
 * The call that a signed transaction makes, its gas limit, its value and its authorizations: the part that a replacement at another price keeps.
 */
export interface Call extends Pick<Fields, "to" | "data" | "gas"> {
  /** Coin that it brings, in wei; none by default. */
  readonly value?: bigint
  readonly authorizationList?: ReadonlyArray<Eip7702.Authorization>
}

/** The places of a transaction's fields. */
const places = { gas: 4, to: 5, value: 6, data: 7, authorizationList: 9 }

/** The call in the bytes of a signed transaction; `undefined` for bytes of another type. */
export const callIn = (signed: string): Call | undefined => {
  const isDelegating = signed.startsWith("0x04")
  if (!EvmHex.isHex(signed) || !(isDelegating || signed.startsWith("0x02"))) return undefined
  const digits = signed.slice(4).toLowerCase()
  const frame = itemAt(digits, 0)
  const items = frame?.isList === true ? itemsIn(digits, frame.from, frame.to) : undefined
  if (items === undefined) return undefined
  const fieldAt = (place: number) => digits.slice(items[place]?.from ?? 0, items[place]?.to ?? 0)
  const numberAt = (place: number) => BigInt(`0x${fieldAt(place)}`.padEnd(3, "0"))
  const [to, data, value] = [fieldAt(places.to), fieldAt(places.data), numberAt(places.value)]
  if (to.length !== 40) return undefined
  const call: Call = { to: `0x${to}`, data: `0x${data}`, gas: numberAt(places.gas), ...(value > 0n && { value }) }
  if (!isDelegating) return call
  const authorizationList = Eip7702.decodeList(fieldAt(places.authorizationList))
  return authorizationList && { ...call, authorizationList }
}
