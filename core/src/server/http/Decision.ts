/**
 * The facts of a request that a host gives to the gate, and the decision that the gate returns. Both are plain data, so
 * that a host adapter only translates: it fills a `GateRequest`, calls the gate, and acts on the `Decision`.
 */
import type * as Effect from "effect/Effect"

import type { ExecutionOutcome } from "../../facilitator/Facilitator.ts"
import type { Settlement } from "../../protocol/Settlement.ts"
import type { HeaderFields, ReadHeader } from "../../wire/pontage/Dialect.ts"
import type { GateResponse } from "./GateResponse.ts"
import type { KeptResponse } from "./KeptResponse.ts"
import type { StreamMeter } from "./StreamMeter.ts"
import type { BodyStream } from "./UnreadBody.ts"

/** A request in the form that the gate reads. */
export interface GateRequest {
  /** The method as sent: `GET`. HEAD is treated as GET. */
  readonly method: string
  /**
   * The request target of the public URL as sent, path and query: `/report?day=1`. Behind a mount point this is the
   * original URL, not the rest of it.
   */
  readonly target: string
  /**
   * Reads a header by its lower-case name. A repeated header must be an array: Node joins duplicates in `headers`, so
   * read them from `rawHeaders` (`RequestHeaders.fromRaw`).
   */
  readonly header: ReadHeader
  /** Headers for `getPrice` only. A getter is enough: it is read only when a price is computed. */
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
  /** Path parameters that the host's router found. */
  readonly params: Readonly<Record<string, string>>
  /**
   * The query as the host's own parser gives it to handlers, never parsed a second time: the price must be computed
   * from the same reading as the handler's. For `getPrice` only; a getter is enough.
   */
  readonly query: Readonly<Record<string, unknown>>
  /** The parsed body; `undefined` if the host has not parsed it. */
  readonly body: unknown
  /** Digest of the body, if the host has one: the payment is then good for this body only. */
  readonly bodyDigest?: string | undefined
  /**
   * The body's bytes or text, if the host's parser kept them. Used by `bind: "body"` only, as is `stream`: a getter is
   * enough.
   */
  readonly rawBody?: Uint8Array | string | undefined
  /** Node's request: an unread body is read from it and put back. */
  readonly stream?: BodyStream | undefined
  /**
   * The first bytes of the body, up to `maximumBytes`, where the host has no `stream`; the body stays unread. `undefined` if a
   * parser has read them; rejects if the body breaks off. Used by `bind: "body"`, and for a form that a person sends.
   */
  readonly copy?: ((maximumBytes: number) => Promise<Uint8Array | undefined>) | undefined
  /**
   * The path pattern by which the host's router found the handler, if one configuration may serve several. With the
   * route's name and the method it says which requests count as the same route.
   */
  readonly pattern?: string | undefined
  /**
   * Client address as the host knows it: the address of its connection, never a header's claim alone. Only a keyed
   * digest of it leaves the shop.
   */
  readonly clientAddress?: string | undefined
  /** The host's own request, passed to `getPrice`. */
  readonly native: unknown
}

/** The resource is free for this request (a price of exactly zero): run the handler, report nothing. */
export interface Free {
  readonly _tag: "Free"
}

/** Do not run the handler (or, after `SettleAfter.complete`, drop its output): send this response. */
export interface Refused {
  readonly _tag: "Refused"
  readonly response: GateResponse
}

/**
 * The money has moved and this request may run the handler, once. Set `headers` before it runs, lay them over again
 * when the response's head is written (no handler, error or middleware may make a paid response public), and report how
 * it ended.
 */
