/**
 * A request as the paying client sees it: its name, the function that sends it, and whether its refusal may be paid.
 */
import * as Effect from "effect/Effect"
import * as Base64Url from "effect/encoding/Base64Url"
import * as Result from "effect/Result"

import { Hash } from "../platform/Hash.ts"
import type { HeaderFields, PaymentTerms } from "../wire/pontage/Dialect.ts"
import { decline, type PaymentDeclined } from "./PaymentDeclined.ts"
import type { NoResponse } from "./PurchaseResponse.ts"

/** The head of a request. */
export interface RequestHead {
  readonly method: string
  /** Absolute URL, as the caller gave it. */
  readonly url: string
  /** Whether the request itself has this header, which no payment replaces; absent if it has none. */
  readonly uses?: (header: string) => boolean
}

/** A request that can be sent more than once. */
export interface PayableRequest extends RequestHead {
  /** The body's content, to tell requests apart: the same content gives the same bytes. Empty without a body. */
  readonly body: Effect.Effect<Uint8Array>
  /** Sends the request to `url` with these headers added. It must not follow redirects: one may be what is sold. */
  readonly send: (url: string, headers: HeaderFields) => Effect.Effect<Response, NoResponse>
  /**
   * Posts the request's headers and these to `url`, without a body. It must not follow redirects. A metered stream is followed with
   * it; absent, it ends with its first window.
   */
  readonly post?: (url: string, headers: HeaderFields) => Effect.Effect<Response, NoResponse>
  /** Called with the response that the purchase ends with, once it is in the books: an interruption afterwards takes nothing back. */
  readonly booked?: (response: Response) => void
}

const text = new TextEncoder()

/**
 * The name of a logical request: `sha256(METHOD \n URL \n sha256(body))`, base64url. A repetition of the same call has the
 * same name.
 */
export const nameOf = Effect.fnUntraced(function* ({ body, method, url }: PayableRequest) {
  const hash = yield* Hash
  const digest = Base64Url.encode(yield* hash.sha256(yield* body))
  const name = yield* hash.sha256(text.encode(`${method.toUpperCase()}\n${withoutFragment(url).href}\n${digest}`))
  return Base64Url.encode(name)
})

const withoutFragment = (url: string): URL => {
  const plain = new URL(url)
  if (url.includes("#")) plain.hash = ""
  return plain
}

/**
 * The URL of the paid request: the URL that the refusal came from, if it has the origin of the request. A refusal after
 * a redirect to another origin is not paid, nor one of a redirected request with a body, because it is unknown whether
 * the body was still wanted.
 */
export const targetOf = (
  { method, url }: RequestHead,
  refusal: Pick<Response, "url" | "redirected">
): Result.Result<URL, PaymentDeclined> => {
  const requested = withoutFragment(url)
  const target = refusal.url === "" ? requested : withoutFragment(refusal.url)
  if (target.origin !== requested.origin) {
    const message = `${requested.origin} redirected to ${target.origin}, which asks for a payment; no payment is made across origins: ask ${target.origin} directly if you trust it`
    return Result.fail(decline("cross_origin", message))
  }
  if (refusal.redirected && !/^(GET|HEAD)$/i.test(method)) {
    const message = `${method} ${requested.href} was redirected to ${target.href}, which asks for a payment; a redirected ${method} is not paid: send it to that URL directly`
    return Result.fail(decline("method_redirected", message))
  }
  return Result.succeed(target)
}

/** The reason why a payment in the header of these terms cannot be added to the request. */
export const objection = ({ uses, url }: RequestHead, { header }: PaymentTerms): PaymentDeclined | undefined => {
  if (uses?.(header) !== true) return undefined
  const message = `${new URL(url).host} wants the payment in the header ${header}, which the request uses itself; a shop that sells to such requests names the header Payment-Authorization`
  return decline("terms_unsupported", message)
}
