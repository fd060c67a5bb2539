/**
 * What the answer to a paid request means for the payment: answered, refused, or not known yet. Only the server's own
 * clear word is a refusal; silence, a broken connection and every "come back later" leave the outcome unknown.
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"

import { PaymentError } from "../protocol/PaymentError.ts"
import type { PaymentRequired } from "../protocol/PaymentRequired.ts"
import { isDead, type PaymentState, type Settlement } from "../protocol/Settlement.ts"
import { invalid, type ValidationError } from "../protocol/ValidationError.ts"
import * as AsciiJson from "../wire/AsciiJson.ts"
import type { Dialect } from "../wire/Dialect.ts"
import type { JournalEntry } from "./JournalEntry.ts"
import { PaymentRefused } from "./PaymentRefused.ts"
import * as RefusalBody from "./RefusalBody.ts"

/**
 * The transport had no answer: no connection, a reset, a timeout, a redirect where none is followed.
 *
 * @category errors
 */
export class NoAnswer extends Data.TaggedError("NoAnswer")<{ readonly cause: unknown }> {}

/**
 * What a server's no is reported as.
 *
 * @category errors
 */
export type Refusal = PaymentError | ValidationError | PaymentRefused

/**
 * The three meanings.
 *
 * @category models
 */
export type PaidAnswer = Answered | { readonly _tag: "Refused"; readonly error: Refusal } | Unknown

/**
 * An answer that is no refusal.
 *
 * @category models
 */
export interface Answered {
  readonly _tag: "Answered"
  readonly response: Response
  /** There when the server says that the money has moved, and the receipt is of this payment. */
  readonly receipt: Settlement | undefined
}

/**
 * No one knows yet.
 *
 * @category models
 */
export interface Unknown {
  readonly _tag: "Unknown"
  /** The state of the payment, if the server named one. */
  readonly status: PaymentState | undefined
  /** In seconds. */
  readonly retryAfter: number | undefined
  /** What came, for messages. */
  readonly said: string
}

/**
 * The meaning of having no answer.
 *
 * @category constructors
 */
export const fromNoAnswer = ({ cause }: NoAnswer): Unknown => ({
  _tag: "Unknown",
  status: undefined,
  retryAfter: undefined,
  said: `no answer: ${cause instanceof Error ? cause.message : String(cause)}`
})

/**
 * The meaning of an answer. It reads the body only of a refusal.
 *
 * @category constructors
 */
export const fromResponse = (dialect: Dialect, entry: JournalEntry, response: Response): Effect.Effect<PaidAnswer> => {
  const header = (name: string) => response.headers.get(name)
  if (!dialect.isRefusal(response.status, header)) {
    const receipt = dialect.readReceipt(header)
    const ours = receipt?.network === entry.network && receipt.amount === entry.amount
    return Effect.succeed({ _tag: "Answered", response, receipt: ours ? receipt : undefined })
  }
  return RefusalBody.read(dialect, response).pipe(
    Effect.map((body) => fromRefusal(entry, response, body)),
    Effect.catch((error) => Effect.succeed(fromUnreadable(entry, response, error)))
  )
}

const fromRefusal = (entry: JournalEntry, response: Response, body: PaymentRequired): PaidAnswer => {
  const unknown = unknownOf(response, body.error, body.paymentState)
  if (body.retry === "same_payment" || body.retry === "wait") return unknown
  const refused = { _tag: "Refused", error: errorOf(entry, body) } as const
  switch (response.status) {
    case 402:
      return body.paymentState === undefined || isDead(body.paymentState) ? refused : unknown
    case 409:
      return body.retry === undefined && body.reason === undefined ? unknown : refused
    default:
      return unknown
  }
}

const errorOf = (
  { host, paymentId = "" }: JournalEntry,
  { code, detail = "", error, reason }: PaymentRequired
): Refusal => {
  const message = `${host} refused payment ${paymentId}: ${quoted(error)}`
  if (code !== undefined) return new PaymentError({ code, detail, message })
  if (reason !== undefined) return invalid(reason, detail, message)
  return new PaymentRefused({ paymentId, message })
}

const fromUnreadable = (entry: JournalEntry, response: Response, error: ValidationError): PaidAnswer =>
  response.status === 402
    ? { _tag: "Refused", error: errorOf(entry, { error: error.message, accepts: [] }) }
    : unknownOf(response, error.message, undefined)

const unknownOf = (response: Response, error: string, status: PaymentState | undefined): Unknown => ({
  _tag: "Unknown",
  status,
  retryAfter: secondsOf(response.headers.get("retry-after")),
  said: `${response.status} ${quoted(error)}`
})

/** A `Retry-After` in seconds; the form with a date is left to the sender's own schedule. */
const secondsOf = (text: string | null): number | undefined =>
  text !== null && /^\d{1,9}$/.test(text) ? Number.parseInt(text, 10) : undefined

/** A stranger's words: short, and without characters that a terminal would obey. */
const quoted = (text: string): string => AsciiJson.encode(text.slice(0, 300))
