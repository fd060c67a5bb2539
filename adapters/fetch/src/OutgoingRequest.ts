/** One call of `fetch`: the first request, exactly as the caller wrote it, and the paid repetition. */
import { NoResponse, type PayableRequest } from "@pontage/core"
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
            try: (stopped) =>
              fetch(addressed(target), {
                ...init(stopped),
                headers: withAdded(again.headers, added),
                redirect: "error"
              }),
            catch: (cause) => new NoResponse({ cause })
          })
      return {
        method,
        url: href(),
        uses: (header) => again.headers.has(header),
        body: Effect.promise(() => RepeatableBody.contentOf(again.body ?? null, again.headers.get("content-type"))),
        send: sending(() => again),
        // The end of the stream stops it, and the caller's signal ends the stream. A body of null would be the `Request`'s own.
        post: sending((signal) => ({ ...again, method: "POST", body: new Uint8Array(), signal }))
      }
    }
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
