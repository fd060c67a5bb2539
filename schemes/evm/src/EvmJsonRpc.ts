/**
 * One JSON-RPC 2.0 request over HTTP to a node that is not trusted: bounded in size and time, no redirects followed, every
 * answer checked. What is not a well-formed answer to exactly this request is `ChainUnavailable`.
 */
import { BoundedBody, ChainUnavailable, Misconfigured } from "@pontage/core"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import * as EvmRpcSecrets from "./EvmRpcSecrets.ts"

/**
 * How a node is reached.
 *
 * @category models
 */
export interface Options {
  /** `http:` or `https:`; a user and password in it become an `Authorization` header. Never shown in a message. */
  readonly url: string
  /** The network's CAIP-2 identifier, for messages. */
  readonly network: string
  /** How long a request may take, its answer included; default 10 seconds. */
  readonly timeout?: Duration.Input
  /** Default the platform's. */
  readonly fetch?: typeof globalThis.fetch
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>
  /** Told the method of every request that is sent. */
  readonly onRequest?: (method: string) => void
}

/**
 * The node's own refusal: well formed, with its code and words.
 *
 * @category models
 */
export interface Refusal {
  readonly code: number
  readonly message: string
  readonly data: unknown
}

/**
 * Sends a request: the node's result or its refusal.
 *
 * @category models
 */
export type Send = (
  method: string,
  params: ReadonlyArray<unknown>
) => Effect.Effect<Result.Result<unknown, Refusal>, ChainUnavailable>

/**
 * The longest answer that is read, in bytes.
 *
 * @category constants
 */
export const maximumBytes = 1_048_576

/** Of a refusal's words so many characters are kept: they end up in messages and records. */
const longestWords = 500

const Answer = Schema.Struct({
  jsonrpc: Schema.Literal("2.0"),
  id: Schema.Number,
  result: Schema.optionalKey(Schema.Unknown),
  error: Schema.optionalKey(
    Schema.NullOr(
      Schema.Struct({ code: Schema.Number, message: Schema.String, data: Schema.optionalKey(Schema.Unknown) })
    )
  )
})

const decodeAnswer = Schema.decodeUnknownResult(Answer)

const readText = async (response: Response): Promise<string> => {
  const body = await BoundedBody.ofResponse(response, maximumBytes)
  if (body._tag === "TooLong") throw new Error(`answered more than ${maximumBytes} bytes`)
  if (body.text === undefined) throw new Error("answered something that is not UTF-8")
  return body.text
}

/** The answer to one request. Throws an `Error` with what was wrong, without a subject. */
const read = (text: string, expectedId: number, veil: (words: string) => string): Result.Result<unknown, Refusal> => {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    throw new Error("answered something that is not JSON")
  }
  const decoded = decodeAnswer(json)
  if (Result.isFailure(decoded)) throw new Error(`answered something that is not JSON-RPC: ${decoded.failure.message}`)
  const { error, id } = decoded.success
  if (id !== expectedId) throw new Error("answered another request")
  if (error) {
    return Result.fail({ code: error.code, message: veil(error.message).slice(0, longestWords), data: error.data })
  }
  if (!("result" in decoded.success)) throw new Error("answered neither a result nor an error")
  return Result.succeed(decoded.success.result)
}

interface Target {
  readonly url: string
  readonly headers: Record<string, string>
  /** Hides what is secret of the address in the node's words. */
  readonly veil: (words: string) => string
}

const target = (options: Options): Target | undefined => {
  if (!URL.canParse(options.url)) return undefined
  const url = new URL(options.url)
  if (url.protocol !== "http:" && url.protocol !== "https:") return undefined
  const headers: Record<string, string> = { "content-type": "application/json", ...options.headers }
  const veil = EvmRpcSecrets.veil(url)
  if (url.username !== "" || url.password !== "") {
    const credentials = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`
    headers["authorization"] = `Basic ${btoa(credentials)}`
    url.username = ""
    url.password = ""
  }
  return { url: url.href, headers, veil }
}

/**
 * Makes the function that sends.
 *
 * @category constructors
 * @throws Misconfigured when the URL is not one of HTTP.
 */
export const make = (options: Options): Effect.Effect<Send, Misconfigured> => {
  const { network, onRequest } = options
  const to = target(options)
  if (to === undefined) return Effect.fail(new Misconfigured({ message: `The RPC URL of ${network} is no HTTP URL` }))
  const timeout = Duration.fromInputUnsafe(options.timeout ?? "10 seconds")
  const send = options.fetch ?? globalThis.fetch
  let lastId = 0

  const exchange = async (method: string, params: ReadonlyArray<unknown>, signal: AbortSignal) => {
    const id = ++lastId
    onRequest?.(method)
    const body = JSON.stringify({ jsonrpc: "2.0", id, method, params })
    const response = await send(to.url, { method: "POST", headers: to.headers, body, redirect: "error", signal })
    if (response.ok) return read(await readText(response), id, to.veil)
    void response.body?.cancel().catch(() => undefined)
    throw new Error(`answered HTTP ${response.status}`)
  }

  const unavailable = (method: string, what: string, cause?: unknown) => {
    const message = `The node of ${network}, asked for ${method}, ${what}`
    return new ChainUnavailable(cause === undefined ? { network, message } : { network, message, cause })
  }

  return Effect.succeed((method, params) =>
    Effect.tryPromise({
      try: (signal) => exchange(method, params, signal),
      catch: (cause) =>
        cause instanceof Error && cause.constructor === Error
          ? unavailable(method, cause.message)
          : unavailable(method, "could not be reached", cause)
    }).pipe(
      Effect.timeoutOrElse({
        duration: timeout,
        orElse: () => Effect.fail(unavailable(method, `did not answer within ${Duration.format(timeout)}`))
      })
    )
  )
}
