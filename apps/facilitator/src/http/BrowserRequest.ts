/**
 * Protection against requests that a web page sends through a browser. A service without keys trusts everybody who can reach
 * it, and any page that is open on this machine can: with blind requests, or by a name of its own that resolves to this
 * machine (DNS rebinding). So without keys a request has to name an allowed host, and no page of another origin may be its
 * source. With keys there is no such check, because a browser never adds a key by itself.
 */
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { isLoopback } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import type * as Layer from "effect/Layer"

/** Host and source page of a request. */
export interface RequestSource {
  /** Fields as received; a duplicate field is a list separated by commas. */
  readonly headers: Readonly<Record<"host" | "origin" | "sec-fetch-site", string | undefined>>
  /** The address at which the connection arrived. */
  readonly localAddress: string | undefined
}

/** A name, an IPv4 address or an IPv6 address in brackets, with or without a port; no other part of a URL. */
const authority = /^([a-z0-9._-]+|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?$/

/** Whether a text is a host of `PONTAGE_ALLOWED_HOSTS`: with a port, or for any port. */
export const isHost = (text: string): boolean => authority.test(text.toLowerCase())

/** Reason to refuse the request; `undefined` if there is none. */
export const objection = (source: RequestSource, allowedHosts: ReadonlyArray<string>): string | undefined => {
  const host = source.headers.host?.toLowerCase() ?? ""
  if (!isOwn(host, source, allowedHosts)) {
    return `the request is for the host ${quote(host)}, and without API keys this service answers only as localhost, as the address at which the connection arrived, or as PONTAGE_ALLOWED_HOSTS names it`
  }
  const { origin, "sec-fetch-site": site } = source.headers
  if (origin !== undefined && !isSameOrigin(origin.toLowerCase(), host)) {
    return `the request comes from a web page of ${quote(origin)}, and without API keys no page but this service's own may ask`
  }
  return site === undefined || site === "same-origin" || site === "none"
    ? undefined
    : "the request comes from a web page of another origin, and without API keys no page but this service's own may ask"
}

/** Whether the host is the service's own. The port may differ, because it may be forwarded; a page's port is part of its origin. */
const isOwn = (host: string, { localAddress }: RequestSource, allowedHosts: ReadonlyArray<string>): boolean => {
  const [, name] = authority.exec(host) ?? []
  if (name === undefined) return false
  const isAllowed = (one: string) => one === host || one === name
  if (allowedHosts.some((one) => isAllowed(one.toLowerCase()))) return true
  return isLoopback(name) || name === bracketed(localAddress)
}

/** An address as in a `Host` field. */
const bracketed = (address: string | undefined): string | undefined => {
  const bare = address?.replace(/^::ffff:(?=\d+\.)/, "")
  return bare?.includes(":") === true ? `[${bare}]` : bare
}

const isSameOrigin = (origin: string, host: string): boolean =>
  origin === `http://${host}` || origin === `https://${host}`

const quote = (text: string): string => JSON.stringify(text.slice(0, 100))

/** Refuses such requests to every endpoint before anything else. */
export const layer = (allowedHosts: ReadonlyArray<string>): Layer.Layer<never, never, HttpRouter.HttpRouter> =>
  HttpRouter.middleware(
    (response) =>
      Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
        // Raw fields: Effect replaces the host field when the request's target names a host.
        const { headers, socket } = NodeHttpServerRequest.toIncomingMessage(request)
        const { localAddress } = socket
        const { host, origin, "sec-fetch-site": site } = headers
        const fields = { host, origin, "sec-fetch-site": site }
        const message = objection({ headers: fields, localAddress }, allowedHosts)
        return message === undefined ? response : Effect.succeed(refusal(message))
      }),
    { global: true }
  )

const refusal = (message: string) => HttpServerResponse.jsonUnsafe({ error: "forbidden", message }, { status: 403 })
