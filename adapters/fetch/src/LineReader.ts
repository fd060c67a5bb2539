/** The lines of a file as a stream: at most one piece and one line are in memory, for files of any size. */
import type { FileHandle } from "node:fs/promises"

/** A whole line, without its end. */
export interface Line {
  /** Line number, from 1. */
  readonly number: number
  /** The text; `undefined` if the line is longer than allowed. */
  readonly bytes: Buffer | undefined
  /** Start of the next line, in bytes from the file's start. */
  readonly end: number
}

const pieceLength = 64 * 1024

/**
 * The whole lines from a byte on; text after the last line end is ignored. Lines longer than `maximum` bytes are not
 * kept.
 */
export const read = async function* (
  handle: FileHandle,
  { from = 0, maximum }: { readonly from?: number; readonly maximum: number }
): AsyncGenerator<Line> {
  const piece = Buffer.alloc(pieceLength)
  let begun: Array<Buffer> = []
  let length = 0
  let number = 0
  let position = from
  while (true) {
    // oxlint-disable-next-line no-await-in-loop -- one piece is in memory at a time
    const { bytesRead } = await handle.read(piece, 0, pieceLength, position)
    if (bytesRead === 0) return
    let start = 0
    while (start < bytesRead) {
      const found = piece.subarray(0, bytesRead).indexOf(0x0a, start)
      const stop = found === -1 ? bytesRead : found
      length += stop - start
      if (length > maximum) begun = []
      else begun.push(Buffer.from(piece.subarray(start, stop)))
      start = stop + 1
      if (found === -1) break
      yield { number: ++number, bytes: length > maximum ? undefined : Buffer.concat(begun), end: position + start }
      begun = []
      length = 0
    }
    position += bytesRead
  }
}
