/**
 * One question over HTTP to a full node that is not trusted: bounded in size and time, no redirects followed, every answer
 * checked. Nodes answer errors with HTTP 200 and a field `Error`; those, and everything else that is no answer, are
 * `ChainUnavailable`.
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
  /** `http:` or `https:`, the part before `/wallet`; a user and password in it become an `Authorization` header. */
  readonly url: string
  /** The network's identifier, for messages. */
  readonly network: string
  /** How long a question may take, its answer included; default 10 seconds. */
  readonly timeout?: Duration.Input
  /** Default: on Node its own HTTP client with connections that are kept, elsewhere the platform's `fetch`. */
  readonly fetch?: typeof globalThis.fetch
  /** Sent with every question: a provider's key (`TRON-PRO-API-KEY`). */
  readonly headers?: Readonly<Record<string, string>>
  /** Told the path of every question that is asked. */
  readonly onRequest?: (path: string) => void
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
 * Asks a path with this body: the node's JSON.
 *
 * @category models
 */
export type Ask = (
  path: string,
  body: Readonly<Record<string, string | number | boolean>>
) => Effect.Effect<unknown, ChainUnavailable>

/**
 * The longest answer that is read, in bytes.
 *
 * @category constants
 */
export const maximumBytes = 1_048_576

/** Of a node's words so many characters are kept: they end up in messages and records. */
const longestWords = 300

const isError = /* @__PURE__ */ Schema.is(/* @__PURE__ */ Schema.Struct({ Error: Schema.String }))

/** The JSON of an answer; or what was wrong with it, without a subject. */
const read = ({ body, status }: HttpOrigin.HttpAnswer): Result.Result<unknown, string> => {
  if (status < 200 || status > 299) return Result.fail(`answered HTTP ${status}`)
  if (body._tag === "TooLong") return Result.fail(`answered more than ${maximumBytes} bytes`)
  if (body.text === undefined) return Result.fail("answered something that is not UTF-8")
  try {
    return Result.succeed(JSON.parse(body.text))
  } catch {
    return Result.fail("answered something that is not JSON")
  }
}

interface Target {
  readonly origin: string
  /** The node's own path, without a slash at its end. */
  readonly path: string
  /** What follows every path: a provider's key may stand behind a question mark. */
  readonly search: string
  readonly headers: Record<string, string>
  /** Hides what may be a provider's key in the node's words. */
  readonly veil: (words: string) => string
}

const targetOf = (options: Options): Target | undefined => {
  if (!URL.canParse(options.url)) return undefined
  const url = new URL(options.url)
  if (url.protocol !== "http:" && url.protocol !== "https:") return undefined
  const headers: Record<string, string> = { "content-type": "application/json", ...options.headers }
  if (url.username !== "" || url.password !== "") {
    headers["authorization"] =
      `Basic ${btoa(`${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`)}`
  }
  const secrets = [url.password, ...url.pathname.split("/"), ...url.searchParams.values(), ...secretHeaders(options)]
    .filter((secret) => secret.length >= shortestSecret)
    .toSorted((a, b) => b.length - a.length)
  return {
    origin: url.origin,
    path: url.pathname.replace(/\/+$/, ""),
    search: url.search,
    headers,
    veil: (words) => secrets.reduce((veiled, secret) => veiled.replaceAll(secret, "<hidden>"), words)
  }
}

const secretHeaders = ({ headers = {} }: Options): ReadonlyArray<string> => Object.values(headers)

/** Shorter parts are words of an API, not keys. */
const shortestSecret = 8

/**
 * Makes the function that asks.
 *
 * @category constructors
 * @throws Misconfigured when the URL is not one of HTTP.
 */
export const make = (options: Options): Effect.Effect<Ask, Misconfigured> => {
  const checked = OptionCheck.read(check, options, "the RPC")
  if (Result.isFailure(checked)) return Effect.fail(checked.failure)
  const { network, onRequest } = options
  const target = targetOf(options)
  if (target === undefined) {
    return Effect.fail(new Misconfigured({ message: `The RPC URL of ${network} is no HTTP URL` }))
  }
  const timeout = Duration.fromInputUnsafe(options.timeout ?? "10 seconds")
  const node = HttpOrigin.at(target.origin, options.fetch)

  const unavailable = (path: string, what: string, cause?: unknown) => {
    const message = `The node of ${network}, asked for ${path}, ${what}`
    return new ChainUnavailable(cause === undefined ? { network, message } : { network, message, cause })
  }

  const meant = (path: string, answer: HttpOrigin.HttpAnswer): Effect.Effect<unknown, ChainUnavailable> => {
    const json = read(answer)
    if (Result.isFailure(json)) return Effect.fail(unavailable(path, json.failure))
    return isError(json.success)
      ? Effect.fail(unavailable(path, `failed: ${target.veil(json.success.Error).slice(0, longestWords)}`))
      : Effect.succeed(json.success)
  }

  const exchange = (path: string, question: object) => {
    onRequest?.(path)
    const to = { path: `${target.path}/${path}${target.search}`, headers: target.headers }
    const body = JSON.stringify(question)
    return Effect.matchEffect(node.ask({ method: "POST", ...to, body, maximumBytes, redirect: "error" }), {
      onFailure: (cause) => Effect.fail(unavailable(path, "could not be reached", cause)),
      onSuccess: (answer) => meant(path, answer)
    })
  }

  return Effect.succeed((path, body) =>
    Effect.suspend(() => exchange(path, body)).pipe(
      Effect.timeoutOrElse({
        duration: timeout,
        orElse: () => Effect.fail(unavailable(path, `did not answer within ${Duration.format(timeout)}`))
      })
    )
  )
}
