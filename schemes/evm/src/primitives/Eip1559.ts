/**
 * EIP-1559 transactions as bytes: type 2, and the recursive-length prefix (RLP) of their fields. Bytes are handled as
 * hexadecimal digits without `0x`, the form of both input and output.
 */
import * as EvmHex from "./EvmHex.ts"

/** An unsigned EIP-1559 transaction. */
export interface UnsignedTransaction {
  readonly type: "eip1559"
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

/** The most gas of one transaction (EIP-7825). */
export const mostGas = 16_777_216n

const address = /^0x[0-9a-fA-F]{40}$/
const isCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 0
const isBelow = (bits: bigint, value: bigint): boolean => value >= 0n && value >> bits === 0n

/**
 * The name of the first field whose value no chain accepts; `undefined` when all fields are in range.
 */
export const irregularity = (transaction: UnsignedTransaction): keyof UnsignedTransaction | undefined => {
  const { chainId, data, gas, maxFeePerGas, maxPriorityFeePerGas, nonce, to, value } = transaction
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

const even = (digits: string): string => (digits.length % 2 === 0 ? digits : `0${digits}`)

/** The first byte holds a length below 56; for a longer one it holds the number of bytes that the length takes. */
const withLength = (base: number, digits: string): string => {
  const length = digits.length / 2
  if (length < 56) return even((base + length).toString(16)) + digits
  const prefix = even(length.toString(16))
  return (base + 55 + prefix.length / 2).toString(16) + prefix + digits
}

const bytes = (digits: string): string => (digits.length === 2 && digits < "80" ? digits : withLength(0x80, digits))

/** A number has no leading zeros, so zero has no bytes. */
const number = (value: number | bigint): string => {
  const digits = value.toString(16)
  return bytes(digits === "0" ? "" : even(digits))
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
  emptyList

const framed = (fields: string): EvmHex.Hex => `0x02${withLength(0xc0, fields)}`

/** The bytes to hash and sign, from the encoded fields. */
export const toSign = (fields: string): EvmHex.Hex => framed(fields)

/** The bytes to send, from the encoded fields and a signature: r, s and the recovery bit, 65 bytes. */
export const signed = (fields: string, signature: Uint8Array): EvmHex.Hex => {
  const digits = EvmHex.fromBytes(signature).slice(2)
  const [r, s] = [digits.slice(0, 64), digits.slice(64, 128)]
  return framed(fields + number(signature[64] ?? 0) + number(BigInt(`0x${r}`)) + number(BigInt(`0x${s}`)))
}

/**
 * The call that a signed transaction makes, and its gas limit: the part that a replacement at another price keeps.
 */
export type Call = Pick<UnsignedTransaction, "to" | "data" | "gas">

/** The begin and end of a list's item, in digits; `undefined` where the text ends too early. */
const itemAt = (digits: string, at: number): { readonly from: number; readonly to: number } | undefined => {
  const first = Number.parseInt(digits.slice(at, at + 2), 16)
  if (Number.isNaN(first) || first >= 0xc0) return undefined
  if (first < 0x80) return { from: at, to: at + 2 }
  const extra = first < 0xb8 ? 0 : first - 0xb7
  const from = at + 2 + 2 * extra
  const length = extra === 0 ? first - 0x80 : Number.parseInt(digits.slice(at + 2, from), 16)
  const to = from + 2 * length
  return Number.isSafeInteger(to) && to <= digits.length ? { from, to } : undefined
}

/** The number of a transaction's fields up to and including its data. */
const fieldsToData = 8

/** The call in the bytes of a signed transaction; `undefined` for bytes that are not an EIP-1559 transaction. */
export const callIn = (signed: string): Call | undefined => {
  if (!EvmHex.isHex(signed) || !signed.startsWith("0x02")) return undefined
  const digits = signed.slice(4).toLowerCase()
  const frame = Number.parseInt(digits.slice(0, 2), 16)
  if (Number.isNaN(frame) || frame < 0xc0) return undefined
  let at = frame < 0xf8 ? 2 : 2 + 2 * (frame - 0xf7)
  const fields: Array<string> = []
  while (fields.length < fieldsToData) {
    const item = itemAt(digits, at)
    if (item === undefined) return undefined
    fields.push(digits.slice(item.from, item.to))
    at = item.to
  }
  const [, , , , gas = "", to = "", , data = ""] = fields
  return to.length === 40 ? { to: `0x${to}`, data: `0x${data}`, gas: BigInt(`0x${gas === "" ? "0" : gas}`) } : undefined
}
