/**
 * Cells, addresses and state inits of TON: those of `@ton/core`. Bundles for browsers get `BrowserCells.ts` in place of this module
 * (`#cells` in the manifest), because `@ton/core` needs Node's `Buffer`, and takes 83 KB.
 */
import { type Builder, Cell, type Slice } from "@ton/core"

export {
  Address,
  beginCell,
  type Builder,
  Cell,
  contractAddress,
  loadStateInit,
  type Slice,
  type StateInit,
  storeStateInit
} from "@ton/core"

/** The root of a bag of cells, which must be the only one. Throws for bytes that are no such bag. */
export const cellFrom = (bytes: Uint8Array): Cell => {
  const [root, ...others] = Cell.fromBoc(Buffer.from(bytes))
  if (root === undefined || others.length > 0) throw new Error("expected a bag of cells with one root")
  return root
}

/** A cell and all below it as a bag of cells with a checksum. */
export const bytesOf = (cell: Cell): Uint8Array => cell.toBoc({ idx: false, crc32: true })

/** Appends whole bytes. */
export const storeBytes = (builder: Builder, bytes: Uint8Array): Builder => builder.storeBuffer(Buffer.from(bytes))

/** Reads whole bytes. Throws where the slice ends too early. */
export const loadBytes = (slice: Slice, length: number): Uint8Array => slice.loadBuffer(length)
