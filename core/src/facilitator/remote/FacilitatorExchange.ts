/**
 * One HTTP exchange with a facilitator: bounded in time and size, redirects refused, `https` or this machine only. It
 * knows statuses and JSON, but not payments.
 */
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import * as OptionCheck from "../../protocol/OptionCheck.ts"
import { FacilitatorUnavailable, Misconfigured } from "../../protocol/ProtocolError.ts"
import { isLoopback } from "../../protocol/text/Loopback.ts"
import * as HttpOrigin from "../../wire/http/HttpOrigin.ts"
import { Fault } from "../../wire/pontage/FacilitatorApi.ts"

/** Headers of every call, for example `{ authorization: "Bearer …" }`; a function if they change. */
export type CallHeaders = Readonly<Record<string, string>> | (() => Promise<Readonly<Record<string, string>>>)

/** Address of the facilitator, and options of its requests. */
export interface Options {
  /** The base address, for example `https://facilitator.example`. Plain `http` only for this machine. */
  readonly url: string | URL
  readonly headers?: CallHeaders
  /** Milliseconds for one whole call, headers function included. Default 30 000. */
  readonly timeoutMillis?: number
  /** Allows plain `http` to other machines, if the network between is trusted (a container's side car). */
  readonly allowInsecure?: boolean
  /**
   * HTTP client; default: on Node its own HTTP client with kept connections, elsewhere `globalThis.fetch`. It must
   * honour `redirect: "manual"` and `signal`.
   */
  readonly fetch?: typeof globalThis.fetch
}

/** The keys of the options, for callers that add their own. */
export const keys: OptionCheck.Table<Options> = {
  url: OptionCheck.any(),
  headers: OptionCheck.optional(OptionCheck.either(OptionCheck.record(OptionCheck.text), OptionCheck.callable())),
  timeoutMillis: OptionCheck.optional(OptionCheck.whole(1)),
  allowInsecure: OptionCheck.optional(OptionCheck.flag),
  fetch: OptionCheck.optional(OptionCheck.callable())
}

/** One call. `path` starts with a slash; `unsettled` says what is unknown without a response. */
export interface Call {
  readonly method: "GET" | "POST"
  readonly path: string
  readonly body?: unknown
  /** Header fields of this call alone. */
  readonly headers?: Readonly<Record<string, string>>
  readonly unsettled?: string
}

/** A response: `json` is `undefined` if the body is not JSON. */
export interface Reply {
  readonly status: number
  readonly contentType: string
  readonly json: unknown
}

/** A client that makes calls. */
export interface Exchange {
  readonly call: (call: Call) => Effect.Effect<Reply, FacilitatorUnavailable>
  /** The longest time for a call, in milliseconds. */
  readonly timeoutMillis: number
  /** The failure for an unusable response. */
  readonly unusable: (call: Call, reply: Reply, why?: string) => FacilitatorUnavailable
}

/** Maximum length of a response, in bytes. */
export const maximumResponseBytes = 64 * 1024

const decodeFault = Schema.decodeUnknownResult(Fault)

/** Checks the options and makes the exchange. */
export const make = (options: Options): Result.Result<Exchange, Misconfigured> =>
  Result.flatMap(baseOf(options), (base) =>
    Result.map(headersOf(options.headers), (headers) => {
      const { fetch, timeoutMillis = 30_000 } = options
      const { origin, pathname } = new URL(base)
      const path = pathname === "/" ? "" : pathname
      return exchange({ base, headers, path, timeoutMillis, server: HttpOrigin.at(origin, fetch) })
    })
  )

type Fields = Readonly<Record<string, string>>

interface Wire {
  readonly base: string
  readonly server: HttpOrigin.HttpOrigin
  /** The path of the base address, without a slash at its end. */
  readonly path: string
  readonly headers: Effect.Effect<Fields, Unsent>
  readonly timeoutMillis: number
}

