/** A facilitator with prepared responses, over real HTTP on loopback. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"

import * as Effect from "effect/Effect"

export interface SeenRequest {
  readonly method: string | undefined
  readonly url: string | undefined
  readonly headers: IncomingMessage["headers"]
  readonly body: string
}

export type Answer = (request: SeenRequest, response: ServerResponse) => void

export interface FacilitatorStub {
  readonly url: string
  readonly seen: Array<SeenRequest>
}

/** A JSON response. */
export const json =
  (body: unknown, status = 200): Answer =>
  (_, response) => {
    response.writeHead(status, { "content-type": "application/json" })
    response.end(JSON.stringify(body))
  }

/** A text response. */
export const text =
  (body: string, status = 200, headers: Record<string, string> = {}): Answer =>
  (_, response) => {
    response.writeHead(status, headers)
    response.end(body)
  }

/** A running stub; it stops with the scope. */
export const make = (answer: Answer) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.callback<{ readonly server: Server; readonly seen: Array<SeenRequest> }>((resume) => {
        const seen: Array<SeenRequest> = []
        const server = createServer((request, response) => void serve(request, response, answer, seen))
        server.listen(0, "127.0.0.1", () => resume(Effect.succeed({ server, seen })))
      }),
      ({ server }) =>
        Effect.callback<void>((resume) => {
          server.closeAllConnections()
          server.close(() => resume(Effect.void))
        })
    ),
    ({ seen, server }): FacilitatorStub => ({ url: `http://127.0.0.1:${portOf(server)}`, seen })
  )

const serve = async (
  request: IncomingMessage,
  response: ServerResponse,
  answer: Answer,
  seen: Array<SeenRequest>
): Promise<void> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(Buffer.from(chunk))
  const one = {
    method: request.method,
    url: request.url,
    headers: request.headers,
    body: Buffer.concat(chunks).toString()
  }
  seen.push(one)
  answer(one, response)
}

const portOf = (server: Server): number => {
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("the stub listens on no port")
  return address.port
}
