/**
 * The answers a gate gives instead of the resource, complete with headers (apps/docs/protocol.md#refusal): never cached, and
 * readable by a page from another origin.
 */
import type * as Schema from "effect/Schema"

import type { PaymentRequirements } from "../../protocol/PaymentRequirements.ts"
import type { HeaderFields, SettleOrder } from "../../wire/pontage/Dialect.ts"
import type { Refusal } from "../../wire/pontage/Refusal.ts"
import * as SellerDialects from "../../wire/SellerDialects.ts"
import type { Answer } from "./Decision.ts"

/** What a page from another origin may read of our answers; sent when the request names its `Origin`. */
export const exposed = (dialects: SellerDialects.SellerDialects): HeaderFields => ({
  "Access-Control-Expose-Headers": dialects.exposed
})

const json: HeaderFields = { "Content-Type": "application/json", "Cache-Control": "no-store" }

/**
 * How a request is answered: in which dialects, when its resource is charged, and whether the request names its `Origin`.
 */
export interface Manner {
  readonly dialects: SellerDialects.SellerDialects
  readonly order: SettleOrder
  readonly crossOrigin: boolean
}

/** The answer for a refusal, as each payer gets it: given the token of one answer (`RetryToken`), that answer. */
export type Draft = (retryToken: string) => Answer

/** The answer for a refusal, with what would be accepted. */
export const drafted = (
  { crossOrigin, order, dialects }: Manner,
  refusal: Refusal,
  accepts: ReadonlyArray<PaymentRequirements>
): Draft => {
  const words = SellerDialects.refusal(dialects, { ...refusal.body, accepts }, order)
  const headers = {
    ...json,
    ...words.headers,
    ...(refusal.retryAfter === undefined ? {} : { "Retry-After": `${refusal.retryAfter}` }),
    ...(crossOrigin ? exposed(dialects) : {})
  }
  const answer: Answer = { status: refusal.status, headers, body: JSON.stringify(words.body) ?? "" }
  const { personal } = words
  if (personal === undefined) return () => answer
  return (retryToken) => {
    const own = personal(retryToken)
    return {
      status: refusal.status,
      headers: { ...headers, ...own.headers },
      body: own.body === undefined ? answer.body : JSON.stringify(own.body)
    }
  }
}

/** An answer of the gate's without offers: nothing was looked at that could be paid. */
export const plain = (status: number, body: Schema.Json): Answer => ({
  status,
  headers: json,
  body: JSON.stringify(body)
})

/** The answer to a request target that parsers read in different ways. */
export const ambiguousTarget: Answer = {
  status: 400,
  headers: json,
  body: JSON.stringify({
    error: 'This resource is sold: send its request target without "#" and with a single "?" before the query.'
  })
}

/** The answer for a refusal that offers nothing. */
export const refused = (manner: Manner, refusal: Refusal): Answer => drafted(manner, refusal, [])("")

/** The answer to a path that means different routes to different readers. */
export const ambiguousPath: Answer = {
  status: 400,
  headers: json,
  body: JSON.stringify({ error: "This path can be read as more than one priced resource; send it in its plain form." })
}

/**
 * The answer to OPTIONS on a sold path: which methods there are, and no handler is run. A CORS preflight belongs to the
 * application's CORS middleware, which stands before the gate.
 */
export const preflight = (methods: ReadonlyArray<string>): Answer => {
  const allowed = new Set(methods.flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method])))
  const headers: HeaderFields = { "Cache-Control": "no-store" }
  return {
    status: 204,
    headers: allowed.size === 0 ? headers : { ...headers, Allow: [...allowed, "OPTIONS"].join(", ") },
    body: ""
  }
}
