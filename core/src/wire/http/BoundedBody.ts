/**
 * Reads a counterparty's body without trusting its length: the bytes are counted as they arrive, and the first one
 * beyond the limit ends the reading.
 */

/** The result of a bounded reading. `text` is `undefined` if the bytes are not UTF-8. */
export type BoundedBody =
  | { readonly _tag: "Read"; readonly text: string | undefined }
  | { readonly _tag: "TooLong"; readonly maximumBytes: number }

const decoder = new TextDecoder("utf-8", { fatal: true })

/**
 * Reads at most `maximumBytes`. A longer body is cancelled and its connection dropped, as it is when the signal aborts:
 * a peer that never ends its body must not hold the connection. Rejects as the stream does, or with the signal's
 * reason.
 */
export const read = async (
  body: ReadableStream<Uint8Array> | null,
  maximumBytes: number,
  signal?: AbortSignal
): Promise<BoundedBody> => {
  if (body === null) return { _tag: "Read", text: "" }
  const reader = body.getReader()
  const drop = () => void reader.cancel().catch(() => undefined)
  signal?.addEventListener("abort", drop)
  const chunks: Array<Uint8Array> = []
  let length = 0
  let ended = false
  try {
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop -- chunks arrive one after another
      const { done, value } = await reader.read()
      ended = done
      signal?.throwIfAborted()
      if (done) return ofChunks(chunks, length)
      length += value.byteLength
      if (length > maximumBytes) return { _tag: "TooLong", maximumBytes }
      chunks.push(value)
    }
  } finally {
    signal?.removeEventListener("abort", drop)
    if (!ended) drop()
  }
}

/** A complete body of this length, from its parts. */
export const ofChunks = (chunks: ReadonlyArray<Uint8Array>, length: number): BoundedBody => ({
  _tag: "Read",
  text: textOf(join(chunks, length))
})

/**
 * Reads the body of a response to our own request. A body whose declared length is small enough is read in one go,
 * which costs a fraction of reading a stream; HTTP lets no more bytes through than were declared.
 */
export const ofResponse = async (response: Response, maximumBytes: number): Promise<BoundedBody> => {
  if (!isDeclaredWithin(response.headers, maximumBytes)) return read(response.body, maximumBytes)
  const bytes = new Uint8Array(await response.arrayBuffer())
  return bytes.length > maximumBytes ? { _tag: "TooLong", maximumBytes } : { _tag: "Read", text: textOf(bytes) }
}

const isDeclaredWithin = (headers: Headers, maximumBytes: number): boolean => {
  const length = headers.get("content-length")
  return length !== null && Number(length) <= maximumBytes && !headers.has("content-encoding")
}

/** Joins the pieces, of this total length in bytes. A single piece is returned as it is. */
export const join = (chunks: ReadonlyArray<Uint8Array>, length: number): Uint8Array => {
  const [only] = chunks
  if (chunks.length === 1 && only !== undefined) return only
  const bytes = new Uint8Array(length)
  let offset = 0
  for (const chunk of chunks) {
    bytes.set(chunk, offset)
    offset += chunk.byteLength
  }
  return bytes
}

const textOf = (bytes: Uint8Array): string | undefined => {
  try {
    return decoder.decode(bytes)
  } catch {
    return undefined
  }
}
