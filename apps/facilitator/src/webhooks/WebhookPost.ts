/**
 * One HTTP request that tells of a payment. Connections are kept for the next one. Redirects are not followed, the answer's
 * body is passed over, and ten seconds after the beginning all is over, however slowly somebody speaks.
 */
import { Agent as PlainAgent, type IncomingMessage, request as requestPlain, type RequestOptions } from "node:http"
import { Agent as SecureAgent, request as requestSecure } from "node:https"

import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

import * as WebhookTarget from "./WebhookTarget.ts"

/**
 * What came of it: the status, or a word of why there is none. Any status from 200 to 299 says that it was understood.
 */
export type Reception = { readonly status: number } | { readonly trouble: string }

/** What is sent. */
export interface Post {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly allowPrivate: boolean
}

/** How long a request may take, in milliseconds. */
export const patienceMillis = 10_000

/** How long an idle connection is kept, in milliseconds: shorter than most servers keep theirs. */
const idleMillis = 4_000

/** Of an answer's body so much is passed over, in bytes, and for so long, in milliseconds: else its connection is cut. */
const longestBody = 65_536
const bodyMillis = 1_000

/** Sends it. No trouble of the receiver is a failure: it is told. */
export type Send = (post: Post) => Effect.Effect<Reception>

/** What sends, with connections of its own until the scope closes. */
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
  return (post) => {
    const objection = WebhookTarget.objection(post.url, post.allowPrivate)
    if (objection !== undefined) return Effect.succeed({ trouble: objection })
    const agent = post.url.protocol === "https:" ? agents.secure : agents.plain
    const sent = Effect.flatMap(exchange(post, agent), (reception) =>
      // The receiver closed the connection just as it was used again: it has not seen the request.
      reception === stale ? exchange(post, false) : Effect.succeed(reception)
    )
    return Effect.timeoutOrElse(sent, {
      duration: patienceMillis,
      orElse: () => Effect.succeed<Reception>({ trouble: "no answer in time" })
    })
  }
})

const stale: Reception = { trouble: "the connection was closed" }

const exchange = (
  { allowPrivate, body, headers, url }: Post,
  agent: NonNullable<RequestOptions["agent"]>
): Effect.Effect<Reception> =>
  Effect.callback<Reception>((resume) => {
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
      passOver(response, () => resume(Effect.succeed({ status: response.statusCode ?? 0 })))
    )
    request.on("error", (error) =>
      resume(
        Effect.succeed(agent !== false && request.reusedSocket && isHungUp(error) ? stale : { trouble: wordOf(error) })
      )
    )
    request.end(body)
    return Effect.sync(() => void request.destroy())
  })

/** Reads an answer to its end, so that its connection can be used again, or cuts it. */
const passOver = (response: IncomingMessage, done: () => void): void => {
  let length = 0
  const late = setTimeout(() => response.destroy(), bodyMillis)
  response.on("data", (chunk: Buffer) => {
    length += chunk.length
    if (length > longestBody) response.destroy()
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

/** A message may quote the address, which may hold a secret; a code does not. */
const wordOf = (error: Error): string => codeOf(error) ?? "the connection failed"
