/**
 * Protocol buffers in their one canonical form: fields in ascending order and once each, varints as short as possible, 64-bit
 * integers positive, no empty and no default values, no unknown fields. A reader that accepts exactly one encoding of each message
 * sees all of it; a lenient reader could drop bytes that hide something.
 */
import * as Result from "effect/Result"

/** The kind of a field: a positive 64-bit integer or bytes. */
export type FieldKind = "integer" | "bytes"

/** The fields that a message may have, by their numbers (1 to 15 fit one byte; up to 2047 are supported). */
export type FieldKinds = Readonly<Record<number, FieldKind>>

/** The fields of a message. */
export interface Fields {
  /** A field's integer; 0 if it is left out. */
  readonly integer: (number: number) => bigint
  /** A field's bytes; empty if it is left out. */
  readonly bytes: (number: number) => Uint8Array
}

const largest = (1n << 63n) - 1n
const longestVarint = 9
const nothing = new Uint8Array(0)

interface Varint {
  readonly value: bigint
  readonly next: number
}

/** Reads a varint of at most 63 bits in its shortest form. */
const readVarint = (buffer: Uint8Array, from: number): Varint | string => {
  let value = 0n
  for (let length = 0; length < longestVarint; length++) {
    const byte = buffer[from + length]
    if (byte === undefined) return "a number is cut off"
    value |= BigInt(byte & 127) << BigInt(7 * length)
    if (byte >= 128) continue
    return length > 0 && byte === 0 ? "a number is longer than necessary" : { value, next: from + length + 1 }
  }
  return "a number is not a positive 64-bit integer"
}

/** Reads a message with these fields; fails with a description of the first breach of the canonical form. */
export const decode = (buffer: Uint8Array, kinds: FieldKinds): Result.Result<Fields, string> => {
  const integers = new Map<number, bigint>()
  const blobs = new Map<number, Uint8Array>()
  let last = 0
  for (let at = 0; at < buffer.length;) {
    const tag = readVarint(buffer, at)
    if (typeof tag === "string") return Result.fail(tag)
    const number = Number(tag.value >> 3n)
    const expected = kinds[number]
    if (expected === undefined || Number(tag.value & 7n) !== wireType(expected)) {
      return Result.fail(`the field ${number} is not accepted`)
    }
    if (number <= last) return Result.fail(`the field ${number} is repeated or out of order`)
    last = number
    const value = readVarint(buffer, tag.next)
    if (typeof value === "string") return Result.fail(value)
    if (value.value === 0n) return Result.fail(`the field ${number} is written though it is zero or empty`)
    at = value.next
    if (expected === "integer") {
      integers.set(number, value.value)
    } else {
      if (value.value > BigInt(buffer.length - at)) return Result.fail(`the field ${number} is cut off`)
      const end = at + Number(value.value)
      blobs.set(number, buffer.subarray(at, end))
      at = end
    }
  }
  return Result.succeed({
    integer: (number) => integers.get(number) ?? 0n,
    bytes: (number) => blobs.get(number) ?? nothing
  })
}

const wireType = (kind: FieldKind): number => (kind === "integer" ? 0 : 2)

/**
 * Writes a message's fields, given in ascending order. Zero and empty values are left out. An integer above 63 bits is not a valid
 * value: callers refuse it, and here it is cut off.
 */
export const encode = (fields: ReadonlyArray<readonly [number: number, value: bigint | Uint8Array]>): Uint8Array => {
  const parts: Array<Uint8Array> = []
  for (const [number, value] of fields) {
    if (typeof value === "bigint") {
      if (value !== 0n) parts.push(varint(BigInt(number << 3)), varint(value & largest))
    } else if (value.length > 0) {
      parts.push(varint(BigInt((number << 3) | 2)), varint(BigInt(value.length)), value)
    }
  }
  return concatenated(parts)
}

const varint = (value: bigint): Uint8Array => {
  const bytes: Array<number> = []
  let rest = value
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128)
  bytes.push(Number(rest))
  return Uint8Array.from(bytes)
}

const concatenated = (parts: ReadonlyArray<Uint8Array>): Uint8Array => {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}
