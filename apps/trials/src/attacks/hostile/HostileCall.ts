/**
 * Requests of an attacker: offers are taken from a shop's 402, payments shown as often and wherever it pays, connections cut
 * in the middle.
 */
import { request } from "node:http"

import * as Effect from "effect/Effect"

import type { Offer, PayingHeaders } from "./HostileWallet.ts"

/** The parts of an HTTP response that attacks read. */
export interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/**
 * Sends a request over a connection of its own and reads the response to its end. A kept connection may be closed by the
 * server in the moment of the next request, and an attack would break without a fault of its target.
 */
export const send = (url: string, init: RequestInit = {}): Effect.Effect<Reply> =>
  Effect.promise(async () => {
    const headers = new Headers(init.headers)
    headers.set("connection", "close")
    const response = await fetch(url, { ...init, headers, redirect: "manual" }).catch((cause: unknown) => {
      throw new Error(`${init.method ?? "GET"} ${url} had no response`, { cause })
    })
    return { status: response.status, headers: response.headers, text: await response.text() }
  })

/**
 * Sends a payment as often as a 503 or a `Retry-After` asks for it, up to a minute, and returns the last response.
 */
export const patiently = Effect.fnUntraced(function* (url: string, headers: PayingHeaders) {
  let reply = yield* send(url, { headers })
  for (let attempt = 0; attempt < 240; attempt++) {
    if (reply.status !== 503 && reply.headers.get("retry-after") === null) return reply
    yield* Effect.sleep("250 millis")
    reply = yield* send(url, { headers })
  }
  return reply
})

/** A JSON body for `send`. */
export const posting = (body: unknown, headers: Readonly<Record<string, string>> = {}): RequestInit => ({
  method: "POST",
  headers: { "content-type": "application/json", ...headers },
  body: JSON.stringify(body)
})

/** The first offer of a 402 in x402 version 2. Dies where there is none. */
export const offerAt = (url: string, init: RequestInit = {}): Effect.Effect<Offer> =>
  Effect.map(send(url, init), ({ headers, status, text }) => {
    const offer = firstOf(headers.get("payment-required"))
    if (offer === undefined) throw new Error(`${url} offers nothing: ${status} ${text.slice(0, 300)}`)
    return offer
  })

const firstOf = (header: string | null | undefined): Offer | undefined => {
  if (header === null || header === undefined) return undefined
  const { accepts }: { readonly accepts: ReadonlyArray<Offer> } = JSON.parse(
    Buffer.from(header, "base64").toString("utf8")
  )
  return accepts[0]
}

/** The first offer of x402 version 2 in the text of a response; `undefined` where there is none. */
export const offerIn = (response: string): Offer | undefined =>
  firstOf(/^payment-required: (\S+)/im.exec(response)?.[1])

/**
 * Sends a paid request and destroys its connection once `isEnough` of the response's body has come, or at once after the
 * request was written. Completes when the connection is gone.
 */
export const cut = (
  url: string,
  headers: PayingHeaders,
  options: { readonly method?: string; readonly body?: string; readonly afterMillis?: number } = {}
): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    const { afterMillis = 0, body, method = "GET" } = options
    const outgoing = request(url, { method, headers, agent: false })
    outgoing.on("error", () => undefined)
    outgoing.on("close", () => resume(Effect.void))
    outgoing.on("response", (response) => {
      response.on("error", () => undefined)
      response.resume()
    })
    outgoing.end(body, () => setTimeout(() => outgoing.destroy(), afterMillis))
  })

/** Whether a reply contains the goods. */
export const isServed = ({ status, text }: Reply): boolean => status < 400 && text.includes("goods")
