/**
 * Reads a handler's streams into memory, up to a limit, before Nest begins to send them: one that breaks becomes an
 * exception like every other, and nothing is charged for it.
 */
import { Readable } from "node:stream"

import { StreamableFile } from "@nestjs/common"
import { HeldBody } from "@pontage/core"

/** Maximum length of a held streamed response, in bytes. */
export const { maximumHeldBytes } = HeldBody

/** A handler's response that cannot be held back. Nest responds with 500; nothing was charged. */
export const ResponseNotHeld: typeof HeldBody.NotHeld = HeldBody.NotHeld

/** The same response, wholly in memory. */
export const hold = async (result: unknown): Promise<unknown> => {
  if (result instanceof StreamableFile) {
    const chunks = await collect(result.getStream())
    // A stream, since Nest would tell the length of a buffer, which a handler with a trailer must not.
    return new StreamableFile(Readable.from(Buffer.concat(chunks.map(bytesOf))), result.options)
  }
  if (result instanceof Response) {
    if (result.body === null) return result
    return new Response(Buffer.concat((await collect(result.body)).map(bytesOf)), result)
  }
  return isStreamed(result) ? replay(await collect(result)) : result
}

const isStreamed = (result: unknown): result is AsyncIterable<unknown> =>
  typeof result === "object" && result !== null && Symbol.asyncIterator in result && !("then" in result)

const collect = (stream: AsyncIterable<unknown>): Promise<ReadonlyArray<unknown>> =>
  HeldBody.chunksOf(stream, (chunk) => bytesOf(chunk).length)

const bytesOf = (chunk: unknown): Uint8Array => {
  if (chunk instanceof Uint8Array) return chunk
  return Buffer.from(typeof chunk === "string" ? chunk : (JSON.stringify(chunk) ?? ""))
}

/** Keeps the chunks' types, because Nest infers the content type from the first chunk. */
async function* replay(chunks: ReadonlyArray<unknown>): AsyncGenerator {
  yield* chunks
}
