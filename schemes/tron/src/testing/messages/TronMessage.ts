/**
 * Conversion of TRON's messages between two forms: the bytes of protocol buffers, which are signed, and the JSON of a node's HTTP
 * API, where bytes are hexadecimal and defaults are left out. Both follow one table per message (`TronMessageTable.ts`). Fields
 * that a table lacks are kept and written back after the others, as java-tron does, so that a transaction's id is that of its bytes.
 */
import { bytesToHex, concatBytes, hexToBytes } from "@noble/hashes/utils.js"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import * as NodeAddress from "../node/NodeAddress.ts"
import * as ProtobufWire from "./ProtobufWire.ts"

/**
 * The kind of a field: `bytes` and `address` are hexadecimal text, `integer` a signed 64-bit number, a list of names an enumeration
 * by place.
 */
export type FieldKind =
  | "bytes"
  | "address"
  | "text"
  | "integer"
  | "boolean"
  | { readonly names: Readonly<Record<number, string>> }
  | { readonly table: Table }

/** One field of a message. */
export interface Field {
  readonly name: string
  readonly kind: FieldKind
  readonly isList?: boolean
}

/** A message: its fields by number. */
export type Table = Readonly<Record<number, Field>>

/** The value of a field in memory. */
export type Value = string | bigint | boolean | Message | ReadonlyArray<Value>

/** A message in memory. The key `""` holds the bytes of the fields that its table lacks. */
export interface Message {
  readonly [name: string]: Value
}

/** The failure of bytes or JSON that are not the expected message. */
export class MessageMalformed extends Schema.TaggedError<MessageMalformed>("@pontage/tron/testing/MessageMalformed")(
  "MessageMalformed",
  { message: Schema.String }
) {}

const malformed = (message: string) => new MessageMalformed({ message })

/** The key of the fields that the table lacks. */
const unknownKey = ""

const utf8 = new TextDecoder()

/** Reads a message from its bytes. Of a repeated field that may occur once, the last value wins, as in all protocol buffers. */
export const fromBytes: (table: Table, bytes: Uint8Array) => Effect.Effect<Message, MessageMalformed> =
  Effect.fnUntraced(function* (table: Table, bytes: Uint8Array) {
    const fields = ProtobufWire.read(bytes)
    if (fields === undefined) return yield* malformed("the bytes are not a protocol buffer")
    const message: Record<string, Value> = {}
    const unknown: Array<Uint8Array> = []
    for (const field of fields) {
      const known = table[field.number]
      if (known === undefined || isIntegerKind(known.kind) !== field.isInteger) {
        unknown.push(field.source)
        continue
      }
      const value = yield* fromWire(known.kind, field)
      const before = message[known.name]
      message[known.name] = known.isList === true ? [...(Array.isArray(before) ? before : []), value] : value
    }
    if (unknown.length > 0) message[unknownKey] = bytesToHex(concatBytes(...unknown))
    return message
  })

const isIntegerKind = (kind: FieldKind) =>
  kind === "integer" || kind === "boolean" || (typeof kind === "object" && "names" in kind)

const fromWire = (kind: FieldKind, field: ProtobufWire.WireField): Effect.Effect<Value, MessageMalformed> => {
  if (kind === "bytes" || kind === "address") return Effect.succeed(bytesToHex(field.bytes))
  if (kind === "text") return Effect.succeed(utf8.decode(field.bytes))
  if (kind === "integer") return Effect.succeed(BigInt.asIntN(64, field.integer))
  if (kind === "boolean") return Effect.succeed(field.integer !== 0n)
  if ("table" in kind) return fromBytes(kind.table, field.bytes)
  const name = kind.names[Number(field.integer)]
  return name === undefined ? Effect.fail(malformed(`no name for ${field.integer}`)) : Effect.succeed(name)
}

/** Writes a message: fields by ascending number, defaults left out, fields that the table lacks at the end. */
export const toBytes = (table: Table, message: Message): Uint8Array => {
  const numbers = Object.keys(table).map(Number)
  const known = numbers.flatMap((number) => {
    const field = table[number]
    const value = field === undefined ? undefined : message[field.name]
    if (field === undefined || value === undefined) return []
    if (Array.isArray(value)) return value.map((each: Value) => toWire(number, field.kind, each))
    return isDefault(field.kind, value) ? [] : [toWire(number, field.kind, value)]
  })
  const unknown = message[unknownKey]
  return concatBytes(...known, ...(typeof unknown === "string" ? [hexToBytes(unknown)] : []))
}

const isDefault = (kind: FieldKind, value: Value): boolean =>
  value === "" ||
  value === 0n ||
  value === false ||
  (typeof kind === "object" && "names" in kind && value === kind.names[0])