export interface Granted {
  readonly _tag: "Granted"
  readonly settlement: Settlement
  /** Receipt, caching and CORS headers of the paid response; apply them with `ResponseHeaders.over`. */
  readonly headers: HeaderFields
  /**
   * Present if the headers depend on the response's head (`headersOf`). A payment that the application refuses is good for another
   * request, so only what it has bought has a signed receipt; and the head says what a draw on a channel is charged.
   */
  readonly headersFor?: (status: number, header: ResponseHeader) => HeaderFields
  /** Present if the receipt depends on the response's head: the one in these headers. */
  readonly settlementFor?: (status: number, header: ResponseHeader) => Settlement
  /**
   * Reports the end: `served`, `refused` (status 400 to 499), `failed` (status 500 or above, or closed before it was
   * finished), `notRun` (the handler was never reached): see `outcomeOfStatus`. Only the first report counts. It never
   * fails; it completes when the facilitator knows the end or the retries (10 minutes) are used up, so a host need not
   * wait for it.
   */
  readonly finish: (outcome: ExecutionOutcome) => Effect.Effect<void>
  /**
   * Present if the execution ends with the head of its response: a lower status than this counts as delivered as soon as its head is
   * written, whatever becomes of the body: on Node the head may still wait in the server's buffer then. Nothing has moved for such an execution, so a payer that cuts the response off would have it for
   * nothing.
   */
  readonly endsAtHead?: 400 | 500
  /**
   * Present if the receipt covers the response (`receipt: "response"`), as on Node `SignedResponse` uses it: hold the response back
   * until its whole body is known, and lay these headers over `headers`. A response that is too long to be held leaves with `headers`,
   * whose receipt covers none.
   */
  readonly receipt?: (response: SoldResponse) => Effect.Effect<HeaderFields>
  /**
   * Present if the response is charged while it is sent (`metered`): its units are charged at its end, however that comes. On Node
   * `MeteredNodeResponse` joins it with the response, and `MeteredBody` on the web platform.
   */
  readonly meter?: StreamMeter
  /** Present if the route's responses come again (`repeat: "same"`) and this one may: see `ResponseSink`. */
  readonly sink?: ResponseSink
}

/** Reads a header of a response by its name. */
export type ResponseHeader = (name: string) => string | undefined

const noHeader: ResponseHeader = () => undefined

/** The gate's headers for a paid response with this head. */
export const headersOf = (
  { headers, headersFor }: Pick<Granted, "headers" | "headersFor">,
  status: number,
  header: ResponseHeader = noHeader
): HeaderFields => headersFor?.(status, header) ?? headers

/** A response that a receipt covers. */
export interface SoldResponse {
  readonly status: number
  readonly body: Uint8Array
  /** Its `Content-Encoding`: the payer sees the decoded body, so the receipt of an encoded one does not cover it. */
  readonly encoding: string | undefined
}

/**
 * Keeps the response of an execution for its payer. On Node `ResponseCapture` copies the response while it is written. A host
 * that reports `finish` beside it need not wait: the report of an end waits until the response is kept.
 */
export interface ResponseSink {
  /** Limit on the body in bytes; longer responses are not kept. */
  readonly maximumBytes: number
  /**
   * Keeps the whole response and ends the execution as served. Without effect for a response that is too long or not
   * served, and if the store fails; then `finish` ends the execution.
   */
  readonly keep: (response: KeptResponse) => Effect.Effect<void>
  /**
   * The client has disconnected while the handler still works: call it instead of `finish("failed")`. The execution ends
   * with the response, or as failed if no response is kept within 60 seconds.
   */
  readonly cut: Effect.Effect<void>
}

/** The payment's response from before, for its payer: send it as it is and run nothing. */
export interface Repeated {
  readonly _tag: "Repeated"
  readonly response: KeptResponse
}

/**
 * `settle: "after-handler"`: the payment is good and claimed, nothing is charged yet. Run the handler, hold its
 * response back, then call either `complete` with its status or `abandon`.
 */
export interface SettleAfter {
  readonly _tag: "SettleAfter"
  /**
   * Settles if `status` is below 400, or below 500 on a route that charges for refusals. `Granted`: release the
   * response with the receipt; `Uncharged`: release it unchanged, nothing was charged; `Refused`: send that response
   * instead.
   */
  readonly complete: (status: number) => Effect.Effect<Granted | Uncharged | Refused>
  /** The handler threw, was not reached, or its response cannot be held back: nothing is charged. As `Granted.finish`. */
  readonly abandon: (outcome: "failed" | "notRun") => Effect.Effect<void>
}

/** The handler's status was 400 or above in the after-handler order: nothing was charged. */
export interface Uncharged {
  readonly _tag: "Uncharged"
}

/** The decision on a request. */
export type Decision = Free | Refused | Repeated | Granted | SettleAfter

/**
 * The outcome of a paid execution by the status of its response: `served` below 400, `refused` below 500, `failed` from
 * there on. The host judges a response that was not sent to its end.
 */
export const outcomeOfStatus = (status: number): Exclude<ExecutionOutcome, "notRun"> => {
  if (status >= 500) return "failed"
  return status >= 400 ? "refused" : "served"
}
