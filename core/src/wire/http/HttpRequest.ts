/**
 * One HTTP request of our own programs to a counterparty: a facilitator, a node. It has only the parts of HTTP that
 * they need, so that every platform can send it in its cheapest way.
 */
import type * as Effect from "effect/Effect"

import type { BoundedBody } from "./BoundedBody.ts"

/** A request. `path` is the part after the origin: path and query. */
export interface HttpRequest {
  readonly method: "GET" | "POST"
  readonly path: string
  /** Header fields; reusing the same object for every request costs least. */
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** Maximum length of the response's body, in bytes. */
  readonly maximumBytes: number
  /** Redirects are never followed: a redirect is a failure (`error`) or a response like any other (`manual`). */
  readonly redirect: "error" | "manual"
}

/** A complete response: all of its body has arrived, or more than the limit. */
export interface HttpResponse {
  readonly status: number
  readonly contentType: string | undefined
  readonly body: BoundedBody
}

/**
 * One server, by protocol, host and port. A request fails with the platform's own reason, whose `code`, or that of its
 * `cause`, tells the kind of failure (`ECONNREFUSED`). Nothing is retried: a request without a response may have
 * reached the server. An interruption drops the connection.
 */
export interface HttpOrigin {
  readonly send: (request: HttpRequest) => Effect.Effect<HttpResponse, unknown>
}
