/**
 * Holds a handler's response back until its payment has settled. Nest sends nothing before the interceptors return, so
 * only streams have to be read into memory, up to a limit.
 */
import { StreamableFile } from "@nestjs/common"

/** Maximum length of a held streamed response, in bytes. */
export const maximumHeldBytes = 8 * 1024 * 1024

/** A handler's response that cannot be held back. Nest answers 500; nothing was charged. */
export class AnswerNotHeld extends Error {
  override readonly name = "AnswerNotHeld"
}

/** The same response, wholly in memory. */
export const hold = async (answer: unknown): Promise<unknown> => {
  if (answer instanceof StreamableFile) {
    const chunks = await collect(answer.getStream())
    return new StreamableFile(Buffer.concat(chunks.map(bytesOf)), answer.options)
  }
  if (answer instanceof Response) {
    if (answer.body === null) return answer
    return new Response(Buffer.concat((await collect(answer.body)).map(bytesOf)), answer)
  }
  return isStreamed(answer) ? replay(await collect(answer)) : answer
}

const isStreamed = (answer: unknown): answer is AsyncIterable<unknown> =>
  typeof answer === "object" && answer !== null && Symbol.asyncIterator in answer && !("then" in answer)

const collect = async (stream: AsyncIterable<unknown>): Promise<ReadonlyArray<unknown>> => {
  const chunks: Array<unknown> = []
  let length = 0
  for await (const chunk of stream) {
    length += bytesOf(chunk).length
    if (length > maximumHeldBytes) {
      throw new AnswerNotHeld(`a route with settle: "after-handler" answers with at most ${maximumHeldBytes} bytes`)
    }
    chunks.push(chunk)
  }
  return chunks
}

const bytesOf = (chunk: unknown): Uint8Array => {
  if (chunk instanceof Uint8Array) return chunk
  return Buffer.from(typeof chunk === "string" ? chunk : (JSON.stringify(chunk) ?? ""))
}

/** Keeps the chunks' types, because Nest infers the content type from the first chunk. */
async function* replay(chunks: ReadonlyArray<unknown>): AsyncGenerator {
  yield* chunks
}
