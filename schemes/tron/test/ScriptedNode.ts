/** A full node with scripted responses, over real HTTP. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"

import * as Effect from "effect/Effect"

/** A request as the node reads it. */
export interface NodeRequest {
  readonly path: string
  readonly body: Readonly<Record<string, unknown>>
}

/** Responds to a request in any way. */
export type Respond = (response: ServerResponse, request: NodeRequest, incoming: IncomingMessage) => void

/** Starts the node; it closes with the scope, with its open connections. */
export const make = (respond: Respond) =>
  Effect.acquireRelease(
    Effect.callback<{ readonly url: string; readonly close: () => void }>((resume) => {
      const server = createServer((incoming, response) => {
        let text = ""
        incoming.on("data", (chunk: Buffer) => void (text += chunk.toString()))
        incoming.on("end", () => {
          const { pathname } = new URL(incoming.url ?? "/", "http://node")
          respond(response, { path: pathname.slice(1), body: JSON.parse(text) }, incoming)
        })
      })
      const close = () => {
        server.closeAllConnections()
        server.close()
      }
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        const port = typeof address === "object" && address !== null ? address.port : 0
        resume(Effect.succeed({ url: `http://127.0.0.1:${port}`, close }))
      })
    }),
    ({ close }) => Effect.sync(close)
  )

/** Responds to every request with the same JSON. */
export const always =
  (json: unknown): Respond =>
  (response) =>
    void response.end(JSON.stringify(json))

/** A node that responds to the paths of a table only. */
export const table = (answers: Readonly<Record<string, unknown>>) =>
  make((response, { path }) => void response.end(JSON.stringify(answers[path] ?? { Error: `no ${path} here` })))

/** A block as a node writes it. */
export const block = (number: number, hash = "8f3c0a1be2d4c599", timestamp = 1_795_244_340_000) => ({
  blockID: `${number.toString(16).padStart(16, "0")}${hash}${"00".repeat(16)}`,
  block_header: { raw_data: { ...(number > 0 && { number }), ...(timestamp > 0 && { timestamp }) } }
})
