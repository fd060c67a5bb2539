/**
 * The values of a get method in toncenter's API v2, which has two forms: the entries of the stack itself are pairs of a kind and
 * a value, the elements of a tuple are objects with a type.
 */
import { Cell, type TupleItem } from "@ton/core"
import * as Schema from "effect/Schema"

import { refuse } from "./ToncenterRefusal.ts"

/**
 * An argument of a client: `["num", "0x1"]`, `["tvm.Cell", <base64>]` or `["slice", {"bytes": <base64>}]`.
 */
export const StackArgument = Schema.Tuple([
  Schema.String,
  Schema.Union([Schema.String, Schema.Struct({ bytes: Schema.String }), Schema.Int])
])

const malformed = (message: string) => refuse(422, message)

/** The machine's integers have 257 bits, the sign included. */
const limit = 2n ** 256n

const integer = (text: string): bigint => {
  const digits = text.replace(/^-/, "")
  if (!/^(0x[0-9a-fA-F]{1,65}|[0-9]{1,78})$/.test(digits)) throw malformed("stack: not a number")
  const value = text.startsWith("-") ? -BigInt(digits) : BigInt(digits)
  if (value < -limit || value >= limit) throw malformed("stack: number out of range")
  return value
}

const cellOf = (base64: string): Cell => {
  try {
    return Cell.fromBase64(base64)
  } catch {
    throw malformed("stack: not a bag of cells")
  }
}

/**
 * Converts an argument to the machine's form.
 *
 * @throws ToncenterRefusal when its kind is unknown, or it is malformed.
 */
export const toItem = ([kind, value]: typeof StackArgument.Type): TupleItem => {
  if (kind === "num" || kind === "tvm.Number") {
    if (typeof value === "object") throw malformed("stack: not a number")
    return { type: "int", value: integer(`${value}`) }
  }
  if (typeof value === "number") throw malformed("stack: not a cell")
  const cell = cellOf(typeof value === "string" ? value : value.bytes)
  switch (kind) {
    case "cell":
    case "tvm.Cell":
      return { type: "cell", cell }
    case "slice":
    case "tvm.Slice":
      return { type: "slice", cell }
    case "builder":
    case "tvm.Builder":
      return { type: "builder", cell }
    default:
      throw malformed("stack: unknown kind")
  }
}

const bytes = (cell: Cell) => cell.toBoc().toString("base64")

const hexadecimal = (value: bigint) => (value < 0n ? `-0x${(-value).toString(16)}` : `0x${value.toString(16)}`)

const element = (item: TupleItem): object => {
  switch (item.type) {
    case "int":
      return {
        "@type": "tvm.stackEntryNumber",
        number: { "@type": "tvm.numberDecimal", number: item.value.toString() }
      }
    case "nan":
      return { "@type": "tvm.stackEntryUnsupported" }
    case "null":
      return { "@type": "tvm.stackEntryList", list: { "@type": "tvm.list", elements: [] } }
    case "tuple":
      return { "@type": "tvm.stackEntryTuple", tuple: { "@type": "tvm.tuple", elements: item.items.map(element) } }
    case "cell":
    case "builder":
      return { "@type": "tvm.stackEntryCell", cell: { "@type": "tvm.cell", bytes: bytes(item.cell) } }
    case "slice":
      return { "@type": "tvm.stackEntrySlice", slice: { "@type": "tvm.slice", bytes: bytes(item.cell) } }
  }
}

/**
 * Converts a value to the API's form. As there, slices and builders become cells, and null an empty list.
 */
export const fromItem = (item: TupleItem): readonly [string, unknown] => {
  switch (item.type) {
    case "int":
      return ["num", hexadecimal(item.value)]
    case "nan":
      return ["num", "NaN"]
    case "null":
      return ["list", { "@type": "tvm.list", elements: [] }]
    case "tuple":
      return ["tuple", { "@type": "tvm.tuple", elements: item.items.map(element) }]
    case "cell":
    case "slice":
    case "builder":
      return ["cell", { bytes: bytes(item.cell) }]
  }
}
