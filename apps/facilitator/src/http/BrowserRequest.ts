/**
 * Requests that a web page has a browser send. A service that asks for no key trusts whoever can reach it, and any page that
 * is open on this machine can: by sending blindly, or under a name of its own that resolves to this machine. So without
 * keys the request has to name the service as its own callers do, and no page of another origin may be behind it. With keys
 * nothing is asked: a browser holds none, and adds nothing by itself that this service would take for one.
 */
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { isLoopback } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import type * as Layer from "effect/Layer"

/** A request as far as it tells where it was sent and by what page. */
export interface Asked {
  /** Fields as they came; one that came twice is a list of both, separated by commas. */
  readonly headers: Readonly<Record<"host" | "origin" | "sec-fetch-site", string | undefined>>
  /** The address at which its connection arrived. */
  readonly localAddress: string | undefined
}

/** A name, an IPv4 address or an IPv6 address in brackets, and a port. Whatever else a URL may hold is none. */
const authority = /^([a-z0-9._-]+|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?$/

/** A host as `PONTAGE_ALLOWED_HOSTS` names it: with a port, or for any. */
export const isHost = (text: string): boolean => authority.test(text.toLowerCase())

/** Why the request is refused; `undefined` when it may come from one of the service's own callers. */
export const objection = (asked: Asked, allowedHosts: ReadonlyArray<string>): string | undefined => {
  const host = asked.headers.host?.toLowerCase() ?? ""
  if (!isOwn(host, asked, allowedHosts)) {
    return `the request is for the host ${quote(host)}, and without API keys this service answers only as localhost, as the address at which the connection arrived, or as PONTAGE_ALLOWED_HOSTS names it`
  }
  const { origin, "sec-fetch-site": site } = asked.headers
  if (origin !== undefined && !isSameOrigin(origin.toLowerCase(), host)) {
    return `the request comes from a web page of ${quote(origin)}, and without API keys no page but this service's own may ask`
  }
  return site === undefined || site === "same-origin" || site === "none"
    ? undefined
    : "the request comes from a web page of another origin, and without API keys no page but this service's own may ask"
}

/** The port is not compared: a forwarded one is another, and a page of another port has another origin. */
const isOwn = (host: string, { localAddress }: Asked, allowedHosts: ReadonlyArray<string>): boolean => {
  const [, name] = authority.exec(host) ?? []
  if (name === undefined) return false
  const isAllowed = (one: string) => one === host || one === name
  if (allowedHosts.some((one) => isAllowed(one.toLowerCase()))) return true
  return isLoopback(name) || name === bracketed(localAddress)
}

/** An address as a `Host` writes it. */
const bracketed = (address: string | undefined): string | undefined => {
  const bare = address?.replace(/^::ffff:(?=\d+\.)/, "")
  return bare?.includes(":") === true ? `[${bare}]` : bare
}

const isSameOrigin = (origin: string, host: string): boolean =>
  origin === `http://${host}` || origin === `https://${host}`

const quote = (text: string): string => JSON.stringify(text.slice(0, 100))

/** Refuses such requests to every endpoint, before anything else is done for them. */
export const layer = (allowedHosts: ReadonlyArray<string>): Layer.Layer<never, never, HttpRouter.HttpRouter> =>
  HttpRouter.middleware(
    (answer) =>
      Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
        // As they came: a host that the target names is put in the place of the field's.
        const { headers, socket } = NodeHttpServerRequest.toIncomingMessage(request)
        const { localAddress } = socket
        const { host, origin, "sec-fetch-site": site } = headers
        const fields = { host, origin, "sec-fetch-site": site }
        const message = objection({ headers: fields, localAddress }, allowedHosts)
        return message === undefined ? answer : Effect.succeed(refusal(message))
      }),
    { global: true }
  )

const refusal = (message: string) => HttpServerResponse.jsonUnsafe({ error: "forbidden", message }, { status: 403 })
