/** A node whose responses a test chooses, over real HTTP. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"

import * as Effect from "effect/Effect"

/** One request to the node. */
export interface NodeRequest {
  readonly id: number
  readonly method: string
  readonly params: ReadonlyArray<unknown>
}

/**
 * Responds to one request in any way. A rejected promise breaks the connection: the chain behind may end while a request of
 * an ended test is still on its way.
 */
export type Handler = (
  response: ServerResponse,
  request: NodeRequest,
  incoming: IncomingMessage
) => void | Promise<void>

/** Starts the node; it stops with the scope and closes open connections. */
export const make = (handler: Handler) =>
  Effect.acquireRelease(
    Effect.callback<{ readonly url: string; readonly close: () => void }>((resume) => {
      const server = createServer((incoming, response) => {
        let text = ""
        incoming.on("data", (chunk: Buffer) => void (text += chunk.toString()))
        const respond = async () => handler(response, JSON.parse(text), incoming)
        incoming.on("end", () => void respond().catch(() => response.destroy()))
      })
      const close = () => {
        server.closeAllConnections()
        server.close()
      }
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        const port = typeof address === "object" && address !== null ? address.port : 0
        resume(Effect.succeed({ url: `http://127.0.0.1:${port}/`, close }))
      })
    }),
    ({ close }) => Effect.sync(close)
  )

/** A node that responds to every request with this well-formed result. */
export const result =
  (value: unknown): Handler =>
  (response, { id }) =>
    void response.end(JSON.stringify({ jsonrpc: "2.0", id, result: value }))

/** A node that responds to every request with this well-formed error. */
export const error =
  (value: unknown): Handler =>
  (response, { id }) =>
    void response.end(JSON.stringify({ jsonrpc: "2.0", id, error: value }))
