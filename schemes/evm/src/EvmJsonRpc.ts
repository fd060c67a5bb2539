/**
 * One JSON-RPC 2.0 request over HTTP to a node that is not trusted: bounded in size and time, no redirects followed, every
 * answer checked. What is not a well-formed answer to exactly this request is `ChainUnavailable`.
 */
import { ChainUnavailable, HttpOrigin, Misconfigured } from "@pontage/core"
import * as OptionCheck from "@pontage/core/OptionCheck"
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
  /** Default: on Node its own HTTP client with connections that are kept, elsewhere the platform's `fetch`. */
  readonly fetch?: typeof globalThis.fetch
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>
  /** Told the method of every request that is sent. */
  readonly onRequest?: (method: string) => void
}

const check = OptionCheck.options<Options>({
  url: OptionCheck.text,
  network: OptionCheck.text,
  timeout: OptionCheck.optional(OptionCheck.duration),
  fetch: OptionCheck.optional(OptionCheck.callable()),
  headers: OptionCheck.optional(OptionCheck.record(OptionCheck.text)),
  onRequest: OptionCheck.optional(OptionCheck.callable())
})

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

type Answered = Result.Result<unknown, Refusal>

/** The answer to one request; or what was wrong with it, without a subject. */
const read = (
  { body, status }: HttpOrigin.HttpAnswer,
  expectedId: number,
  veil: (words: string) => string
): Result.Result<Answered, string> => {
  const isRefusing = refusingStatuses.has(status)
  if ((status < 200 || status > 299) && !isRefusing) return Result.fail(`answered HTTP ${status}`)
  if (body._tag === "TooLong") return isRefusing ? Result.fail(`answered HTTP ${status}`) : tooLong
  if (body.text === undefined) return Result.fail("answered something that is not UTF-8")
  let json: unknown
  try {
    json = JSON.parse(body.text)
  } catch {
    return Result.fail("answered something that is not JSON")
  }
  const decoded = decodeAnswer(json)
  if (Result.isFailure(decoded)) {
    return Result.fail(`answered something that is not JSON-RPC: ${decoded.failure.message}`)
  }
  const meaning = meant(decoded.success, expectedId, veil)
  const isResult = Result.isSuccess(meaning) && Result.isSuccess(meaning.success)
  return isRefusing && isResult ? Result.fail(`answered HTTP ${status}`) : meaning
}

/** Some nodes give a question that they refuse one of these, beside the refusal itself. */
const refusingStatuses: ReadonlySet<number> = new Set([400, 413])

/** Not read, it is as good as refused: asked about less the node may answer. */
const tooLong: Result.Result<Answered, string> = Result.succeed(
  Result.fail({ code: -32_603, message: `it answered more than ${maximumBytes} bytes`, data: undefined })
)

const meant = (
  answer: typeof Answer.Type,
  expectedId: number,
  veil: (words: string) => string
): Result.Result<Answered, string> => {
  const { error, id } = answer
  if (id !== expectedId) return Result.fail("answered another request")
  if (error) {
    const message = veil(error.message).slice(0, longestWords)
    return Result.succeed(Result.fail({ code: error.code, message, data: error.data }))
  }
  return "result" in answer
    ? Result.succeed(Result.succeed(answer.result))
    : Result.fail("answered neither a result nor an error")
}

interface Target {
  readonly origin: string
  readonly path: string
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
  }
  return { origin: url.origin, path: url.pathname + url.search, headers, veil }
}

/**
 * Makes the function that sends.
 *
 * @category constructors
 * @throws Misconfigured when the URL is not one of HTTP.
 */
export const make = Effect.fnUntraced(function* (options: Options): Effect.fn.Return<Send, Misconfigured> {
  yield* Effect.fromResult(OptionCheck.read(check, options, "the RPC"))
  const { network, onRequest } = options
  const to = target(options)
  if (to === undefined) return yield* new Misconfigured({ message: `The RPC URL of ${network} is no HTTP URL` })
  const timeout = Duration.fromInputUnsafe(options.timeout ?? "10 seconds")
  const { headers, path } = to
  const originOf = yield* HttpOrigin.HttpOrigins
  const node = options.fetch === undefined ? originOf(to.origin) : HttpOrigin.at(to.origin, options.fetch)
  let lastId = 0

  const unavailable = (method: string, what: string, cause?: unknown) => {
    const message = `The node of ${network}, asked for ${method}, ${what}`
    return new ChainUnavailable(cause === undefined ? { network, message } : { network, message, cause })
  }

  const exchange = (method: string, params: ReadonlyArray<unknown>) => {
    const id = ++lastId
    onRequest?.(method)
    const body = JSON.stringify({ jsonrpc: "2.0", id, method, params })
    return Effect.matchEffect(node.ask({ method: "POST", path, headers, body, maximumBytes, redirect: "error" }), {
      onFailure: (cause) => Effect.fail(unavailable(method, "could not be reached", cause)),
      onSuccess: (answer) => {
        const answered = read(answer, id, to.veil)
        return Result.isSuccess(answered)
          ? Effect.succeed(answered.success)
          : Effect.fail(unavailable(method, answered.failure))
      }
    })
  }

  return (method, params) =>
    Effect.suspend(() => exchange(method, params)).pipe(
      Effect.timeoutOrElse({
        duration: timeout,
        orElse: () => Effect.fail(unavailable(method, `did not answer within ${Duration.format(timeout)}`))
      })
    )
})
