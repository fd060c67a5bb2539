/**
 * Signed transactions of EIP-1559 as a node reads them: strict RLP, the hash, and the sender by the signature.
 */
import { EvmAddress, type EvmCrypto, EvmHex } from "@pontage/evm"

/** A signed transaction. */
export interface ModelTransaction {
  readonly hash: EvmHex.Hex
  readonly bytes: EvmHex.Hex
  readonly chainId: bigint
  readonly from: EvmAddress.Address
  readonly nonce: bigint
  /** Absent where it makes a contract. */
  readonly to: EvmAddress.Address | undefined
  readonly data: EvmHex.Hex
  readonly gas: bigint
  readonly value: bigint
  /** Wei for one unit of gas. */
  readonly maximum: bigint
  /** Wei for one unit of gas. */
  readonly priority: bigint
}

/** Reads signed bytes; `undefined` if they are not a transaction of this kind. */
export const decode = (bytes: EvmHex.Hex, crypto: EvmCrypto.Shape): ModelTransaction | undefined => {
  const known = decoded.get(bytes)
  if (known !== undefined) return known
  const made = EvmHex.isHex(bytes) ? fromBytes(EvmHex.toLowerCase(bytes), crypto) : undefined
  if (made !== undefined) remember(bytes, made)
  return made
}

/** The same bytes are sent again and again, and to recover a sender costs most of a transaction. */
const decoded = new Map<string, ModelTransaction>()
const remembered = 4_096

const remember = (bytes: string, transaction: ModelTransaction): void => {
  if (decoded.size >= remembered) decoded.clear()
  decoded.set(bytes, transaction)
}

const fromBytes = (bytes: EvmHex.Hex, crypto: EvmCrypto.Shape): ModelTransaction | undefined => {
  const fields = bytes.startsWith("0x02") ? fieldsOf(bytes.slice(4)) : undefined
  if (fields === undefined || fields.length !== 12) return undefined
  const from = senderOf(fields, crypto)
  const [chainId, nonce, priority, maximum, gas, to = "", value, data = ""] = fields
  if (from === undefined || (to !== "" && to.length !== 40)) return undefined
  return {
    hash: EvmHex.fromBytes(crypto.keccak256(EvmHex.toBytes(bytes))),
    bytes,
    from,
    chainId: number(chainId),
    nonce: number(nonce),
    to: to === "" ? undefined : EvmAddress.fromTail(`0x${to}`),
    data: `0x${data}`,
    gas: number(gas),
    value: number(value),
    maximum: number(maximum),
    priority: number(priority)
  }
}

const number = (digits = ""): bigint => (digits === "" ? 0n : BigInt(`0x${digits}`))

/** The item at a place: its digits, whether it is a list, and where the next one begins. */
interface Item {
  readonly digits: string
  readonly isList: boolean
  readonly next: number
}

const itemAt = (text: string, at: number): Item | undefined => {
  const first = Number.parseInt(text.slice(at, at + 2), 16)
  if (Number.isNaN(first)) return undefined
  if (first < 0x80) return { digits: text.slice(at, at + 2), isList: false, next: at + 2 }
  const isList = first >= 0xc0
  const short = first - (isList ? 0xc0 : 0x80)
  const lengthDigits = short < 56 ? 0 : 2 * (short - 55)
  const start = at + 2 + lengthDigits
  const length = short < 56 ? short : Number.parseInt(text.slice(at + 2, start), 16)
  const next = start + 2 * length
  return next <= text.length ? { digits: text.slice(start, next), isList, next } : undefined
}

/** The digits of each field of a list that is the whole text. */
const fieldsOf = (text: string): ReadonlyArray<string> | undefined => {
  const whole = itemAt(text, 0)
  if (whole?.isList !== true || whole.next !== text.length) return undefined
  const fields: Array<string> = []
  for (let at = 0; at < whole.digits.length;) {
    const item = itemAt(whole.digits, at)
    if (item === undefined) return undefined
    // The only list among them is that of accounts and slots, and it is empty.
    if (item.isList && item.digits !== "") return undefined
    fields.push(item.digits)
    at = item.next
  }
  return fields
}

const lengthOf = (base: number, digits: string): string => {
  const length = digits.length / 2
  if (length < 56) return (base + length).toString(16).padStart(2, "0")
  const prefix = length.toString(16)
  const even = prefix.length % 2 === 0 ? prefix : `0${prefix}`
  return (base + 55 + even.length / 2).toString(16) + even
}

const framed = (digits: string): string =>
  digits.length === 2 && digits < "80" ? digits : lengthOf(0x80, digits) + digits

const senderOf = (fields: ReadonlyArray<string>, crypto: EvmCrypto.Shape): EvmAddress.Address | undefined => {
  const [parity = "", r = "", s = ""] = fields.slice(9)
  const unsigned = `${fields.slice(0, 8).map(framed).join("")}c0`
  const digest = crypto.keccak256(EvmHex.toBytes(`0x02${lengthOf(0xc0, unsigned)}${unsigned}`))
  const signature = EvmHex.toBytes(`0x${r.padStart(64, "0")}${s.padStart(64, "0")}`)
  const key = crypto.recoverPublicKey(digest, signature, parity === "" ? 0 : 1)
  return key && EvmAddress.fromPublicKey(key, crypto.keccak256)
}
