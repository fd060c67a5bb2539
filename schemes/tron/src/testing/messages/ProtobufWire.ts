/**
 * The outermost layer of protocol buffers: fields with a number and either an integer or bytes. It accepts the encodings of all
 * libraries and more, as a node must; the scheme itself has a strict reader (`StrictProtobuf`).
 */
import { concatBytes } from "@noble/hashes/utils.js"

/** One field. `bytes` is the content of a length-delimited field, empty for integers. */
export interface WireField {
  readonly number: number
  readonly isInteger: boolean
  readonly integer: bigint
  readonly bytes: Uint8Array
  /** The whole field, with its tag. */
  readonly source: Uint8Array
}

const varintType = 0
const fixed64Type = 1
const bytesType = 2
const fixed32Type = 5
const longestVarint = 10

interface Decoded<A> {
  readonly value: A
  readonly next: number
}

const readVarint = (bytes: Uint8Array, from: number): Decoded<bigint> | undefined => {
  let value = 0n
  for (let index = 0; index < longestVarint; index++) {
    const byte = bytes[from + index]
    if (byte === undefined) return undefined
    value |= BigInt(byte & 0x7f) << BigInt(7 * index)
    if (byte < 0x80) return { value: BigInt.asUintN(64, value), next: from + index + 1 }
  }
  return undefined
}

const none = new Uint8Array()

const readContent = (bytes: Uint8Array, type: number, from: number): Decoded<bigint | Uint8Array> | undefined => {
  if (type === varintType) return readVarint(bytes, from)
  const length = type === bytesType ? readVarint(bytes, from) : undefined
  const fixed = type === fixed64Type ? 8 : type === fixed32Type ? 4 : undefined
  const start = length?.next ?? from
  const size = length === undefined ? fixed : Number(length.value)
  if (size === undefined || size > bytes.length - start) return undefined
  return { value: bytes.subarray(start, start + size), next: start + size }
}

/** The fields of a message in their order; `undefined` if the bytes are not a message. */
export const read = (bytes: Uint8Array): ReadonlyArray<WireField> | undefined => {
  const fields: Array<WireField> = []
  let from = 0
  while (from < bytes.length) {
    const tag = readVarint(bytes, from)
    if (tag === undefined) return undefined
    const number = Number(tag.value >> 3n)
    const content = readContent(bytes, Number(tag.value & 7n), tag.next)
    if (content === undefined || number === 0) return undefined
    const { next, value } = content
    const isInteger = typeof value === "bigint"
    const source = bytes.subarray(from, next)
    fields.push({ number, isInteger, integer: isInteger ? value : 0n, bytes: isInteger ? none : value, source })
    from = next
  }
  return fields
}

const varint = (value: bigint): Uint8Array => {
  const bytes: Array<number> = []
  let rest = BigInt.asUintN(64, value)
  while (rest > 0x7fn) {
    bytes.push(Number(rest & 0x7fn) | 0x80)
    rest >>= 7n
  }
  return Uint8Array.from([...bytes, Number(rest)])
}

const tagOf = (number: number, type: number) => varint((BigInt(number) << 3n) | BigInt(type))

/** Writes an integer field. */
export const integer = (number: number, value: bigint): Uint8Array =>
  concatBytes(tagOf(number, varintType), varint(value))

/** Writes a field of bytes: text, a message, or plain bytes. */
export const delimited = (number: number, bytes: Uint8Array): Uint8Array =>
  concatBytes(tagOf(number, bytesType), varint(BigInt(bytes.length)), bytes)
