/**
 * The HTTP request of one webhook. Connections are kept for later requests. Redirects are not followed, the response's body
 * is discarded, and the request ends after ten seconds even if the receiver still sends.
 */
import { Agent as PlainAgent, type IncomingMessage, request as requestPlain, type RequestOptions } from "node:http"
import { Agent as SecureAgent, request as requestSecure } from "node:https"

import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

import * as WebhookTarget from "./WebhookTarget.ts"

/** Result of a request: the response's status, or the trouble that prevented one. A status from 200 to 299 is a success. */
export type DeliveryResult = { readonly status: number } | { readonly trouble: string }

/** One request. */
export interface WebhookRequest {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly allowPrivate: boolean
}

/** Longest duration of a request, in milliseconds. */
export const timeoutMillis = 10_000

/** Lifetime of an idle connection, in milliseconds: shorter than at most servers. */
const idleMillis = 4_000

/** Limits of a response's body, in bytes and in milliseconds; beyond them the connection is closed. */
const maximumBodyBytes = 65_536
const bodyMillis = 1_000

/** Sends a request. Troubles of the receiver are results, not failures. */
export type Send = (request: WebhookRequest) => Effect.Effect<DeliveryResult>

/** A sender with connections of its own until the scope closes. */
export const make: Effect.Effect<Send, never, Scope.Scope> = Effect.gen(function* () {
  const kept = { keepAlive: true, timeout: idleMillis }
  const agents = yield* Effect.acquireRelease(
    Effect.sync(() => ({ plain: new PlainAgent(kept), secure: new SecureAgent(kept) })),
    ({ plain, secure }) =>
      Effect.sync(() => {
        plain.destroy()
        secure.destroy()
      })
  )
  return (request) => {
    const objection = WebhookTarget.objection(request.url, request.allowPrivate)
    if (objection !== undefined) return Effect.succeed({ trouble: objection })
    const agent = request.url.protocol === "https:" ? agents.secure : agents.plain
    const sent = Effect.flatMap(exchange(request, agent), (result) =>
      // The receiver closed the kept connection just as it was reused, so it has not seen the request.
      result === stale ? exchange(request, false) : Effect.succeed(result)
    )
    return Effect.timeoutOrElse(sent, {
      duration: timeoutMillis,
      orElse: () => Effect.succeed<DeliveryResult>({ trouble: "no response in time" })
    })
  }
})

const stale: DeliveryResult = { trouble: "the connection was closed" }

const exchange = (
  { allowPrivate, body, headers, url }: WebhookRequest,
  agent: NonNullable<RequestOptions["agent"]>
): Effect.Effect<DeliveryResult> =>
  Effect.callback<DeliveryResult>((resume) => {
    const request = (url.protocol === "https:" ? requestSecure : requestPlain)(url, {
      method: "POST",
      agent,
      headers: {
        ...headers,
        "content-type": "application/json",
        "content-length": Buffer.byteLength(body),
        "user-agent": "pontage-facilitator"
      },
      ...(!allowPrivate && { lookup: WebhookTarget.publicLookup })
    })
    request.on("response", (response) =>
      drain(response, () => resume(Effect.succeed({ status: response.statusCode ?? 0 })))
    )
    request.on("error", (error) =>
      resume(
        Effect.succeed(
          agent !== false && request.reusedSocket && isHungUp(error) ? stale : { trouble: codeText(error) }
        )
      )
    )
    request.end(body)
    return Effect.sync(() => void request.destroy())
  })

/** Reads a response to its end, so that its connection can be reused, or closes the connection. */
const drain = (response: IncomingMessage, done: () => void): void => {
  let length = 0
  const late = setTimeout(() => response.destroy(), bodyMillis)
  response.on("data", (chunk: Buffer) => {
    length += chunk.length
    if (length > maximumBodyBytes) response.destroy()
  })
  response.on("error", () => response.destroy())
  response.once("close", () => {
    clearTimeout(late)
    done()
  })
}

const codeOf = (error: Error): string | undefined =>
  "code" in error && typeof error.code === "string" ? error.code : undefined

const isHungUp = (error: Error): boolean => codeOf(error) === "ECONNRESET" || codeOf(error) === "EPIPE"

/** The code of an error. Its message could quote the address, which may contain a secret. */
const codeText = (error: Error): string => codeOf(error) ?? "the connection failed"
