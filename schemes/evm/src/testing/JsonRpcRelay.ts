/**
 * A JSON-RPC server between a program and a node: it passes requests on, except where a test responds in the node's place.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"

import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Scope } from "effect/Scope"

/** A request to a node. */
export interface RelayedRequest {
  readonly id: unknown
  readonly method: string
  readonly params: ReadonlyArray<unknown>
}

const NodeResponse = Schema.Struct({
  result: Schema.optionalKey(Schema.Unknown),
  error: Schema.optionalKey(Schema.Unknown)
})

/** A node's response to one request: its result or its error. */
export type RelayedResponse = typeof NodeResponse.Type

/**
 * The responses to the requests of one HTTP message, in their order; or how the exchange ends without them. A rejected promise
 * breaks the connection, too.
 */
export type Reply =
  | { readonly _tag: "Responses"; readonly responses: ReadonlyArray<RelayedResponse> }
  | {
      readonly _tag: "Http"
      readonly status: number
      readonly headers?: Readonly<Record<string, string>>
      readonly body?: string
    }
  | { readonly _tag: "Broken" }

/** Responds to all requests of one HTTP message. */
export type Attend = (requests: ReadonlyArray<RelayedRequest>) => Promise<Reply>

/** Sends a request to a node. */
export type Pass = (request: Omit<RelayedRequest, "id">) => Promise<RelayedResponse>

const Request = Schema.Struct({
  id: Schema.Unknown,
  method: Schema.String,
  params: Schema.optionalKey(Schema.Array(Schema.Unknown))
})
const decodeBody = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Union([Request, Schema.Array(Request)])))
const decodeResponse = Schema.decodeUnknownSync(NodeResponse)

/** Passes requests on to the node at this URL. */
export const passTo =
  (url: string): Pass =>
  async ({ method, params }) => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params })
    const response = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body })
    return decodeResponse(await response.json())
  }

/** Responds to each request by itself. */
export const each =
  (respond: (request: RelayedRequest) => Promise<RelayedResponse>): Attend =>
  async (requests) => ({ _tag: "Responses", responses: await Promise.all(requests.map(respond)) })

/** A running relay. Its URL takes the node's place. */
export interface JsonRpcRelay {
  readonly url: string
  /** Breaks every open connection. */
  readonly disconnect: () => void
}

/** Starts a relay; it stops with the scope. */
export const make = (attend: Attend): Effect.Effect<JsonRpcRelay, never, Scope> => {
  const server = createServer((request, response) => {
    // The program or the node has gone, or the request is invalid: each breaks the connection.
    void relay(attend, request, response).catch(() => response.destroy())
  })
  return Effect.map(
    Effect.acquireRelease(listen(server), () => close(server)),
    (port) => ({ url: `http://127.0.0.1:${port}`, disconnect: () => server.closeAllConnections() })
  )
}

const listen = (server: Server) =>
  Effect.callback<number>((resume) => {
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0))
    })
  })

const close = (server: Server) =>
  Effect.sync(() => {
    server.closeAllConnections()
    server.close()
  })

const relay = async (attend: Attend, request: IncomingMessage, response: ServerResponse): Promise<void> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(Buffer.from(chunk))
  const body = decodeBody(Buffer.concat(chunks).toString())
  const requests = [body].flat().map(({ id, method, params = [] }) => ({ id, method, params }))
  const reply = await attend(requests)
  if (reply._tag === "Broken") return void response.destroy()
  if (reply._tag === "Http") return void response.writeHead(reply.status, reply.headers).end(reply.body)
  const responses = reply.responses.map((one, index) => messageOf(requests[index]?.id, one))
  const text = JSON.stringify(Array.isArray(body) ? responses : responses[0])
  response.writeHead(200, { "content-type": "application/json" }).end(text)
}

const messageOf = (id: unknown, { error, result }: RelayedResponse) =>
  error === undefined ? { jsonrpc: "2.0", id, result: result ?? null } : { jsonrpc: "2.0", id, error }
