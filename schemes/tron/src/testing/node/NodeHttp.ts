/**
 * The node's HTTP server: JSON requests and responses, status 200 also for errors, as java-tron. Bodies are limited in size, and no
 * request can end the process.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"

import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import type { Endpoints } from "./NodeEndpoint.ts"
import type { NodeFault, NodeFaults } from "./NodeFault.ts"
import * as NodeResponses from "./NodeResponses.ts"

/** The port is not available. */
export class TronDevNodeFailed extends Schema.TaggedError<TronDevNodeFailed>("@pontage/tron/testing/TronDevNodeFailed")(
  "TronDevNodeFailed",
  { message: Schema.String, cause: Schema.Defect() }
) {}

/** Options of the server. */
export interface Options {
  readonly port: number
  readonly chainId: number
  readonly faults: NodeFaults
  readonly endpoints: (fault: NodeFault | undefined) => Endpoints
  /** Receives each request's path. */
  readonly onRequest: (path: string) => void
}

const longestBody = 1_048_576
const headers = { "content-type": "application/json;charset=utf-8" }

const decodeJson = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Unknown))
const decodeRpc = Schema.decodeUnknownEffect(
  Schema.Struct({ method: Schema.String, id: Schema.optionalKey(Schema.Unknown) })
)

const readBody = (request: IncomingMessage): Effect.Effect<string | undefined> =>
  Effect.callback((resume) => {
    const chunks: Array<Buffer> = []
    let length = 0
    request.on("data", (chunk: Buffer) => {
      length += chunk.length
      if (length <= longestBody) chunks.push(chunk)
    })
    request.once("end", () =>
      resume(Effect.succeed(length > longestBody ? undefined : Buffer.concat(chunks).toString()))
    )
    for (const event of ["error", "close"]) request.once(event, () => resume(Effect.succeed(undefined)))
  })

const send = (response: ServerResponse, status: number, body: string) => {
  response.writeHead(status, headers)
  response.end(body)
}

const errorText = (message: string) => JSON.stringify({ Error: message })

/** Reads a request: the body of a POST, the query of any other. */
const readRequest = (url: URL, text: string) =>
  text === ""
    ? Effect.succeed<unknown>(Object.fromEntries(url.searchParams))
    : decodeJson(text).pipe(Effect.mapError(() => "class com.alibaba.fastjson.JSONException : syntax error"))

const rpcResponse = (request: unknown, chainId: number) =>
  decodeRpc(request).pipe(
    Effect.map(({ id = null, method }) =>
      method === "eth_chainId" || method === "net_version"
        ? { jsonrpc: "2.0", id, result: `0x${chainId.toString(16)}` }
        : { jsonrpc: "2.0", id, error: { code: -32601, message: "the method does not exist" } }
    ),
    Effect.mapError(() => "invalid request")
  )

const respond = Effect.fnUntraced(function* (options: Options, url: URL, text: string, fault: NodeFault | undefined) {
  const [area = "", name = "", ...rest] = url.pathname.split("/").slice(1)
  const request = yield* readRequest(url, text)
  if (area === "jsonrpc") return yield* rpcResponse(request, options.chainId)
  const endpoints = options.endpoints(fault)
  const isKnown = (area === "wallet" || area === "walletsolidity") && rest.length === 0
  const endpoint = isKnown && Object.hasOwn(endpoints, name) ? endpoints[name] : undefined
  if (endpoint === undefined) return undefined
  return yield* endpoint(request, area === "walletsolidity").pipe(
    Effect.mapError(({ message }) => `class org.tron.core.exception.BadItemException : ${message}`)
  )
})

/** The text of a response; `undefined` for a path that is not served. A defect becomes a response too. */
const textOf = (options: Options, url: URL, body: string, fault: NodeFault | undefined) =>
  respond(options, url, body, fault).pipe(
    Effect.map((found) => (found === undefined ? undefined : JSON.stringify(found, NodeResponses.numbers))),
    Effect.catch((message) => Effect.succeed(errorText(message))),
    Effect.catchDefect((defect) => Effect.succeed(errorText(`class java.lang.RuntimeException : ${String(defect)}`)))
  )

const serve = Effect.fnUntraced(function* (options: Options, request: IncomingMessage, response: ServerResponse) {
  const target = `http://node.invalid${request.url ?? "/"}`
  if (!URL.canParse(target)) return send(response, 400, errorText("Bad Request"))
  const url = new URL(target)
  options.onRequest(url.pathname)
  const body = yield* readBody(request)
  if (body === undefined) return send(response, 413, errorText("body size is too big"))
  const fault = options.faults.next(url.pathname)
  if (fault === undefined || fault._tag === "Refuse") {
    const text = yield* textOf(options, url, body, fault)
    return text === undefined ? send(response, 404, errorText("Not Found")) : send(response, 200, text)
  }
  if (fault.isDone === true) yield* textOf(options, url, body, undefined)
  if (fault._tag === "Status") return send(response, fault.status, errorText("planted"))
  if (fault._tag === "Text") return send(response, 200, fault.body)
  if (fault._tag === "Disconnect") response.destroy()
})

const listen = (server: Server, port: number): Effect.Effect<string, TronDevNodeFailed> =>
  Effect.callback((resume) => {
    const fail = (cause: unknown) =>
      resume(Effect.fail(new TronDevNodeFailed({ message: `The node cannot listen on port ${port}`, cause })))
    server.once("error", fail)
    server.listen(port, "127.0.0.1", () => {
      server.off("error", fail)
      const address = server.address()
      const bound = typeof address === "object" && address !== null ? address.port : port
      resume(Effect.succeed(`http://127.0.0.1:${bound}`))
    })
  })

/** Serves until the scope closes; gives the base URL. */
export const make = Effect.fnUntraced(function* (options: Options) {
  const run = Effect.runForkWith(yield* Effect.context())
  const server = yield* Effect.acquireRelease(
    Effect.sync(() => createServer((request, response) => void run(serve(options, request, response)))),
    (open) =>
      Effect.callback<void>((resume) => {
        open.close(() => resume(Effect.void))
        open.closeAllConnections()
      })
  )
  return yield* listen(server, options.port)
})
