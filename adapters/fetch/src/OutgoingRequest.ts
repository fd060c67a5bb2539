/** One call of `fetch`: the first request, exactly as the caller wrote it, and the paid repetition. */
import { NoResponse, type PayableRequest } from "@pontage/core"
import * as PaymentClient from "@pontage/core/PaymentClient"
import * as Effect from "effect/Effect"

import * as RepeatableBody from "./RepeatableBody.ts"

/** A function that is called like `fetch`. */
export type FetchFunction = (input: RequestInfo | URL, init?: RequestInit) => Promise<Response>

/** A call that can be sent and repeated. */
export interface OutgoingRequest {
  readonly method: string
  /** The absolute URL. Throws for one that `fetch` rejects. */
  readonly url: () => string
  /** The caller's headers as they were at the call. */
  readonly headers: Headers
  readonly signal: AbortSignal | undefined
  /** Sends the caller's request, at once if the body allows it. */
  readonly sendUnpaid: () => Promise<Response>
  /** The same request for the paying client, once `sendUnpaid` has a response. */
  readonly payable: () => Promise<PayableRequest>
  /** The bought response as the caller gets it: a redirect is followed, without the payment, if the caller's mode says so. */
  readonly received: (buying: Promise<Response>) => Promise<Response>
}

/**
 * Prepares a call from its current values: like `fetch`, it ignores later changes by the caller. Throws as `fetch`
 * rejects for an invalid request.
 */