const toWire = (number: number, kind: FieldKind, value: Value): Uint8Array => {
  if (typeof value === "bigint") return ProtobufWire.integer(number, value)
  if (typeof value === "boolean") return ProtobufWire.integer(number, value ? 1n : 0n)
  if (typeof value !== "string") {
    const table = typeof kind === "object" && "table" in kind ? kind.table : {}
    return ProtobufWire.delimited(number, toBytes(table, isMessage(value) ? value : {}))
  }
  if (typeof kind === "object" && "names" in kind) {
    const place = Object.entries(kind.names).find(([, name]) => name === value)?.[0] ?? "0"
    return ProtobufWire.integer(number, BigInt(place))
  }
  return ProtobufWire.delimited(number, kind === "text" ? new TextEncoder().encode(value) : hexToBytes(value))
}

/** Whether a value is a message, neither a list nor a scalar. */
export const isMessage = (value: Value | undefined): value is Message =>
  typeof value === "object" && !Array.isArray(value)

const decodeJsonObject = Schema.decodeUnknownEffect(Schema.Record(Schema.String, Schema.Unknown))
const decodeJsonList = Schema.decodeUnknownEffect(Schema.Array(Schema.Unknown))

/**
 * Reads a message from the API's JSON: fields that the table lacks are ignored, addresses may be base58check, names of an
 * enumeration may be in any case or given by number.
 */
export const fromJson: (table: Table, json: unknown) => Effect.Effect<Message, MessageMalformed> = Effect.fnUntraced(
  function* (table: Table, json: unknown) {
    const given = yield* decodeJsonObject(json).pipe(Effect.mapError(() => malformed("an object was expected")))
    const message: Record<string, Value> = {}
    for (const { isList, kind, name } of Object.values(table)) {
      const value = Object.hasOwn(given, name) ? given[name] : undefined
      if (value === undefined || value === null) continue
      const one = (each: unknown) =>
        fromJsonValue(kind, each).pipe(Effect.mapError(({ message: reason }) => malformed(`${name}: ${reason}`)))
      if (isList !== true) message[name] = yield* one(value)
      else {
        const list = yield* decodeJsonList(value).pipe(Effect.mapError(() => malformed(`${name}: a list was expected`)))
        message[name] = yield* Effect.forEach(list, one)
      }
    }
    return message
  }
)

const fromJsonValue = (kind: FieldKind, json: unknown): Effect.Effect<Value, MessageMalformed> => {
  if (kind === "boolean") return Effect.succeed(json === true || json === "true")
  if (typeof kind === "object" && "table" in kind) return fromJson(kind.table, json)
  const text = typeof json === "string" || typeof json === "number" ? `${json}` : undefined
  if (text === undefined) return Effect.fail(malformed("text or a number was expected"))
  if (kind === "text") return Effect.succeed(text)
  if (kind === "bytes") return fromHex(text)
  if (kind === "address")
    return Effect.succeed(NodeAddress.toHex(text)).pipe(Effect.flatMap((hex) => fromHex(hex ?? text)))
  if (kind === "integer") {
    if (/^-?\d{1,19}$/.test(text)) return Effect.succeed(BigInt.asIntN(64, BigInt(text)))
    return Effect.fail(malformed("an integer was expected"))
  }
  const wanted = text.toUpperCase()
  const found = Object.entries(kind.names).find(([place, name]) => place === text || name.toUpperCase() === wanted)
  return found === undefined ? Effect.fail(malformed(`unknown name ${text.slice(0, 40)}`)) : Effect.succeed(found[1])
}

const fromHex = (text: string): Effect.Effect<string, MessageMalformed> => {
  const hex = text.replace(/^0x/, "").toLowerCase()
  return /^(?:[0-9a-f]{2})*$/.test(hex) ? Effect.succeed(hex) : Effect.fail(malformed("hexadecimal was expected"))
}

/** The API's JSON of a message; `visible` selects addresses in base58check. */
export const toJson = (table: Table, message: Message, visible: boolean): Readonly<Record<string, unknown>> => {
  const present = Object.values(table).flatMap(({ kind, name }): ReadonlyArray<readonly [string, unknown]> => {
    const value = message[name]
    if (value === undefined || isDefault(kind, value)) return []
    return [
      [
        name,
        Array.isArray(value) ? value.map((each: Value) => shown(kind, each, visible)) : shown(kind, value, visible)
      ]
    ]
  })
  return Object.fromEntries(present)
}

const shown = (kind: FieldKind, value: Value, visible: boolean): unknown => {
  if (typeof kind === "object" && "table" in kind) return isMessage(value) ? toJson(kind.table, value, visible) : {}
  return kind === "address" && typeof value === "string" ? NodeAddress.shown(value, visible) : value
}
