/** Bags of cells: a cell and all below it as bytes (TL-B `serialized_boc`). Only bags with one root and ordinary cells are read. */
import { BitString } from "./BitString.ts"
import { crc32c } from "./Checksums.ts"
import { Cell } from "./OrdinaryCell.ts"

const magic = 0xb5ee9c72

/** Flags: an index precedes the cells; a checksum follows them. */
const hasIndex = 0x80
const hasChecksum = 0x40

const wrong = (what: string) => new TypeError(`the bag of cells ${what}`)

/** Reads numbers of whole bytes. */
class ByteReader {
  readonly bytes: Uint8Array
  at = 0

  constructor(bytes: Uint8Array) {
    this.bytes = bytes
  }

  take(length: number): Uint8Array {
    if (this.at + length > this.bytes.length) throw wrong("ends too early")
    return this.bytes.subarray(this.at, (this.at += length))
  }

  number(length: number): number {
    return this.take(length).reduce((sum, byte) => sum * 256 + byte, 0)
  }
}

/** A cell before those that it refers to are there. */
interface Stored {
  readonly bits: BitString
  readonly refs: ReadonlyArray<number>
}

const readStored = (reader: ByteReader, width: number): Stored => {
  const [references = 0, descriptor = 0] = reader.take(2)
  if (references > 4) throw wrong("holds a cell that is not an ordinary one")
  const data = reader.take(Math.ceil(descriptor / 2))
  const bits = new BitString(data, 0, lengthOf(data, descriptor))
  return { bits, refs: Array.from({ length: references }, () => reader.number(width)) }
}

/** The bits of a cell's data: an odd descriptor says that a one and zeros follow them. */
const lengthOf = (data: Uint8Array, descriptor: number): number => {
  if (descriptor % 2 === 0) return data.length * 8
  const last = data.at(-1) ?? 0
  if (last === 0) throw wrong("holds a cell without the end of its bits")
  return data.length * 8 - 1 - Math.log2(last & -last)
}

/** The root of a bag of cells, which must be the only one. Throws for bytes that are no such bag. */
export const cellFrom = (bytes: Uint8Array): Cell => {
  const reader = new ByteReader(bytes)
  if (reader.number(4) !== magic) throw wrong("has another magic number")
  const flags = reader.number(1)
  const width = flags & 7
  const offsets = reader.number(1)
  const count = reader.number(width)
  if (reader.number(width) !== 1) throw wrong("has not exactly one root")
  if (reader.number(width) !== 0) throw wrong("leaves cells out")
  const size = reader.number(offsets)
  const root = reader.number(width)
  if (flags & hasIndex) reader.take(count * offsets)
  const end = reader.at + size
  const stored: Array<Stored> = []
  while (stored.length < count) stored.push(readStored(reader, width))
  if (reader.at !== end) throw wrong("is longer than its cells")
  if (flags & hasChecksum) checkSum(bytes, reader.at)
  else if (reader.at !== bytes.length) throw wrong("has something left over")
  return builtFrom(stored, root)
}

const checkSum = (bytes: Uint8Array, end: number): void => {
  const expected = crc32c(bytes.subarray(0, end))
  const given = bytes.subarray(end)
  if (given.length !== 4 || expected.some((byte, at) => byte !== given[at])) throw wrong("has a wrong checksum")
}

/** Cells are built from the last to the first, since each refers to later ones only. */
const builtFrom = (stored: ReadonlyArray<Stored>, root: number): Cell => {
  const cells: Array<Cell | undefined> = stored.map(() => undefined)
  for (let index = stored.length - 1; index >= 0; index--) {
    const { bits, refs } = stored[index] ?? { bits: Cell.EMPTY.bits, refs: [] }
    cells[index] = new Cell(
      bits,
      refs.map((ref) => {
        const cell = ref > index ? cells[ref] : undefined
        return cell ?? raise(wrong("refers to an earlier cell"))
      })
    )
  }
  return cells[root] ?? raise(wrong("has no root"))
}

const raise = (error: Error): never => {
  throw error
}

/** A cell and all below it as a bag of cells with a checksum: each cell once, before those that it refers to. */
export const bytesOf = (root: Cell): Uint8Array => {
  const order = orderOf(root)
  if (order.length > 255) throw wrong("would hold more than 255 cells")
  const places = new Map(order.map((cell, place) => [keyOf(cell), place]))
  const cells = order.flatMap((cell) => [...cell.describe(), ...cell.refs.map((ref) => places.get(keyOf(ref)) ?? 0)])
  const head = [
    0xb5,
    0xee,
    0x9c,
    0x72,
    hasChecksum | 1,
    2,
    order.length,
    1,
    0,
    cells.length >> 8,
    cells.length & 255,
    0
  ]
  const bag = Uint8Array.from([...head, ...cells])
  return Uint8Array.from([...bag, ...crc32c(bag)])
}

const keyOf = (cell: Cell): string => cell.hash().join()

/** The cells below a root, each once, and before all that it refers to. */
const orderOf = (root: Cell): ReadonlyArray<Cell> => {
  const seen = new Set<string>()
  const after: Array<Cell> = []
  const visit = (cell: Cell): void => {
    const key = keyOf(cell)
    if (seen.has(key)) return
    seen.add(key)
    for (const ref of cell.refs.toReversed()) visit(ref)
    after.push(cell)
  }
  visit(root)
  return after.toReversed()
}