export const make = (
  fetch: FetchFunction,
  input: RequestInfo | URL,
  given: RequestInit | null | undefined,
  maxBodyBytes: number
): OutgoingRequest => {
  const init = rereadable(given ?? {})
  const request = isRequest(input) ? input : undefined
  const url = isRequest(input) ? input.url : input
  const method = init.method ?? request?.method ?? "GET"
  const headers = new Headers(init.headers ?? request?.headers)
  const signal = signalOf(input, init)
  const fields: RequestInit = { ...(request === undefined ? {} : fieldsOf(request)), ...givenOf(init), method, headers }
  // Like `fetch`: null takes no body away from a `Request`.
  const body = init.body ?? unreadOf(request)
  const repeatable = RepeatableBody.fromBody(body, maxBodyBytes, signal)
  const sendRead = async (body: Promise<RepeatableBody.RepeatableBody>) => fetch(input, withBody(fields, await body))
  const href = () => new URL(url, globalThis.location?.href).href
  let sent: AbortController | undefined
  // A `Request` may have what no field shows, such as its dispatcher in Node, and only `fetch` itself takes it along.
  const addressed = (target: string) => (request?.url.replace(/#.*/, "") === target ? request : target)
  return {
    method,
    url: href,
    headers,
    signal,
    sendUnpaid: () => (repeatable instanceof Promise ? sendRead(repeatable) : fetch(input, init)),
    payable: async () => {
      const again = withBody(fields, await repeatable)
      const sending =
        (init: (stopped: AbortSignal) => RequestInit) => (target: string, added: Readonly<Record<string, string>>) =>
          Effect.tryPromise({
            try: async (stopped) => {
              const headers = withAdded(again.headers, added)
              const response = await fetch(addressed(target), { ...init(stopped), headers, redirect: "manual" })
              // A browser hides it from its pages.
              if (response.type === "opaqueredirect") throw new TypeError("the payment was answered by a redirect")
              return response
            },
            catch: (cause) => new NoResponse({ cause })
          })
      return {
        method,
        url: href(),
        uses: (header) => again.headers.has(header),
        body: Effect.promise(() => RepeatableBody.contentOf(again.body ?? null, again.headers.get("content-type"))),
        // The caller's signal stops a response that has not come. One that has come is paid for, and is broken off only once the caller has it.
        send: sending((stopped) => {
          const own = (sent = new AbortController())
          stopped.addEventListener("abort", () => own.abort(signal?.reason))
          return { ...again, signal: own.signal }
        }),
        // The end of the stream stops it, and the caller's signal ends the stream. A body of null would be the `Request`'s own.
        post: sending((signal) => ({ ...again, method: "POST", body: new Uint8Array(), signal }))
      }
    },
    received: async (buying) => {
      try {
        const response = await buying
        if (signal?.aborted === false && sent !== undefined) breakOff(response, signal, sent)
        const isFollowed = (fields.redirect ?? "follow") === "follow" && PaymentClient.isRedirect(response.status)
        return isFollowed
          ? await followed(fetch, withBody(fields, await repeatable), response, href())
          : PaymentClient.watched(response)
      } catch (error) {
        sent?.abort(error)
        throw error
      }
    }
  }
}

/** Ends the waits for a signal when the body that it would break off is gone. */
const bodies = /* @__PURE__ */ new FinalizationRegistry<() => void>((forget) => forget())

/** Breaks the body of a response off with the caller's signal, as `fetch` does. */
const breakOff = ({ body }: Response, signal: AbortSignal, sent: AbortController): void => {
  if (body === null) return
  const abort = () => sent.abort(signal.reason)
  signal.addEventListener("abort", abort, { once: true })
  bodies.register(body, () => signal.removeEventListener("abort", abort))
}

/** Headers of a body, which a GET that replaces a POST leaves out, and those that are for one origin. */
const bodyHeaders = ["content-encoding", "content-language", "content-length", "content-location", "content-type"]
const originHeaders = ["authorization", "cookie", "proxy-authorization"]

/**
 * The response that a bought redirect leads to, by the rules of `fetch` and without the payment. It is the redirect itself if it cannot be
 * followed, or nothing comes: it is paid for, and the caller can follow it later.
 */
const followed = async (
  fetch: FetchFunction,
  again: RequestInit & { readonly headers: Headers },
  bought: Response,
  url: string
): Promise<Response> => {
  try {
    const from = bought.url || url
    const to = new URL(bought.headers.get("location") ?? "data:", from)
    if (!/^https?:$/.test(to.protocol)) return bought
    const headers = new Headers(again.headers)
    const isPost = /^post$/i.test(again.method ?? "")
    const isGet = bought.status === 303 ? again.method !== "HEAD" : isPost && bought.status < 303
    if (isGet) for (const name of bodyHeaders) headers.delete(name)
    if (to.origin !== new URL(from).origin) for (const name of originHeaders) headers.delete(name)
    const response = await fetch(to.href, { ...again, headers, ...(isGet && { method: "GET", body: null }) })
    Object.defineProperty(response, "redirected", { value: true })
    void bought.body?.cancel().catch(() => undefined)
    return PaymentClient.standIn(bought, response)
  } catch {
    return bought
  }
}

/** The options with headers that can be read twice, which those of an iterator cannot. */
const rereadable = (init: RequestInit): RequestInit =>
  "next" in Object(init.headers) ? { ...init, headers: new Headers(init.headers) } : init

/** The options that are given: to `fetch`, `undefined` is none. */
const givenOf = (init: RequestInit): RequestInit =>
  Object.fromEntries(Object.entries(init).filter(([, value]) => value !== undefined))

/** The body of a `Request`. Throws, as `fetch` does, for one that is read already: a part of it or nothing would be paid for. */
const unreadOf = (request: Request | undefined) => {
  const body = request?.body
  if (request?.bodyUsed !== true && body?.locked !== true) return body
  throw new TypeError("the Request's body has been read: make a Request for each call, or give a clone of it")
}

const withBody = (fields: RequestInit, { body, contentType }: RepeatableBody.RepeatableBody) => {
  const headers = new Headers(fields.headers)
  if (contentType !== undefined && !headers.has("content-type")) headers.set("content-type", contentType)
  return { ...fields, headers, body }
}

/** The caller's signal. */
export const signalOf = (input: RequestInfo | URL, init: RequestInit): AbortSignal | undefined =>
  (init.signal === undefined && isRequest(input) ? input.signal : init.signal) ?? undefined

const isRequest = (input: RequestInfo | URL): input is Request => typeof input === "object" && "clone" in input

const withAdded = (headers: Headers, added: Readonly<Record<string, string>>): Headers => {
  const all = new Headers(headers)
  for (const [name, value] of Object.entries(added)) all.set(name, value)
  return all
}

/** A `Request` as the options that would make it again; its own body can be read only once. */
const fieldsOf = (request: Request): RequestInit => {
  const { cache, credentials, integrity, keepalive, mode, redirect, referrer, referrerPolicy, signal } = request
  return { cache, credentials, integrity, keepalive, mode, redirect, referrer, referrerPolicy, signal }
}
