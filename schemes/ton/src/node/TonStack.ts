/**
 * Arguments and results of a contract's get method, in the API's form.
 */
import { beginCell, type Cell } from "#cells"

import * as TonAddress from "../primitives/TonAddress.ts"
import * as TonBoc from "../primitives/TonBoc.ts"

/** An argument. */
export type Argument = readonly [kind: "tvm.Slice", boc: string]

/** A result; `Other` for kinds that this package does not use. */
export type Item =
  | { readonly _tag: "Number"; readonly value: bigint }
  | { readonly _tag: "Cell"; readonly cell: Cell }
  | { readonly _tag: "Other" }

/** An address as an argument. */
export const address = (account: TonAddress.Address): Argument => [
  "tvm.Slice",
  TonBoc.toBase64(beginCell().storeAddress(TonAddress.toCore(account)).endCell())
]

const number = /^-?(?:0x[0-9a-f]{1,64}|[0-9]{1,78})$/

/** Reads one result as a node writes it: `["num", "0x1"]`, `["cell", {"bytes": ...}]`. */
export const read = (item: unknown): Item => {
  const [kind, value]: ReadonlyArray<unknown> = Array.isArray(item) ? item : []
  if (kind === "num" && typeof value === "string" && number.test(value)) {
    const isNegative = value.startsWith("-")
    const size = BigInt(isNegative ? value.slice(1) : value)
    return { _tag: "Number", value: isNegative ? -size : size }
  }
  const bytes = typeof value === "object" && value !== null && "bytes" in value ? value.bytes : undefined
  const cell = (kind === "cell" || kind === "slice") && typeof bytes === "string" ? TonBoc.fromNode(bytes) : undefined
  return cell === undefined ? { _tag: "Other" } : { _tag: "Cell", cell }
}

/** A result that is a number. */
export const numberOf = (item: Item | undefined): bigint | undefined =>
  item?._tag === "Number" ? item.value : undefined

/** A result that is an address of an account. */
export const addressOf = (item: Item | undefined): TonAddress.Address | undefined =>
  item?._tag === "Cell" ? TonBoc.attempt(() => TonAddress.fromCore(item.cell.beginParse().loadAddress())) : undefined
