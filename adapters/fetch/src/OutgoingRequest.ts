/**
 * One call of `fetch` taken apart: what is sent first, exactly as the caller wrote it, and what the paid request repeats.
 */
import { NoAnswer, type PayableRequest } from "@pontage/core"
import * as Effect from "effect/Effect"

import * as RepeatableBody from "./RepeatableBody.ts"

/**
 * A function that is called like `fetch`.
 *
 * @category models
 */
export type FetchFunction = (input: RequestInfo | URL, init?: RequestInit) => Promise<Response>

/**
 * A call, ready to be sent and to be repeated.
 *
 * @category models
 */
export interface OutgoingRequest {
  readonly method: string
  /** The caller's headers as they were at the call. */
  readonly headers: Headers
  readonly signal: AbortSignal | undefined
  /** Sends what the caller asked for. */
  readonly sendUnpaid: () => Promise<Response>
  /** The same request for the paying client; only after `sendUnpaid` was answered. */
  readonly payable: () => PayableRequest
}

/**
 * Takes a call apart. Rejects as `fetch` does for what is no request, and with `PaymentDeclined` for a body that is a
 * stream beyond the limit.
 *
 * @category constructors
 */
export const make = async (
  fetch: FetchFunction,
  input: RequestInfo | URL,
  init: RequestInit,
  maxBodyBytes: number
): Promise<OutgoingRequest> => {
  const request = isRequest(input) ? input : undefined
  const method = init.method ?? request?.method ?? "GET"
  const headers = new Headers(init.headers ?? request?.headers)
  const signal = (init.signal === undefined ? request?.signal : init.signal) ?? undefined
  const given = init.body === undefined ? request?.body : init.body
  const { body, contentType, replaces } = await RepeatableBody.fromBody(given, maxBodyBytes, signal)
  if (contentType !== undefined && !headers.has("content-type")) headers.set("content-type", contentType)
  const fields: RequestInit = { ...(request === undefined ? {} : fieldsOf(request)), ...init, method, body }
  const url = () => new URL(isRequest(input) ? input.url : input, globalThis.location?.href).href
  return {
    method,
    headers,
    signal,
    sendUnpaid: () => (replaces ? fetch(request?.url ?? input, { ...fields, headers }) : fetch(input, init)),
    payable: () => ({
      method,
      url: url(),
      body: Effect.promise(() => RepeatableBody.contentOf(body, headers.get("content-type"))),
      send: (target, added) =>
        Effect.tryPromise({
          try: () => fetch(target, { ...fields, headers: withAdded(headers, added), redirect: "error" }),
          catch: (cause) => new NoAnswer({ cause })
        })
    })
  }
}

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
