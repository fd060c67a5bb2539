/** The body of a response that waits in memory until its payment has settled, up to a limit. */
import * as BodyPiece from "./BodyPiece.ts"

/** Maximum length of a held body, in bytes. */
export const maximumHeldBytes = 8 * 1024 * 1024

/** A handler's response that cannot be held back. The host answers 500; nothing was charged. */
export class NotHeld extends Error {
  readonly status = 500
  override readonly name = "NotHeld"
}

/** The failure of a response that exceeds the limit. */
export const tooLong = (): NotHeld =>
  new NotHeld(`a route with settle: "after-handler" responds with at most ${maximumHeldBytes} bytes`)

/** Reads a stream's chunks, each of the length that `lengthOf` tells. Rejects with `NotHeld` beyond the limit. */
export const chunksOf = async <Chunk>(
  stream: AsyncIterable<Chunk>,
  lengthOf: (chunk: Chunk) => number
): Promise<ReadonlyArray<Chunk>> => {
  const chunks: Array<Chunk> = []
  let length = 0
  for await (const chunk of stream) {
    length += lengthOf(chunk)
    if (length > maximumHeldBytes) throw tooLong()
    chunks.push(chunk)
  }
  return chunks
}

/** The start of a web stream that ended before the limit, or the stream again. */
export type Beginning =
  | { readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly bytes: undefined; readonly stream: ReadableStream<Uint8Array> }

/**
 * Reads a web stream to its end, or as far as the limit or a break; then the same bytes, and the break, come from the stream
 * that it returns. Never rejects for a break. Cancels the stream when the signal aborts.
 */
export const beginningOf = async (stream: ReadableStream<Uint8Array>, signal: AbortSignal): Promise<Beginning> => {
  const chunks: Array<Uint8Array> = []
  let length = 0
  const reader = readerUntil(signal, stream)
  while (length <= maximumHeldBytes) {
    // oxlint-disable-next-line no-await-in-loop -- chunks arrive one after another
    const next = await reader.read().catch(() => undefined)
    // A broken stream rejects every later read with the same error.
    if (next === undefined) break
    if (next.done) return { bytes: joined(chunks, length) }
    const bytes = BodyPiece.bytesOf(next.value)
    // A copy: the source may reuse its array.
    chunks.push(bytes === undefined ? next.value : new Uint8Array(bytes))
    // The host judges a piece that is neither bytes nor text.
    if (bytes === undefined) break
    length += bytes.byteLength
  }
  return { bytes: undefined, stream: resumed(chunks, reader) }
}

type Reader = ReadableStreamDefaultReader<Uint8Array>

/** Reads a stream, which is cancelled when the signal aborts: then every read says that it has ended. */
const readerUntil = (signal: AbortSignal, stream: ReadableStream<Uint8Array>): Reader => {
  const reader = stream.getReader()
  const leave = () => void reader.cancel().catch(() => undefined)
  signal.addEventListener("abort", leave, { once: true })
  if (signal.aborted) leave()
  return reader
}

const resumed = (chunks: Array<Uint8Array>, reader: Reader): ReadableStream<Uint8Array> =>
  new ReadableStream({
    pull: async (controller) => {
      const first = chunks.shift()
      if (first !== undefined) return controller.enqueue(first)
      const { done, value } = await reader.read()
      if (done) controller.close()
      else controller.enqueue(value)
    },
    cancel: (reason) => reader.cancel(reason)
  })

/**
 * The bytes of a web stream. Rejects with `NotHeld` beyond the limit, and cancels the stream. Cancels it too when the signal aborts, and
 * resolves with what came.
 */
export const bytesOf = async (
  stream: ReadableStream<Uint8Array>,
  signal: AbortSignal
): Promise<Uint8Array<ArrayBuffer>> => {
  const chunks: Array<Uint8Array> = []
  let length = 0
  const reader = readerUntil(signal, stream)
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- chunks arrive one after another
    const { done, value } = await reader.read()
    if (done) return joined(chunks, length)
    const bytes = BodyPiece.bytesOf(value)
    length += bytes?.byteLength ?? 0
    if (bytes === undefined || length > maximumHeldBytes) {
      void reader.cancel().catch(() => undefined)
      throw bytes === undefined ? BodyPiece.unsendable(value) : tooLong()
    }
    chunks.push(new Uint8Array(bytes))
  }
}

const joined = (chunks: ReadonlyArray<Uint8Array>, length: number): Uint8Array<ArrayBuffer> => {
  const bytes = new Uint8Array(length)
  let offset = 0
  for (const chunk of chunks) {
    bytes.set(chunk, offset)
    offset += chunk.byteLength
  }
  return bytes
}
