/**
 * Transactions of EIP-1559 as bytes: type 2, and the recursive-length prefix (RLP) of their fields. Bytes are handled as
 * hexadecimal digits without `0x`, because that is what goes in and what comes out.
 */
import * as EvmHex from "./EvmHex.ts"

/**
 * A transaction of EIP-1559, unsigned.
 *
 * @category models
 */
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

const address = /^0x[0-9a-fA-F]{40}$/
const isCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 0
const isBelow = (bits: bigint, value: bigint): boolean => value >= 0n && value >> bits === 0n

/**
 * What keeps a transaction from being one that a chain could take: the name of the first field that is out of range;
 * `undefined` when nothing does.
 *
 * @category predicates
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

/** Lengths below 56 are in the first byte; of longer ones that byte says how many bytes the length takes. */
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
 * The fields of a transaction, encoded but not yet framed. The transaction is trusted to have no {@link irregularity}.
 *
 * @category conversions
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

/**
 * What is hashed and signed, from the encoded fields.
 *
 * @category conversions
 */
export const toSign = (fields: string): EvmHex.Hex => framed(fields)

/**
 * The transaction as it is sent, from the encoded fields and a signature: r, s and the recovery bit, 65 bytes.
 *
 * @category conversions
 */
export const signed = (fields: string, signature: Uint8Array): EvmHex.Hex => {
  const digits = EvmHex.fromBytes(signature).slice(2)
  const [r, s] = [digits.slice(0, 64), digits.slice(64, 128)]
  return framed(fields + number(signature[64] ?? 0) + number(BigInt(`0x${r}`)) + number(BigInt(`0x${s}`)))
}
