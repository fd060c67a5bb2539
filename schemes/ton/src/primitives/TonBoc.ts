import * as Base64 from "effect/encoding/Base64"
import * as Hex from "effect/encoding/Hex"
import * as Result from "effect/Result"

/**
 * Reads bags of cells from strangers within bounds: at most 8,192 characters and 64 cells, one root, a valid checksum,
 * ordinary cells only, nothing unused and nothing left over. The library then parses the rest; its work is bounded too,
 * since it builds each cell once.
 */
import { bytesOf, type Cell, cellFrom } from "#cells"

/** The longest text that is decoded, in characters. */
export const maximumCharacters = 8_192

/** The most cells a bag may have. A payment has five; with a wallet's code some thirty. */
export const maximumCells = 64

const magic = [0xb5, 0xee, 0x9c, 0x72]
/** Flags: checksum present, no cache bits, references of one byte; an index is optional. */
const flags = 0x41
const indexFlag = 0x80

/** Reads where the cells begin and end; `undefined` for any other header. */
const headerOf = (bytes: Uint8Array) => {
  if (magic.some((byte, at) => bytes[at] !== byte)) return undefined
  const [, , , , form = 0, offsetBytes = 0, cells = 0, roots, absent] = bytes
  if ((form & ~indexFlag) !== flags || offsetBytes < 1 || offsetBytes > 2) return undefined
  if (cells < 1 || cells > maximumCells || roots !== 1 || absent !== 0) return undefined
  const size = bytes.subarray(9, 9 + offsetBytes).reduce((sum, byte) => sum * 256 + byte, 0)
  const rootAt = 9 + offsetBytes
  const begin = rootAt + 1 + (form & indexFlag ? cells * offsetBytes : 0)
  const isWhole = bytes[rootAt] === 0 && bytes.length === begin + size + 4
  return isWhole ? { begin, cells, end: begin + size } : undefined
}

/** Whether the cells fill their place exactly, are ordinary, and an earlier one uses each but the root. */
const areRegular = (bytes: Uint8Array, header: NonNullable<ReturnType<typeof headerOf>>): boolean => {
  const used = new Set([0])
  let at = header.begin
  for (let index = 0; index < header.cells; index++) {
    const references = bytes[at] ?? 255
    if (references > 4 || !used.has(index)) return false
    const data = Math.ceil((bytes[at + 1] ?? 0) / 2)
    for (let i = 0; i < references; i++) {
      const reference = bytes[at + 2 + data + i] ?? 0
      if (reference <= index || reference >= header.cells) return false
      used.add(reference)
    }
    at += 2 + data + references
  }
  return at === header.end
}

/** Runs a reader of cells; `undefined` where it throws, since the library throws on cells that end too early or do not match. */
export const attempt = <A>(read: () => A | undefined): A | undefined => {
  try {
    return read()
  } catch {
    return undefined
  }
}

/** The root of a bag of cells in base64 (standard alphabet, padded); `undefined` for any other text. */
export const fromBase64 = (text: string): Cell | undefined => {
  if (text.length > maximumCharacters) return undefined
  const bytes = Result.getOrUndefined(Base64.decode(text))
  if (bytes === undefined || Base64.encode(bytes) !== text) return undefined
  const header = headerOf(bytes)
  if (header === undefined || !areRegular(bytes, header)) return undefined
  return attempt(() => cellFrom(bytes))
}

/** The root of a bag of cells from a node, in base64 of either alphabet; `undefined` for any other text. */
export const fromNode = (text: string): Cell | undefined => {
  const bytes = Result.getOrUndefined(Base64.decode(text.replaceAll("-", "+").replaceAll("_", "/")))
  return bytes && attempt(() => cellFrom(bytes))
}

/** A cell and all below it as base64, with a checksum. */
export const toBase64 = (cell: Cell): string => Base64.encode(bytesOf(cell))

/** The hash of a cell in hexadecimal. */
export const hashOf = (cell: Cell): string => Hex.encode(cell.hash())
