/**
 * A TON node's HTTP API like the public one at toncenter (API v2, JSON-RPC), over real HTTP on the loopback interface: one
 * request a POST, bounded in size, and faults on demand.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"

import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

import type { Fault } from "./ToncenterFault.ts"
import type { Method, ResponseFaults } from "./ToncenterMethods.ts"
import { ToncenterRefusal } from "./ToncenterRefusal.ts"

/** The server did not start; `message` says why. */
export class FacadeFailed extends Schema.TaggedError<FacadeFailed>("@pontage/ton/testing/FacadeFailed")(
  "FacadeFailed",
  { message: Schema.String, cause: Schema.Defect() }
) {}

/** The server's controls. */
export interface ToncenterFacade {
  /** The URL for JSON-RPC requests. */
  readonly rpcUrl: string
  /** Lets requests of a method (`"*"`: of every one) fail by this fault, `times` times; by default until `mend`. */
  readonly spoil: (method: string, fault: Fault, times?: number) => Effect.Effect<void>
  /** Ends every fault. */
  readonly mend: Effect.Effect<void>
  /** Number of requests by method, faults included. */
  readonly calls: Effect.Effect<ReadonlyMap<string, number>>
}

const path = "/api/v2/jsonRPC"
const maximumBodyBytes = 256 * 1024
const requestMillis = 30_000

const Request = Schema.Struct({
  id: Schema.optionalKey(Schema.Union([Schema.String.check(Schema.isMaxLength(64)), Schema.Finite, Schema.Null])),
  method: Schema.String.check(Schema.isMaxLength(64)),
  params: Schema.optionalKey(Schema.Unknown)
})

type Request = typeof Request.Type

const noFaults: ResponseFaults = { lag: 0, isDropped: false }

/** The body; `undefined` when it is too large. */
const read = (incoming: IncomingMessage): Promise<string | undefined> =>
  new Promise((resolve, reject) => {
    const chunks: Array<Buffer> = []
    let size = 0
    incoming.on("data", (chunk: Buffer) => {
      size += chunk.length
      if (size > maximumBodyBytes) return resolve(undefined)
      chunks.push(chunk)
    })
    incoming.on("end", () => resolve(Buffer.concat(chunks).toString("utf8")))
    incoming.on("error", reject)
  })

const reply = (response: ServerResponse, status: number, body: object) => {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
}

const refusal = (status: number, error: string, id: Request["id"] = null) =>
  ({ ok: false, error, code: status, id, jsonrpc: "2.0" }) as const

const decode = (text: string): Option.Option<Request> => {
  try {
    return Schema.decodeUnknownOption(Request)(JSON.parse(text))
  } catch {
    return Option.none()
  }
}

const respond = async (
  response: ServerResponse,
  { id, method: name, params = {} }: Request,
  methods: ReadonlyMap<string, Method>,
  faults: ResponseFaults
) => {
  const method = methods.get(name)
  if (method === undefined) return reply(response, 404, refusal(404, "unknown method", id))
  try {
    const result = await method(params, faults)
    reply(response, 200, { ok: true, result, id, jsonrpc: "2.0" })
  } catch (cause) {
    if (cause instanceof ToncenterRefusal) reply(response, cause.status, refusal(cause.status, cause.message, id))
    else reply(response, 500, refusal(500, `LITE_SERVER_UNKNOWN: ${String(cause).slice(0, 200)}`, id))
  }
}

const statusWords: Readonly<Record<number, string>> = { 429: "Ratelimit exceed", 503: "Service unavailable" }

/** Responds with the fault. */
const spoilt = async (
  response: ServerResponse,
  request: Request,
  fault: Fault,
  pass: (faults: ResponseFaults) => Promise<unknown>
) => {
  switch (fault._tag) {
    case "Broken":
      return void response.destroy()
    case "Silent":
      return undefined
    case "Status":
      return reply(
        response,
        fault.status,
        refusal(fault.status, statusWords[fault.status] ?? "Internal error", request.id)
      )
    case "Garbage":
      return void response.writeHead(200, { "content-type": "text/html" }).end("<html>Service Unavailable</html>")
    case "LostAnswer":
      return pass(noFaults)
    case "Dropped":
      return pass({ lag: 0, isDropped: true })
    case "Lagging":
      return pass({ lag: fault.blocks, isDropped: false })
    case "Refusing":
      return reply(response, 500, refusal(500, fault.message, request.id))
    case "Instead":
      return reply(response, 200, { ok: true, result: fault.result, id: request.id, jsonrpc: "2.0" })
  }
}

