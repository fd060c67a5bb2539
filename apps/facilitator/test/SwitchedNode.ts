/** A node's address behind which another node, or another time, can be put while it is used. */
import { createServer } from "node:http"

import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const Answer = Schema.Struct({ result: Schema.optionalKey(Schema.Unknown), error: Schema.optionalKey(Schema.Unknown) })
const Question = Schema.Struct({ id: Schema.Number, method: Schema.String, params: Schema.Array(Schema.Unknown) })
const Block = Schema.Record(Schema.String, Schema.Unknown)
const decodeQuestion = Schema.decodeUnknownSync(Schema.fromJsonString(Question))
const decodeAnswer = Schema.decodeUnknownSync(Answer)
const decodeBlock = Schema.decodeUnknownSync(Block)

/** Starts it before a node; it goes away with the scope. */
export const make = Effect.fnUntraced(function* (first: string) {
  let [url, shift] = [first, 0]
  const ask = async (body: string) => {
    const response = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body })
    return decodeAnswer(await response.json())
  }
  const later = (block: unknown) => {
    const fields = decodeBlock(block)
    const time = BigInt(String(fields["timestamp"])) + BigInt(shift)
    return { ...fields, timestamp: `0x${time.toString(16)}` }
  }
  const server = createServer((request, response) => {
    const attend = async () => {
      const chunks: Array<Buffer> = []
      for await (const chunk of request) chunks.push(Buffer.from(chunk))
      const body = Buffer.concat(chunks).toString()
      const { id, method } = decodeQuestion(body)
      const { error, result } = await ask(body)
      const shown = method === "eth_getBlockByNumber" && shift !== 0 && result !== null ? later(result) : result
      const answer = error === undefined ? { result: shown ?? null } : { error }
      response
        .writeHead(200, { "content-type": "application/json" })
        .end(JSON.stringify({ jsonrpc: "2.0", id, ...answer }))
    }
    void attend().catch(() => response.destroy())
  })
  yield* Effect.acquireRelease(
    Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
    () =>
      Effect.sync(() => {
        server.closeAllConnections()
        server.close()
      })
  )
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  return {
    url: `http://127.0.0.1:${port}`,
    /** From now on another node answers. */
    switchTo: (other: string) => void (url = other),
    /** From now on all blocks are so many seconds later. */
    shiftBy: (seconds: number) => void (shift = seconds)
  }
})
