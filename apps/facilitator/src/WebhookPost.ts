/**
 * One HTTP request that tells of a payment. Redirects are not followed, the answer's body is not read, and ten seconds
 * after the beginning all is over, however slowly somebody speaks.
 */
import { request as requestPlain } from "node:http"
import { request as requestSecure } from "node:https"

import * as Effect from "effect/Effect"

import * as WebhookTarget from "./WebhookTarget.ts"

/**
 * What came of it: the status, or a word of why there is none. Any status from 200 to 299 says that it was understood.
 *
 * @category models
 */
export type Reception = { readonly status: number } | { readonly trouble: string }

/**
 * What is sent.
 *
 * @category models
 */
export interface Post {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly allowPrivate: boolean
}

/**
 * How long a request may take, in milliseconds.
 *
 * @category constants
 */
export const patienceMillis = 10_000

/**
 * Sends it. No trouble of the receiver is a failure: it is told.
 *
 * @category combinators
 */
export const send = (post: Post): Effect.Effect<Reception> => {
  const objection = WebhookTarget.objection(post.url, post.allowPrivate)
  if (objection !== undefined) return Effect.succeed({ trouble: objection })
  return Effect.timeoutOrElse(exchange(post), {
    duration: patienceMillis,
    orElse: () => Effect.succeed<Reception>({ trouble: "no answer in time" })
  })
}

const exchange = ({ allowPrivate, body, headers, url }: Post): Effect.Effect<Reception> =>
  Effect.callback<Reception>((resume) => {
    const request = (url.protocol === "https:" ? requestSecure : requestPlain)(url, {
      method: "POST",
      agent: false,
      headers: {
        ...headers,
        "content-type": "application/json",
        "content-length": Buffer.byteLength(body),
        "user-agent": "pontage-facilitator"
      },
      ...(!allowPrivate && { lookup: WebhookTarget.publicLookup })
    })
    request.on("response", (response) => {
      resume(Effect.succeed({ status: response.statusCode ?? 0 }))
      response.destroy()
    })
    request.on("error", (error) => resume(Effect.succeed({ trouble: wordOf(error) })))
    request.end(body)
    return Effect.sync(() => void request.destroy())
  })

/** A message may quote the address, which may hold a secret; a code does not. */
const wordOf = (error: Error): string =>
  "code" in error && typeof error.code === "string" ? error.code : "the connection failed"
