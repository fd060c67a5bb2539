/**
 * One question to a node's HTTP API (toncenter v2) that is not trusted: bounded in size and time, no redirects followed,
 * every answer checked. What is not a well-formed answer is `ChainUnavailable`; the node's own refusal is a value.
 */
import { ChainUnavailable, HttpOrigin, Misconfigured } from "@pontage/core"
import * as OptionCheck from "@pontage/core/OptionCheck"
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
  /** Default: on Node its own HTTP client with connections that are kept, elsewhere the platform's `fetch`. */
  readonly fetch?: typeof globalThis.fetch
  /** Told the method of every question that is sent. */
  readonly onRequest?: (method: string) => void
}

const check = OptionCheck.options<Options>({
  url: OptionCheck.text,
  network: OptionCheck.text,
  apiKey: OptionCheck.optional(OptionCheck.text),
  timeout: OptionCheck.optional(OptionCheck.duration),
  fetch: OptionCheck.optional(OptionCheck.callable()),
  onRequest: OptionCheck.optional(OptionCheck.callable())
})

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

type Answered = Result.Result<unknown, string>

/** The answer to one question; or what was wrong with it, without a subject. */
const read = (
  { body, status }: HttpOrigin.HttpAnswer,
  veil: (words: string) => string
): Result.Result<Answered, string> => {
  if (isNoAnswer(status)) return Result.fail(`answered HTTP ${status}`)
  if (body._tag === "TooLong") return Result.fail(`answered more than ${maximumBytes} bytes`)
  const answer = decodeAnswer(parsed(body.text))
  if (Result.isFailure(answer)) return Result.fail(`answered HTTP ${status} and something that is no answer`)
  if (answer.success.ok) return Result.succeed(Result.succeed(answer.success.result))
  if (isNoAnswer(answer.success.code ?? 0)) return Result.fail(`answered with the code ${answer.success.code}`)
  return Result.succeed(Result.fail(veil(answer.success.error).slice(0, longestWords)))
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
  const checked = OptionCheck.read(check, options, "the RPC")
  if (Result.isFailure(checked)) return Effect.fail(checked.failure)
  const { apiKey, network, onRequest } = options
  const url = URL.canParse(options.url) ? new URL(options.url) : undefined
  if (url === undefined || (url.protocol !== "http:" && url.protocol !== "https:"))
    return Effect.fail(new Misconfigured({ message: `The RPC URL of ${network} is no HTTP URL` }))
  const timeout = Duration.fromInputUnsafe(options.timeout ?? "10 seconds")
  const node = HttpOrigin.at(url.origin, options.fetch)
  const path = url.pathname + url.search
  const headers = { "content-type": "application/json", ...(apiKey !== undefined && { "x-api-key": apiKey }) }
  const veil = veilOf(url, apiKey)

  const unavailable = (method: string, what: string, cause?: unknown) => {
    const message = `The node of ${network}, asked for ${method}, ${what}`
    return new ChainUnavailable(cause === undefined ? { network, message } : { network, message, cause })
  }

  const exchange = (method: string, params: unknown) => {
    onRequest?.(method)
    const body = JSON.stringify({ jsonrpc: "2.0", id: "1", method, params })
    return Effect.matchEffect(node.ask({ method: "POST", path, headers, body, maximumBytes, redirect: "error" }), {
      onFailure: (cause) => Effect.fail(unavailable(method, "could not be reached", cause)),
      onSuccess: (answer) => {
        const answered = read(answer, veil)
        return Result.isSuccess(answered)
          ? Effect.succeed(answered.success)
          : Effect.fail(unavailable(method, answered.failure))
      }
    })
  }

  return Effect.succeed((method, params) =>
    Effect.suspend(() => exchange(method, params)).pipe(
      Effect.timeoutOrElse({
        duration: timeout,
        orElse: () => Effect.fail(unavailable(method, `did not answer within ${Duration.format(timeout)}`))
      })
    )
  )
}