/** Runs the method without sending its result. */
const lost = async ({ method: name, params = {} }: Request, methods: ReadonlyMap<string, Method>) => {
  await methods.get(name)?.(params, noFaults)
}

const makeFaults = () => {
  const faults = new Map<string, { readonly fault: Fault; times: number }>()
  return {
    spoil: (method: string, fault: Fault, times = Number.POSITIVE_INFINITY) =>
      void faults.set(method, { fault, times }),
    mend: () => faults.clear(),
    next: (method: string): Fault | undefined => {
      const found = [method, "*"].map((each) => faults.get(each)).find((each) => each !== undefined && each.times > 0)
      if (found === undefined) return undefined
      found.times--
      return found.fault
    }
  }
}

const listen = (server: Server, port: number): Effect.Effect<number, FacadeFailed> =>
  Effect.callback((resume) => {
    server.once("error", (cause) =>
      resume(Effect.fail(new FacadeFailed({ message: `The port ${port} is not available`, cause })))
    )
    server.listen(port, "127.0.0.1", () => {
      const address = server.address()
      resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : port))
    })
  })

const close = (server: Server): Effect.Effect<void> =>
  Effect.callback((resume) => {
    server.close(() => resume(Effect.void))
    server.closeAllConnections()
  })

/**
 * Starts the server on a port, by default a free one; the end of the scope closes it with its open connections. `beforeEach`
 * runs before each response.
 *
 * @throws FacadeFailed when the port is not available.
 */
export const make = Effect.fnUntraced(function* (
  methods: ReadonlyMap<string, Method>,
  options: { readonly port?: number; readonly beforeEach?: () => Promise<unknown> } = {}
) {
  const faults = makeFaults()
  const calls = new Map<string, number>()
  const known = (method: string) => (methods.has(method) ? method : "unknown")

  const serve = async (incoming: IncomingMessage, response: ServerResponse) => {
    if (incoming.method !== "POST") return reply(response, 405, refusal(405, "Method Not Allowed"))
    if (incoming.url !== path) return reply(response, 404, refusal(404, "Not Found"))
    const text = await read(incoming)
    if (text === undefined) {
      response.setHeader("connection", "close")
      return reply(response, 413, refusal(413, "Request body is too large"))
    }
    const request = decode(text)
    if (Option.isNone(request)) return reply(response, 422, refusal(422, "Unprocessable request"))
    const { method } = request.value
    calls.set(known(method), (calls.get(known(method)) ?? 0) + 1)
    const fault = faults.next(method)
    const pass = async (responseFaults: ResponseFaults) => {
      await options.beforeEach?.()
      if (fault?._tag !== "LostAnswer") return respond(response, request.value, methods, responseFaults)
      await lost(request.value, methods).finally(() => response.destroy())
    }
    return fault === undefined ? pass(noFaults) : spoilt(response, request.value, fault, pass)
  }

  const server = yield* Effect.acquireRelease(
    Effect.sync(() =>
      // An error here means a broken connection: no response can be sent.
      createServer((incoming, response) => void serve(incoming, response).catch(() => response.destroy()))
    ),
    close
  )
  server.requestTimeout = requestMillis
  const port = yield* listen(server, options.port ?? 0)
  const facade: ToncenterFacade = {
    rpcUrl: `http://127.0.0.1:${port}${path}`,
    spoil: (method, fault, times) => Effect.sync(() => faults.spoil(method, fault, times)),
    mend: Effect.sync(faults.mend),
    calls: Effect.sync(() => new Map(calls))
  }
  return facade
})