const exchange = (wire: Wire): Exchange => {
  const fail = (call: Call, what: string, { cause, retryAfter }: FailureDetails = {}) => {
    const unsettled = call.unsettled === undefined ? "" : ` ${call.unsettled}`
    const message = `the facilitator at ${wire.base} ${what} (${call.method} ${call.path}).${unsettled}`
    return new FacilitatorUnavailable({
      message,
      ...(cause === undefined ? {} : { cause }),
      ...(retryAfter === undefined ? {} : { retryAfter })
    })
  }
  return {
    timeoutMillis: wire.timeoutMillis,
    call: (call) =>
      Effect.flatMap(wire.headers, (headers) => wire.server.send(requestOf(wire, call, headers))).pipe(
        Effect.mapBoth({
          onFailure: (error) => fail(call, error instanceof Unsent ? error.what : reasonOf(error), { cause: error }),
          onSuccess: replyOf
        }),
        Effect.timeoutOrElse({
          duration: wire.timeoutMillis,
          orElse: () => Effect.fail(fail(call, `did not respond within ${wire.timeoutMillis} ms`))
        })
      ),
    unusable: (call, reply, why) =>
      why === undefined
        ? fail(call, problemOf(reply), { retryAfter: retryAfterOf(reply), cause: new Responded(reply.status) })
        : fail(call, `gave a response that ${why}`)
  }
}

interface FailureDetails {
  readonly cause?: unknown
  readonly retryAfter?: number | undefined
}

/** Maximum pause that a facilitator may request, in seconds. */
const longestRetry = 600

/** The pause after which a facilitator that responded with 503 wants the request again, in seconds. */
const retryAfterOf = ({ json, status }: Reply): number | undefined => {
  const fault = status === 503 ? Result.getOrUndefined(decodeFault(json)) : undefined
  const seconds = fault?.retryAfter
  return seconds !== undefined && seconds > 0 && seconds <= longestRetry ? Math.ceil(seconds) : undefined
}

/** Errors that occur before the first byte is sent, by the names of Node and undici. */
const beforeSending: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "ERR_SOCKET_CONNECTION_TIMEOUT",
  "UND_ERR_CONNECT_TIMEOUT"
])

/** Whether certainly nothing of a call has reached the facilitator. Otherwise the call may have arrived. */
export const isUnsent = ({ cause }: FacilitatorUnavailable): boolean =>
  cause instanceof Unsent || isBeforeSending(innerOf(cause))

/**
 * The uncertainty after a failed call. `nothing`: it never reached the facilitator, or was rejected with a status
 * below 500. `little`: the facilitator said that it failed, and undoes its work as far as it can. `all`: it said
 * nothing, or sent an unreadable response, and may have done anything requested.
 */
export const leavesOpen = (failure: FacilitatorUnavailable): "nothing" | "little" | "all" => {
  const { cause } = failure
  if (isUnsent(failure)) return "nothing"
  if (!(cause instanceof Responded) || cause.status === 200) return "all"
  return cause.status < 500 ? "nothing" : "little"
}

/** The status of a response without a usable content. */
class Responded {
  readonly status: number
  constructor(status: number) {
    this.status = status
  }
}

/**
 * Whether a connection failed. If a host has several addresses, Node tries one after the other and reports all
 * failures.
 */
const isBeforeSending = (reason: unknown): boolean =>
  beforeSending.has(codeOf(reason) ?? "") ||
  (Predicate.hasProperty(reason, "syscall") && reason.syscall === "connect") ||
  (reason instanceof AggregateError && reason.errors.length > 0 && reason.errors.every(isBeforeSending))

/**
 * A failure before sending, reported without its cause: the error of `Headers` quotes the value, which may be a secret.
 */
class Unsent {
  readonly what: string
  constructor(what: string) {
    this.what = what
  }
}

const requestOf = ({ path }: Wire, call: Call, headers: Fields): HttpOrigin.HttpRequest => ({
  method: call.method,
  path: path + call.path,
  headers: call.headers === undefined ? headers : { ...headers, ...call.headers },
  redirect: "manual",
  maximumBytes: maximumResponseBytes,
  ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) })
})

const replyOf = ({ body, contentType = "no content type", status }: HttpOrigin.HttpResponse): Reply => ({
  status,
  contentType,
  json: body._tag === "Read" ? jsonOf(body.text) : undefined
})

const jsonOf = (text: string | undefined): unknown => {
  try {
    const json: unknown = JSON.parse(text ?? "")
    return json
  } catch {
    return undefined
  }
}

