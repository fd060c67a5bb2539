/**
 * What a host tells the gate about a request, and what the gate tells the host to do with it. Both are plain data, so that
 * a host adapter only translates: it fills a `GateRequest`, asks, and acts on the `Decision`.
 */
import type * as Effect from "effect/Effect"

import type { ExecutionOutcome } from "../../facilitator/Facilitator.ts"
import type { Settlement } from "../../protocol/Settlement.ts"
import type { HeaderFields, ReadHeader } from "../../wire/pontage/Dialect.ts"
import type { BodyStream } from "./UnreadBody.ts"

/** A request as the gate needs to see it. */
export interface GateRequest {
  /** As it came: `GET`. HEAD is treated as GET. */
  readonly method: string
  /**
   * The request target of the public URL as it came, path and query: `/report?day=1`. Behind a mount point this is the
   * original URL, not the rest of it.
   */
  readonly target: string
  /**
   * A header by lower-case name. A header that came twice must come as an array: node joins duplicates in `headers`, so
   * read them from `rawHeaders` (`RequestHeaders.fromRaw`).
   */
  readonly header: ReadHeader
  /** Only for `getPrice`. A getter will do: it is read only when a price is computed. */
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
  /** The path parameters the host's router found. */
  readonly params: Readonly<Record<string, string>>
  /**
   * The query as the host's own parser gives it to handlers, never parsed a second time: a price must not be computed from
   * another reading than the handler's. Only for `getPrice`; a getter will do.
   */
  readonly query: Readonly<Record<string, unknown>>
  /** Only where the host has parsed it; else `undefined`. */
  readonly body: unknown
  /** Digest of the body, where the host has one: the payment is then good for this body only. */
  readonly bodyDigest?: string | undefined
  /**
   * The body's bytes, or their text, where the host's parser has kept them. Only for `bind: "body"`, as is `stream`: a getter
   * will do.
   */
  readonly rawBody?: Uint8Array | string | undefined
  /** Node's request: a body that nobody has read is read from it and put back. */
  readonly stream?: BodyStream | undefined
  /**
   * The pattern of the path by which the host's router has found the handler, where one configuration may stand at several.
   * With the route's name and the method it says what counts as the same route.
   */
  readonly pattern?: string | undefined
  /**
   * Where the request comes from, as the host knows it: the address of its connection, never what a header says by itself.
   * Only a keyed digest of it leaves the shop.
   */
  readonly clientAddress?: string | undefined
  /** The host's own request, handed to `getPrice`. */
  readonly native: unknown
}

/**
 * A complete answer the host has to send instead of running the handler. Lay the headers over those that are set already
 * with `ResponseHeaders.over`, and once more when they are written (on Node `ResponseSeal.seal`).
 */
export interface Answer {
  readonly status: number
  readonly headers: HeaderFields
  /** JSON text, or empty. */
  readonly body: string
}

/** The resource costs nothing for this request (a price of exactly zero): run the handler, nothing to report. */
export interface Free {
  readonly _tag: "Free"
}

/** Do not run the handler (or, after `SettleAfter.complete`, drop what it produced): send this. */
export interface Refused {
  readonly _tag: "Refused"
  readonly answer: Answer
}

/**
 * The money has moved and this request may run the handler, once. Set `headers` before it runs, lay them over once more
 * when the response's head is written (no handler, error or middleware must make a paid answer public), and report how it
 * ended.
 */
export interface Granted {
  readonly _tag: "Granted"
  readonly settlement: Settlement
  /** Receipt, caching and CORS headers of the paid answer; apply with `ResponseHeaders.over`. */
  readonly headers: HeaderFields
  /**
   * Reports the end: `served`, `refused` (status 400 to 499), `failed` (status 500 or above, or closed before it was
   * finished), `notRun` (the handler was never reached): see `RunOutcome.ofStatus`. The first report counts, later ones do
   * nothing. It never fails; it completes when the facilitator knows or the retries (10 minutes) are used up, so a host need not
   * wait for it.
   */
  readonly finish: (outcome: ExecutionOutcome) => Effect.Effect<void>
}

/**
 * `settle: "after-handler"`: the payment is good and claimed, nothing is charged yet. Run the handler, hold its response
 * back, and then either `complete` with its status or `abandon`.
 */
export interface SettleAfter {
  readonly _tag: "SettleAfter"
  /**
   * Settles when `status` is below 400, or below 500 on a route that charges for what it refuses. `Granted`: release the
   * response with the receipt; `Uncharged`: release it as it is, nothing was charged; `Refused`: send that in its place.
   */
  readonly complete: (status: number) => Effect.Effect<Granted | Uncharged | Refused>
  /** The handler threw, was not reached, or its response cannot be held back: nothing is charged. As `Granted.finish`. */
  readonly abandon: (outcome: "failed" | "notRun") => Effect.Effect<void>
}

/** The handler answered 400 or above in the after-handler order: nothing was charged. */
export interface Uncharged {
  readonly _tag: "Uncharged"
}

/** What to do with a request. */
export type Decision = Free | Refused | Granted | SettleAfter
