/**
 * One question to a node's HTTP API (toncenter v2) that is not trusted: bounded in size and time, no redirects followed,
 * every answer checked. What is not a well-formed answer is `ChainUnavailable`; the node's own refusal is a value.
 */
import { BoundedBody, ChainUnavailable, Misconfigured } from "@pontage/core"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

/**
 * How a node is reached.
 *
 * @category models
 */
export interface Options {
  /** The JSON-RPC address: `https://toncenter.com/api/v2/jsonRPC`. Never shown in a message. */
  readonly url: string
  /** The network, for messages. */
  readonly network: string
  /** Sent as `X-API-Key`. */
  readonly apiKey?: string
  /** How long a question may take, its answer included; default 10 seconds. */
  readonly timeout?: Duration.Input
  /** Default the platform's. */
  readonly fetch?: typeof globalThis.fetch
  /** Told the method of every question that is sent. */
  readonly onRequest?: (method: string) => void
}

/**
 * Asks: the node's result, or its refusal in its words.
 *
 * @category models
 */
export type Ask = (
  method: string,
  params: Readonly<Record<string, unknown>>
) => Effect.Effect<Result.Result<unknown, string>, ChainUnavailable>

/**
 * The longest answer that is read, in bytes.
 *
 * @category constants
 */
export const maximumBytes = 4_194_304

/** Of a refusal's words so many characters are kept: they end up in messages and records. */
const longestWords = 300

const Answer = Schema.Union([
  Schema.Struct({ ok: Schema.Literal(true), result: Schema.Unknown }),
  Schema.Struct({ ok: Schema.Literal(false), error: Schema.String, code: Schema.optionalKey(Schema.Number) })
])

const decodeAnswer = Schema.decodeUnknownResult(Answer)

/** What a node says when it does not answer: no verdict about what was asked. */
const isNoAnswer = (code: number): boolean =>
  code === 401 || code === 403 || code === 429 || code === 502 || code === 503

/** Throws an `Error` with what was wrong, without a subject. */
const read = async (response: Response, veil: (words: string) => string): Promise<Result.Result<unknown, string>> => {
  if (isNoAnswer(response.status)) {
    void response.body?.cancel().catch(() => undefined)
    throw new Error(`answered HTTP ${response.status}`)
  }
  const body = await BoundedBody.ofResponse(response, maximumBytes)
  if (body._tag === "TooLong") throw new Error(`answered more than ${maximumBytes} bytes`)
  const answer = decodeAnswer(parsed(body.text))
  if (Result.isFailure(answer)) throw new Error(`answered HTTP ${response.status} and something that is no answer`)
  if (answer.success.ok) return Result.succeed(answer.success.result)
  if (isNoAnswer(answer.success.code ?? 0)) throw new Error(`answered with the code ${answer.success.code}`)
  return Result.fail(veil(answer.success.error).slice(0, longestWords))
}

const parsed = (text: string | undefined): unknown => {
  try {
    return JSON.parse(text ?? "")
  } catch {
    return undefined
  }
}

/** Shorter parts of an address are words of an API, not keys. */
const shortestSecret = 12

/** Nodes repeat their address in what they say, and providers put their customers' keys there. */
const veilOf = (url: URL, apiKey: string | undefined): ((words: string) => string) => {
  const parts = [...url.pathname.split("/"), ...url.searchParams.values(), url.password, apiKey ?? ""]
  const secrets = parts.filter((part) => part.length >= shortestSecret).toSorted((a, b) => b.length - a.length)
  return (words) => secrets.reduce((veiled, secret) => veiled.replaceAll(secret, "<hidden>"), words)
}

/**
 * Makes the function that asks.
 *
 * @category constructors
 * @throws Misconfigured when the URL is not one of HTTP.
 */
export const make = (options: Options): Effect.Effect<Ask, Misconfigured> => {
  const { apiKey, network, onRequest } = options
  const url = URL.canParse(options.url) ? new URL(options.url) : undefined
  if (url === undefined || (url.protocol !== "http:" && url.protocol !== "https:"))
    return Effect.fail(new Misconfigured({ message: `The RPC URL of ${network} is no HTTP URL` }))
  const timeout = Duration.fromInputUnsafe(options.timeout ?? "10 seconds")
  const send = options.fetch ?? globalThis.fetch
  const headers = { "content-type": "application/json", ...(apiKey !== undefined && { "x-api-key": apiKey }) }
  const veil = veilOf(url, apiKey)

  const exchange = async (method: string, params: unknown, signal: AbortSignal) => {
    onRequest?.(method)
    const body = JSON.stringify({ jsonrpc: "2.0", id: "1", method, params })
    return read(await send(url.href, { method: "POST", headers, body, redirect: "error", signal }), veil)
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