const misconfigured = (message: string) => Result.fail(new Misconfigured({ message: `facilitator: ${message}` }))

/** The address without a trailing slash. Credentials in it would end up in messages; a query would be lost. */
const baseOf = ({ allowInsecure = false, url }: Options): Result.Result<string, Misconfigured> => {
  if (!URL.canParse(url)) {
    return misconfigured('the url is not an address; expected something like "https://facilitator.example"')
  }
  const { hash, hostname, origin, password, pathname, protocol, search, username } = new URL(url)
  // "localhost:4021" is a URL whose scheme is "localhost:".
  if (protocol !== "https:" && protocol !== "http:") {
    return misconfigured('the url begins with neither https:// nor http://; write for example "http://localhost:4021"')
  }
  if (username !== "" || password !== "") return misconfigured("the url carries credentials; put them into headers")
  if (search !== "" || hash !== "")
    return misconfigured("the url has a query or a fragment; give the base address only")
  if (protocol !== "https:" && (protocol !== "http:" || !(allowInsecure || isLoopback(hostname)))) {
    const mend = "use https, or allowInsecure: true where the network between is trusted"
    return misconfigured(`the url "${protocol}//${hostname}" is not https; ${mend}`)
  }
  return Result.succeed(origin + pathname.replace(/\/+$/, ""))
}

/** Checks fixed headers now, changing ones when they are computed. */
const headersOf = (headers: CallHeaders = {}): Result.Result<Effect.Effect<Fields, Unsent>, Misconfigured> => {
  if (typeof headers === "function") return Result.succeed(changing(headers))
  const fixed = fieldsOf(headers)
  return fixed === undefined
    ? misconfigured("headers holds a name or a value that HTTP does not allow")
    : Result.succeed(Effect.succeed(fixed))
}

const changing = (headers: () => Promise<Fields>): Effect.Effect<Fields, Unsent> => {
  const unsent = () =>
    new Unsent("got no request: the headers function failed, or returned a name or a value that HTTP does not allow")
  return Effect.flatMap(Effect.tryPromise({ try: () => headers(), catch: unsent }), (given) => {
    const fields = fieldsOf(given)
    return fields === undefined ? Effect.fail(unsent()) : Effect.succeed(fields)
  })
}

const fieldsOf = (given: Fields): Fields | undefined => {
  try {
    const fields = new Headers(given)
    fields.set("accept", "application/json")
    fields.set("content-type", "application/json")
    return Object.fromEntries(fields)
  } catch {
    return undefined
  }
}

/**
 * The reason of a failure: `fetch` hides it one level down; Node's own client does not (`ECONNREFUSED`, `ECONNRESET`).
 */
const reasonOf = (error: unknown): string => {
  const inner = innerOf(error)
  const message =
    Predicate.hasProperty(inner, "message") && Predicate.isString(inner.message) ? inner.message : "no reason"
  return `could not be reached: ${codeOf(error) ?? message}; check that it runs and that the url is right`
}

const innerOf = (error: unknown): unknown => (Predicate.hasProperty(error, "cause") ? error.cause : error)

const codeOf = (error: unknown): string | undefined => {
  const inner = innerOf(error)
  return Predicate.hasProperty(inner, "code") && Predicate.isString(inner.code) ? inner.code : undefined
}

const problemOf = ({ contentType, json, status }: Reply): string => {
  if (status === 200)
    return "responded with 200 with a body that is not JSON of at most 64 KiB; check that the url is a facilitator's"
  const fault = decodeFault(json)
  const words = Result.isSuccess(fault)
    ? `"${fault.success.error}: ${fault.success.message.slice(0, 200)}"`
    : contentType
  return `responded with ${status}, ${words}; ${adviceOf(status)}`
}

const adviceOf = (status: number): string => {
  if (status >= 300 && status < 400) return "redirects are not followed: set the url to the final address"
  if (status === 401) return "check the API key in headers"
  if (status === 403) return "this caller may not use it for this payee or asset: register them there"
  if (status === 404) return "check that the url is the facilitator's base address"
  if (status === 429) return "the caller is over its limit"
  return status >= 500 ? "look at its log and at its GET /ready" : "check that its version matches this one"
}
