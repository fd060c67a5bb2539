/**
 * One question over HTTP to a full node that is not trusted: bounded in size and time, no redirects followed, every answer
 * checked. Nodes answer errors with HTTP 200 and a field `Error`; those, and everything else that is no answer, are
 * `ChainUnavailable`.
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
  /** `http:` or `https:`, the part before `/wallet`; a user and password in it become an `Authorization` header. */
  readonly url: string
  /** The network's identifier, for messages. */
  readonly network: string
  /** How long a question may take, its answer included; default 10 seconds. */
  readonly timeout?: Duration.Input
  /** Default the platform's. */
  readonly fetch?: typeof globalThis.fetch
  /** Sent with every question: a provider's key (`TRON-PRO-API-KEY`). */
  readonly headers?: Readonly<Record<string, string>>
  /** Told the path of every question that is asked. */
  readonly onRequest?: (path: string) => void
}

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

const readJson = async (response: Response): Promise<unknown> => {
  const body = await BoundedBody.ofResponse(response, maximumBytes)
  if (body._tag === "TooLong") throw new Error(`answered more than ${maximumBytes} bytes`)
  if (body.text === undefined) throw new Error("answered something that is not UTF-8")
  try {
    return JSON.parse(body.text)
  } catch {
    throw new Error("answered something that is not JSON")
  }
}

interface Target {
  readonly url: string
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
  url.username = ""
  url.password = ""
  url.hash = ""
  return {
    url: url.href,
    headers,
    veil: (words) => secrets.reduce((veiled, secret) => veiled.replaceAll(secret, "<hidden>"), words)
  }
}

const secretHeaders = ({ headers = {} }: Options): ReadonlyArray<string> => Object.values(headers)

/** Shorter parts are words of an API, not keys. */
const shortestSecret = 8

/** The address of a path below a node's own, which may carry a provider's key behind a question mark. */
const below = (base: string, path: string): string => {
  const url = new URL(base)
  url.pathname = `${url.pathname.replace(/\/+$/, "")}/${path}`
  return url.href
}

/**
 * Makes the function that asks.
 *
 * @category constructors
 * @throws Misconfigured when the URL is not one of HTTP.
 */
export const make = (options: Options): Effect.Effect<Ask, Misconfigured> => {
  const { network, onRequest } = options
  const target = targetOf(options)
  if (target === undefined) {
    return Effect.fail(new Misconfigured({ message: `The RPC URL of ${network} is no HTTP URL` }))
  }
  const timeout = Duration.fromInputUnsafe(options.timeout ?? "10 seconds")
  const send = options.fetch ?? globalThis.fetch

  const exchange = async (path: string, body: object, signal: AbortSignal): Promise<unknown> => {
    onRequest?.(path)
    const response = await send(below(target.url, path), {
      method: "POST",
      headers: target.headers,
      body: JSON.stringify(body),
      redirect: "error",
      signal
    })
    if (response.ok) return readJson(response)
    void response.body?.cancel().catch(() => undefined)
    throw new Error(`answered HTTP ${response.status}`)
  }

  const unavailable = (path: string, what: string, cause?: unknown) => {
    const message = `The node of ${network}, asked for ${path}, ${what}`
    return new ChainUnavailable(cause === undefined ? { network, message } : { network, message, cause })
  }

  const withoutErrors = (path: string, json: unknown): Result.Result<unknown, ChainUnavailable> =>
    isError(json)
      ? Result.fail(unavailable(path, `failed: ${target.veil(json.Error).slice(0, longestWords)}`))
      : Result.succeed(json)

  return Effect.succeed((path, body) =>
    Effect.tryPromise({
      try: (signal) => exchange(path, body, signal),
      catch: (cause) =>
        cause instanceof Error && cause.constructor === Error
          ? unavailable(path, cause.message)
          : unavailable(path, "could not be reached", cause)
    }).pipe(
      Effect.flatMap((json) => Effect.fromResult(withoutErrors(path, json))),
      Effect.timeoutOrElse({
        duration: timeout,
        orElse: () => Effect.fail(unavailable(path, `did not answer within ${Duration.format(timeout)}`))
      })
    )
  )
}
