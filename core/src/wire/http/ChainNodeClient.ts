/**
 * The HTTP client for a chain's node. The node is not trusted: responses are bounded in size and time, no redirect is
 * followed, and the secrets of the URL and the headers are hidden in every message. A family of chains adds the meaning of
 * its nodes' responses.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import * as OptionCheck from "../../protocol/OptionCheck.ts"
import { ChainUnavailable, Misconfigured } from "../../protocol/ProtocolError.ts"
import type { BoundedBody } from "./BoundedBody.ts"
import * as HttpOrigin from "./HttpOrigin.ts"
import * as RequestSecrets from "./RequestSecrets.ts"

/** The node, and the way to reach it. */
export interface Options {
  /** `http:` or `https:`; a user and password in it become an `Authorization` header. Never shown in a message. */
  readonly url: string
  /** The network's identifier, for messages. */
  readonly network: string
  /** Time limit of a request, its response included; default 10 seconds. */
  readonly timeout?: Duration.Input
  /** HTTP client; default: on Node its own HTTP client with kept connections, elsewhere the platform's `fetch`. */
  readonly fetch?: typeof globalThis.fetch
  /** Sent with every request: a provider's key, for example. Never shown in a message. */
  readonly headers?: Readonly<Record<string, string>>
  /** Called with the name of every request that is sent: its method, or its path. */
  readonly onRequest?: (name: string) => void
}

/** The keys of the options, for callers that add their own. */
export const keys: OptionCheck.Table<Options> = {
  url: OptionCheck.text,
  network: OptionCheck.text,
  timeout: OptionCheck.optional(OptionCheck.duration),
  fetch: OptionCheck.optional(OptionCheck.callable()),
  headers: OptionCheck.optional(OptionCheck.record(OptionCheck.text)),
  onRequest: OptionCheck.optional(OptionCheck.callable())
}

/** One request: `name` is for messages, `path` is appended to the URL's own path, `body` is sent as JSON. */
export interface Request {
  readonly name: string
  readonly path?: string
  readonly body: unknown
}

/** A client that sends requests to one node. */
export interface ChainNodeClient {
  readonly network: string
  /**
   * Sends a request once. `read` returns the response's meaning, or its problem without a subject ("responded with HTTP
   * 502").
   */
  readonly send: <A>(
    request: Request,
    read: (response: HttpOrigin.HttpResponse) => Result.Result<A, string>
  ) => Effect.Effect<A, ChainUnavailable>
  /**
   * The node's text in a form that may be shown and stored: secrets hidden, at most {@link longestQuote} characters.
   */
  readonly quote: (words: string) => string
}

/** Maximum length of a kept text of the node, in characters: such texts end up in messages and records. */
export const longestQuote = 500

/** The JSON of a response's body; or its problem, without a subject. */
export const readJson = (body: BoundedBody): Result.Result<unknown, string> => {
  if (body._tag === "TooLong") return Result.fail(`responded with more than ${body.maximumBytes} bytes`)
  if (body.text === undefined) return Result.fail("responded with something that is not UTF-8")
  try {
    return Result.succeed(JSON.parse(body.text))
  } catch {
    return Result.fail("responded with something that is not JSON")
  }
}

const urlOf = (text: string): URL | undefined => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url?.protocol === "http:" || url?.protocol === "https:" ? url : undefined
}

/** The headers, with names in lower case, so that none appears twice. */
const headersOf = (url: URL, given: Options["headers"] = {}): Readonly<Record<string, string>> => {
  const own = Object.fromEntries(Object.entries(given).map(([name, value]) => [name.toLowerCase(), value]))
  const authorization = RequestSecrets.authorization(url)
  return { "content-type": "application/json", ...own, ...(authorization !== undefined && { authorization }) }
}

/**
 * Makes the client of a node. The longest response that is read is given in bytes. The options are expected to be checked
 * against the family's own table.
 *
 * @throws Misconfigured when the URL is not one of HTTP.
 */
export const make = Effect.fnUntraced(function* (
  options: Options,
  maximumBytes: number
): Effect.fn.Return<ChainNodeClient, Misconfigured> {
  const { fetch, network, onRequest } = options
  const url = urlOf(options.url)
  if (url === undefined) return yield* new Misconfigured({ message: `The RPC URL of ${network} is not an HTTP URL` })
  const timeout = Duration.fromInputUnsafe(options.timeout ?? "10 seconds")
  const originOf = yield* HttpOrigin.HttpOrigins
  const node = fetch === undefined ? originOf(url.origin) : HttpOrigin.at(url.origin, fetch)
  const headers = headersOf(url, options.headers)
  const mask = RequestSecrets.mask(url, options.headers)
  const quote = (words: string) => mask(words).slice(0, longestQuote)
  // A path that is added must not begin with two slashes.
  const base = url.pathname.replace(/\/+$/, "")
  const pathOf = ({ path }: Request) => (path === undefined ? url.pathname : `${base}/${path}`) + url.search

  const unavailable = ({ name }: Request, what: string, cause?: unknown) => {
    const message = `The node of ${network}, asked for ${name}, ${quote(what)}`
    return new ChainUnavailable(cause === undefined ? { network, message } : { network, message, cause })
  }

  const exchange = <A>(request: Request, read: (response: HttpOrigin.HttpResponse) => Result.Result<A, string>) => {
    onRequest?.(request.name)
    const body = JSON.stringify(request.body)
    const call = { method: "POST", path: pathOf(request), headers, body, maximumBytes, redirect: "error" } as const
    return Effect.matchEffect(node.send(call), {
      onFailure: (reason) =>
        Effect.fail(unavailable(request, "could not be reached", RequestSecrets.maskedReason(mask, reason))),
      onSuccess: (response) => {
        const meaning = read(response)
        return Result.isSuccess(meaning)
          ? Effect.succeed(meaning.success)
          : Effect.fail(unavailable(request, meaning.failure))
      }
    })
  }

  return {
    network,
    quote,
    send: (request, read) =>
      Effect.suspend(() => exchange(request, read)).pipe(
        Effect.timeoutOrElse({
          duration: timeout,
          orElse: () => Effect.fail(unavailable(request, `did not respond within ${Duration.format(timeout)}`))
        })
      )
  }
})
