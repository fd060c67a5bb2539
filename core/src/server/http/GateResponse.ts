/**
 * The responses that a gate gives instead of the resource, complete with headers (apps/docs/protocol.md#refusal): never
 * cached, and readable by a page from another origin.
 */
import type * as Schema from "effect/Schema"

import type { PaymentRequirements } from "../../protocol/PaymentRequirements.ts"
import type { HeaderFields, OfferTerms, SettleOrder } from "../../wire/pontage/Dialect.ts"
import type { Refusal } from "../../wire/pontage/Refusal.ts"
import * as SellerDialects from "../../wire/SellerDialects.ts"

/**
 * A complete response that the host sends instead of running the handler. Lay the headers over those that are already
 * set with `ResponseHeaders.over`, and once more when they are written (on Node `ResponseSeal.seal`).
 */
export interface GateResponse {
  readonly status: number
  readonly headers: HeaderFields
  /** JSON text, or empty; HTML or a script where the shop has a page for people. */
  readonly body: string
}

/** Headers that let a page from another origin read our responses; sent if the request names its `Origin`. */
export const exposed = (dialects: SellerDialects.SellerDialects): HeaderFields => ({
  "Access-Control-Expose-Headers": dialects.exposed
})

const json: HeaderFields = { "Content-Type": "application/json", "Cache-Control": "no-store" }

/** The manner of a response: its dialects, when its resource is charged, and whether the request names its `Origin`. */
export interface Manner {
  readonly dialects: SellerDialects.SellerDialects
  readonly order: SettleOrder
  readonly crossOrigin: boolean
  readonly terms?: OfferTerms
}

/**
 * The response for a refusal as each payer gets it: a function from the token of one response (`RetryToken`) and its time
 * (Unix milliseconds) to that response.
 */
export type Draft = (retryToken: string, now: number) => GateResponse

/** The response for a refusal, with the accepted payments. */
export const drafted = (
  { crossOrigin, order, dialects, terms }: Manner,
  refusal: Refusal,
  accepts: ReadonlyArray<PaymentRequirements>
): Draft => {
  const message = SellerDialects.refusal(dialects, { ...refusal.body, accepts }, order, {
    ...terms,
    status: refusal.status
  })
  const headers = {
    ...json,
    ...(message.contentType !== undefined && { "Content-Type": message.contentType }),
    ...message.headers,
    ...(refusal.retryAfter === undefined ? {} : { "Retry-After": `${refusal.retryAfter}` }),
    ...(crossOrigin ? exposed(dialects) : {})
  }
  const response: GateResponse = { status: refusal.status, headers, body: JSON.stringify(message.body) ?? "" }
  const { personal } = message
  if (personal === undefined) return () => response
  return (retryToken, now) => {
    const own = personal(retryToken, now)
    return {
      status: refusal.status,
      headers: { ...headers, ...own.headers },
      body: own.body === undefined ? response.body : JSON.stringify(own.body)
    }
  }
}

/** A response without offers, given before any payment is looked at. */
export const plain = (status: number, body: Schema.Json): GateResponse => ({
  status,
  headers: json,
  body: JSON.stringify(body)
})

/** The response to a request target that parsers read in different ways. */
export const ambiguousTarget: GateResponse = {
  status: 400,
  headers: json,
  body: JSON.stringify({
    error: 'This resource is sold: send its request target without "#" and with a single "?" before the query.'
  })
}

/** The response for a refusal without offers. */
export const refused = (manner: Manner, refusal: Refusal): GateResponse => drafted(manner, refusal, [])("", 0)

/** The response to a path that different readers assign to different routes. */
export const ambiguousPath: GateResponse = {
  status: 400,
  headers: json,
  body: JSON.stringify({ error: "This path can be read as more than one priced resource; send it in its plain form." })
}

/**
 * The response to OPTIONS on a sold path: its methods; no handler runs. A CORS preflight belongs to the application's
 * CORS middleware, which stands before the gate.
 */
export const preflight = (methods: ReadonlyArray<string>): GateResponse => {
  const allowed = new Set(methods.flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method])))
  const headers: HeaderFields = { "Cache-Control": "no-store" }
  return {
    status: 204,
    headers: allowed.size === 0 ? headers : { ...headers, Allow: [...allowed, "OPTIONS"].join(", ") },
    body: ""
  }
}
