/**
 * One question over HTTP that a program of ours asks a counterparty: a facilitator, a node. What it needs of HTTP and no
 * more, so that every platform can ask it the way that costs it least.
 */
import type * as Effect from "effect/Effect"

import type { BoundedBody } from "./BoundedBody.ts"

/** A question. `path` is what stands behind the origin: path and query. */
export interface HttpRequest {
  readonly method: "GET" | "POST"
  readonly path: string
  /** The same object for call after call costs least. */
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** Of the answer's body so many bytes are read. */
  readonly maximumBytes: number
  /** No redirect is followed: it is a failure (`error`) or an answer like any other (`manual`). */
  readonly redirect: "error" | "manual"
}

/** A complete answer: all of its body has come, or more than was wanted. */
export interface HttpResponse {
  readonly status: number
  readonly contentType: string | undefined
  readonly body: BoundedBody
}

/**
 * One server, by protocol, host and port. A call fails with the platform's own reason, whose `code`, or that of its `cause`,
 * tells what happened (`ECONNREFUSED`). Nothing is retried: where an answer is missing the question may have been heard. An
 * interruption gives the connection up.
 */
export interface HttpOrigin {
  readonly send: (request: HttpRequest) => Effect.Effect<HttpResponse, unknown>
}
