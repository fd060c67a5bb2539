/**
 * Requests over Node's own HTTP client, which costs a third of its `fetch`: connections are kept, a request is one
 * write, and no streams stand between the socket and the text.
 */
import * as http from "node:http"
import * as https from "node:https"
import type { Duplex } from "node:stream"

import * as Effect from "effect/Effect"

import * as BoundedBody from "./BoundedBody.ts"
import type { HttpResponse, HttpRequest, HttpOrigin } from "./HttpRequest.ts"

const { NODE_OPTIONS = "", NODE_USE_ENV_PROXY } = process.env

/** Whether the proxies of the environment are used, by Node's own switch, which its `fetch` obeys too. */
const isProxyWanted: boolean =
  NODE_USE_ENV_PROXY === "1" || [...process.execArgv, ...NODE_OPTIONS.split(" ")].includes("--use-env-proxy")

/** The server at an origin (`https://node.example:8545`). */
export const at = (origin: string): HttpOrigin => {
  const { host, hostname, port, protocol } = new URL(origin)
  const isSecure = protocol === "https:"
  const server = {
    agent: isSecure ? secureAgent() : plainAgent(),
    protocol,
    host: hostname.replace(/^\[(.*)\]$/, "$1"),
    port: port === "" ? (isSecure ? 443 : 80) : Number(port)
  }
  const request = isSecure ? https.request : http.request
  const fieldsFor = fieldsForHost(host)
  const begin = (call: HttpRequest, end: End): http.ClientRequest => {
    const fields = fieldsFor(call.headers)
    const { body, method, path } = call
    const sent = request({ ...server, method, path, headers: headOf(fields, body) })
    receive(sent, call, end)
    // Node writes the head in the encoding of a text behind it, and heads are Latin-1.
    sent.end(fields.isAscii || body === undefined ? body : Buffer.from(body))
    return sent
  }
  return {
    send: (call) =>
      Effect.callback((resume) => {
        try {
          const sent = begin(call, resume)
          return Effect.sync(() => void sent.destroy())
        } catch (reason) {
          return resume(Effect.fail(reason))
        }
      })
  }
}

type End = (exit: Effect.Effect<HttpResponse, unknown>) => void

/** Handles the response; the first event decides. `close` always comes, also without a response or an error. */
const receive = (sent: http.ClientRequest, { maximumBytes, redirect }: HttpRequest, end: End): void => {
  let isDecided = false
  const drop = () => void sent.destroy()
  const fail = (reason: unknown) => {
    isDecided = true
    end(Effect.fail(reason))
  }
  sent.on("error", fail)
  sent.on("close", () => void (isDecided || fail(broken())))
  sent.on("response", (response) => {
    const finish = (body: BoundedBody.BoundedBody) =>
      end(Effect.succeed({ status: response.statusCode ?? 0, contentType: response.headers["content-type"], body }))
    const chunks: Array<Uint8Array> = []
    let length = 0
    response.on("error", fail)
    if (redirect === "error" && isRedirect(response.statusCode)) {
      fail(new TypeError("redirects are not followed"))
      return drop()
    }
    response.on("data", (chunk: Uint8Array) => {
      length += chunk.byteLength
      if (length <= maximumBytes) return void chunks.push(chunk)
      isDecided = true
      finish({ _tag: "TooLong", maximumBytes })
      drop()
    })
    response.on("end", () => {
      isDecided = true
      // One tick later the connection is free, so that the next request can reuse it.
      process.nextTick(finish, BoundedBody.ofChunks(chunks, length))
    })
  })
}

const broken = (): Error =>
  Object.assign(new Error("the connection ended before the response did"), { code: "ECONNRESET" })

/** The statuses that `fetch` treats as redirects. */
const isRedirect = (status: number | undefined): boolean =>
  status === 301 || status === 302 || status === 303 || status === 307 || status === 308

interface Fields {
  readonly names: Readonly<Record<string, string>>
  /** Names and values in turn: Node accepts a head in this form without checking it again. */
  readonly lines: ReadonlyArray<string>
  readonly isAscii: boolean
}

/** Fields that belong to the connection: a caller's value for them could split one request into two. */
const ours: ReadonlySet<string> = new Set([
  "accept-encoding",
  "connection",
  "content-length",
  "expect",
  "keep-alive",
  "transfer-encoding",
  "upgrade"
])

/**
 * The fields of a request. They include those that `fetch` sends, because some servers reject requests without
 * `User-Agent`; compressed responses are not requested.
 */
const fieldsOf = (headers: HttpRequest["headers"], host: string): Fields => {
  const given = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const)
  const sent = Object.fromEntries(given.filter(([name]) => !ours.has(name)))
  const names = { host, accept: "*/*", "user-agent": "node", ...sent, "accept-encoding": "identity" }
  const lines = Object.entries(names).flat()
  // oxlint-disable-next-line no-control-regex -- ASCII includes control characters
  return { names, lines, isAscii: /^[\x00-\x7f]*$/.test(lines.join("")) }
}

/** The head in the form that Node needs: behind a proxy Node must be able to add fields. */
const headOf = ({ lines, names }: Fields, body: string | undefined) => {
  if (body === undefined) return isProxyWanted ? names : lines
  const length = String(Buffer.byteLength(body))
  return isProxyWanted ? { ...names, "content-length": length } : [...lines, "content-length", length]
}

/** Remembers the last headers, because callers send the same ones repeatedly. */
const fieldsForHost = (host: string): ((headers: HttpRequest["headers"]) => Fields) => {
  let last: { readonly headers: HttpRequest["headers"]; readonly fields: Fields } | undefined
  return (headers) => {
    if (last?.headers !== headers) last = { headers, fields: fieldsOf(headers, host) }
    return last.fields
  }
}

/**
 * Options that keep connections. Servers close idle connections, Node's own after 5 seconds, and after a request into a
 * connection that is just being closed it is unknown whether it arrived. So we close first: after 4 seconds, or 2
 * seconds before the time that they announce.
 */
const keeping = (): http.AgentOptions => ({
  keepAlive: true,
  timeout: 4_000,
  agentKeepAliveTimeoutBuffer: 2_000,
  proxyEnv: isProxyWanted ? process.env : undefined
})

/**
 * Time limit for a connection in milliseconds, as in `fetch`. A failed connection is distinguished from a missing
 * response.
 */
const connectMillis = 10_000

const limited = <A extends Duplex | null | undefined>(socket: A, connected: "connect" | "secureConnect"): A => {
  if (!socket) return socket
  const drop = () => {
    const reason = new Error(`no connection within ${connectMillis} ms`)
    socket.destroy(Object.assign(reason, { code: "ERR_SOCKET_CONNECTION_TIMEOUT" }))
  }
  const timer = setTimeout(drop, connectMillis)
  const done = () => clearTimeout(timer)
  socket.once(connected, done)
  socket.once("close", done)
  return socket
}

class PlainAgent extends http.Agent {
  override createConnection(...args: Parameters<http.Agent["createConnection"]>) {
    return limited(super.createConnection(...args), "connect")
  }
}

class SecureAgent extends https.Agent {
  override createConnection(...args: Parameters<https.Agent["createConnection"]>) {
    return limited(super.createConnection(...args), "secureConnect")
  }
}

const once = <A>(make: () => A): (() => A) => {
  let made: A | undefined
  return () => (made ??= make())
}

const plainAgent = once(() => new PlainAgent(keeping()))
const secureAgent = once(() => new SecureAgent(keeping()))
