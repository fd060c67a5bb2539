/** The pieces of the streams that handlers respond with: bytes, or texts as streams of Node give them, which hosts send as UTF-8. */
const utf8 = new TextEncoder()

/** The bytes of a piece; `undefined` if it is neither bytes nor text, so that no host can send it. */
export const bytesOf = (piece: unknown): Uint8Array | undefined => {
  if (typeof piece === "string") return utf8.encode(piece)
  if (piece instanceof Uint8Array) return piece
  return ArrayBuffer.isView(piece) ? new Uint8Array(piece.buffer, piece.byteOffset, piece.byteLength) : undefined
}

/** The number of its bytes. */
export const lengthOf = (piece: unknown): number => bytesOf(piece)?.byteLength ?? 0

/** The error of a body with a piece that is neither. */
export const unsendable = (piece: unknown): TypeError =>
  new TypeError(
    `the handler's response has a body that is no stream of bytes or texts; got a piece of type ${typeof piece}`
  )
