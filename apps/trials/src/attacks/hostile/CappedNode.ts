/**
 * A node that answers about the events of so many blocks at once and refuses more, as providers of nodes do.
 */
import { createServer } from "node:http"

import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

import { Quantity } from "../../world/ChainRpc.ts"

const Range = Schema.Struct({ fromBlock: Quantity, toBlock: Quantity })
const Question = Schema.Struct({
  id: Schema.Unknown,
  method: Schema.String,
  params: Schema.optionalKey(Schema.Array(Schema.Unknown))
})
const decodeQuestion = Schema.decodeUnknownOption(Schema.fromJsonString(Question))
const decodeRange = Schema.decodeUnknownOption(Range)

/** A range that is open at an end is as long as the chain. */
const isTooWide = (filter: unknown, most: bigint): boolean =>
  Option.match(decodeRange(filter), {
    onNone: () => typeof filter !== "object" || filter === null || !("blockHash" in filter),
    onSome: ({ fromBlock, toBlock }) => toBlock - fromBlock + 1n > most
  })

/** Starts it before a node; it goes away with the scope. `refused` counts the questions that it has refused. */
export const make = Effect.fnUntraced(function* (upstream: string, most: bigint) {
  let refused = 0
  const server = createServer((request, response) => {
    const attend = async () => {
      const chunks: Array<Buffer> = []
      for await (const chunk of request) chunks.push(Buffer.from(chunk))
      const body = Buffer.concat(chunks).toString()
      const question = Option.getOrUndefined(decodeQuestion(body))
      if (question?.method === "eth_getLogs" && isTooWide(question.params?.[0], most)) {
        refused++
        const error = { code: -32_005, message: `exceed maximum block range: ${most}` }
        return void response.end(JSON.stringify({ jsonrpc: "2.0", id: question.id, error }))
      }
      const answer = await fetch(upstream, { method: "POST", headers: { "content-type": "application/json" }, body })
      response.writeHead(200, { "content-type": "application/json" }).end(await answer.text())
    }
    // The facilitator is gone, or the chain is: both of it is a broken connection.
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
  return { url: `http://127.0.0.1:${port}`, refused: () => refused }
})
