/**
 * The unpaid request to a resource that was sold: its response says what the resource costs and whether it wants to be listed.
 * The body is not read, redirects are not followed, and the request ends after ten seconds.
 */
import { request as requestPlain } from "node:http"
import { request as requestSecure } from "node:https"

import * as Effect from "effect/Effect"

import * as WebhookTarget from "../webhooks/WebhookTarget.ts"

/** The head of a response; `offer` is the field `PAYMENT-REQUIRED` of x402 version 2. */
export interface UnpaidResponse {
  readonly status: number
  readonly offer: string | undefined
}

/** Sends a request, by POST too if `mayPost`; `undefined` if there is no response. */
export type Send = (url: URL, mayPost: boolean) => Effect.Effect<UnpaidResponse | undefined>

/** Longest duration of a request, in milliseconds. */
const timeoutMillis = 10_000

/** Largest head of a response, in bytes. */
const maximumHeadBytes = 16_384

/**
 * A sender. A resource that answers GET with another status than 402 is asked by POST where the settings allow that, because the
 * payment does not tell its method. Names are resolved as for webhooks, so a name of a private address gets no request unless `allowPrivate`.
 */
export const make =
  (allowPrivate: boolean): Send =>
  (url, mayPost) => {
    const exchange = (method: "GET" | "POST") =>
      Effect.timeoutOrElse(sent(url, method, allowPrivate), {
        duration: timeoutMillis,
        orElse: () => Effect.undefined
      })
    return Effect.flatMap(exchange("GET"), (response) =>
      response === undefined || response.status === 402 || !mayPost ? Effect.succeed(response) : exchange("POST")
    )
  }

const sent = (url: URL, method: "GET" | "POST", allowPrivate: boolean): Effect.Effect<UnpaidResponse | undefined> =>
  Effect.callback<UnpaidResponse | undefined>((resume) => {
    const request = (url.protocol === "https:" ? requestSecure : requestPlain)(url, {
      method,
      agent: false,
      maxHeaderSize: maximumHeadBytes,
      headers: {
        accept: "application/json",
        "user-agent": "pontage-facilitator",
        ...(method === "POST" && { "content-type": "application/json", "content-length": 0 })
      },
      ...(!allowPrivate && { lookup: WebhookTarget.publicLookup })
    })
    request.on("response", ({ headers, statusCode = 0 }) => {
      const { "payment-required": offer } = headers
      resume(Effect.succeed({ status: statusCode, offer: typeof offer === "string" ? offer : undefined }))
      request.destroy()
    })
    request.on("error", () => resume(Effect.undefined))
    request.end()
    return Effect.sync(() => void request.destroy())
  })
