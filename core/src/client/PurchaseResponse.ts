/**
 * The meaning of the response to a paid request for the payment: not refused, refused, or unknown. Only the server's own
 * clear refusal counts as one; silence, a broken connection and every "come back later" leave the outcome unknown.
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import { PaymentError } from "../protocol/PaymentError.ts"
import type { PaymentRequired } from "../protocol/PaymentRequired.ts"
import { type IfRefused, isDead, type PaymentState, type Receipt, type Settlement } from "../protocol/Settlement.ts"
import { invalid, type ValidationError } from "../protocol/ValidationError.ts"
import * as AsciiJson from "../wire/http/AsciiJson.ts"
import * as PayerDialects from "../wire/PayerDialects.ts"
import type { PayerDialect } from "../wire/pontage/Dialect.ts"
import type { PurchaseReceipt } from "../wire/pontage/PurchaseReceipt.ts"
import type { JournalEntry } from "./JournalEntry.ts"
import * as ReceiptFit from "./ReceiptFit.ts"
import * as RefusalBody from "./RefusalBody.ts"

/** The transport returned no response: no connection, a reset, a timeout, a redirect that is not followed. */
export class NoResponse extends Data.TaggedError("NoResponse")<{ readonly cause: unknown }> {}

/**
 * The server received the payment and refused it without one of the five codes or a reason, as a server that knows only
 * `error` and `accepts` does. `message` contains the server's text; `paymentId` names the authorization, which the journal
 * keeps and sends again until it expires.
 */
export class PaymentRefused extends Data.TaggedError("PaymentRefused")<{
  readonly paymentId: string
  readonly message: string
}> {}

/** The error that reports a server's refusal. */
export type RefusalError = PaymentError | ValidationError | PaymentRefused

/** One of the three meanings. */
export type PurchaseResponse = NotRefused | Refused | Unknown

/** A response that does not refuse the payment; its body is unread. */
export interface NotRefused {
  readonly _tag: "NotRefused"
  readonly response: Response
  /** Present if the server says that the money has moved, and the receipt is for this payment. */
  readonly receipt: Settlement | undefined
  /** The signed receipt, if its fields are those of this purchase. */
  readonly signed: PurchaseReceipt | undefined
  /** The payment's remaining use if the status is 400 to 499, from the same receipt. */
  readonly ifRefused: IfRefused | undefined
  /** The scheme's own facts, from the same receipt. */
  readonly extra: Receipt["extra"]
}

/** The server's clear refusal. */
export interface Refused {
  readonly _tag: "Refused"
  readonly error: RefusalError
  /** The refusal as it came, if it could be read. */
  readonly required: PaymentRequired | undefined
}

/** The outcome is unknown. */
export interface Unknown {
  readonly _tag: "Unknown"
  /** The state of the payment, if the server named one. */
  readonly status: PaymentState | undefined
  /** Seconds until a repeat makes sense, if the server named them. */
  readonly retryAfter: number | undefined
  /** A summary of the response, for messages. */
  readonly said: string
}

/** The meaning of a missing response. */
export const fromNoResponse = ({ cause }: NoResponse): Unknown => ({
  _tag: "Unknown",
  status: undefined,
  retryAfter: undefined,
  said: `no response: ${cause instanceof Error ? cause.message : String(cause)}`
})

const receipts = new WeakMap<Response, Settlement>()
const signedReceipts = new WeakMap<Response, PurchaseReceipt>()

/**
 * The signed receipt of a response that was paid for here, if its fields are those of the purchase. Its signature is not verified:
 * compare its signer with the address that the shop publishes.
 */
export const signedReceiptOf = (response: Response): PurchaseReceipt | undefined => signedReceipts.get(response)

/** Responses that were paid for here. */
const paid = new WeakSet<Response>()

/** Whether a response was paid for here: its receipt is `settlementOf` then, and another one on it is of another purchase. */
export const isPaid = (response: Response): boolean => paid.has(response)

/** The receipt of a response that was paid for here. */
export const settlementOf = (response: Response): Settlement | undefined => receipts.get(response)

/** Notes the receipt of a response that was paid for in another way than by its whole amount. */
export const noteReceipt = (response: Response, receipt: Settlement): void => void receipts.set(response, receipt)

/** The same paid response with another body. */
export const withBody = (response: Response, body: ReadableStream<Uint8Array>): Response => {
  const { headers, status, statusText, redirected, type, url } = response
  const made = new Response(body, { status, statusText, headers })
  Object.defineProperties(made, { url: { value: url }, redirected: { value: redirected }, type: { value: type } })
  return standIn(response, made)
}

/** Notes that a response is handed out in the place of one that was paid for, with its receipt. */
export const standIn = (response: Response, made: Response): Response => {
  const [receipt, signed] = [receipts.get(response), signedReceipts.get(response)]
  if (receipt !== undefined) receipts.set(made, receipt)
  if (signed !== undefined) signedReceipts.set(made, signed)
  paid.add(made)
  return made
}

const breaks = new WeakMap<Response, () => Promise<unknown>>()

/** Notes what is to be done if the body of a response breaks off. */
export const onBreak = (response: Response, act: () => Promise<unknown>): void => void breaks.set(response, act)

/**
 * A response whose body is watched: if it breaks off while it is read, its payment is sent again by the next call, and the reader gets
 * its error when the journal has that. A body is not watched that has no use of it, or is of a class that is not the platform's.
 */
export const watched = (response: Response): Response => {
  const given: unknown = response.body
  if (!breaks.has(response) || !(given instanceof ReadableStream)) return response
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined
  const reading = () => (reader ??= given.getReader())
  const body = new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        // It refers to the response itself: Node ends the connection of an unread one that is gone, unless it has a reader.
        const { done, value } = await reading()
          .read()
          .catch(async (error: unknown) => {
            await breaks.get(response)?.()
            throw error
          })
        if (done) controller.close()
        else controller.enqueue(value)
      },
      cancel: (reason) => reading().cancel(reason)
    },
    { highWaterMark: 0 }
  )
  return withBody(response, body)
}

/** Whether a status is one of those that `fetch` follows. */
export const isRedirect = (status: number): boolean => [301, 302, 303, 307, 308].includes(status)

/** The meaning of a response in these dialects. It reads the body only of a refusal. */
export const fromResponse = Effect.fnUntraced(function* (
  understood: ReadonlyArray<PayerDialect>,
  entry: JournalEntry,
  response: Response
): Effect.fn.Return<PurchaseResponse> {
  const dialects = PayerDialects.ofPayment(understood, entry.headers ?? {})
  const receipt = receiptOn(dialects, entry, response)
  // A response with a receipt is the paid one, even if the handler passed on another server's refusal.
  const refusal = receipt === undefined ? yield* RefusalBody.read(dialects, response) : undefined
  if (refusal === undefined) {
    // A redirect that was bought has a receipt. Any other leads away from the only address that the payment may go to.
    if (receipt === undefined && isRedirect(response.status)) {
      yield* Effect.promise(async () => response.body?.cancel())
      return unknownOf(response, "a redirect without a receipt, which is not followed", undefined)
    }
    paid.add(response)
    const read = receipt && PayerDialects.readReceipt(dialects, (name) => response.headers.get(name), sentWith(entry))
    const signed = receipt && read?.signed && ReceiptFit.isFor(read.signed, entry, receipt) ? read.signed : undefined
    if (receipt !== undefined) receipts.set(response, receipt)
    if (signed !== undefined) signedReceipts.set(response, signed)
    return { _tag: "NotRefused", response, receipt, signed, ifRefused: read?.ifRefused, extra: read?.extra }
  }
  return Result.isSuccess(refusal)
    ? fromRefusal(entry, response, refusal.success.required)
    : fromUnreadable(entry, response, refusal.failure)
})

const sentWith = ({ headers = {}, network }: JournalEntry) => ({ network, headers })

/** The receipt, with the payer's own names for payer and payment: the server does not decide who paid what. */
const receiptOn = (
  dialects: ReadonlyArray<PayerDialect>,
  entry: JournalEntry,
  { headers }: Response
): Settlement | undefined => {
  const receipt = PayerDialects.readReceipt(dialects, (name) => headers.get(name), sentWith(entry))
  if (receipt === undefined) return undefined
  const { amount = entry.amount, extra, network, transaction } = receipt
  // A receipt of a channel names a deposit's amount, or none; the charge is among the scheme's facts.
  const isRight = entry.draw === undefined ? amount === entry.amount && transaction !== "" : extra !== undefined
  if (network !== entry.network || !isRight) return undefined
  const { payer = "", paymentId = "" } = entry
  return { success: true, transaction, network, payer, amount: entry.amount, paymentId }
}

const fromRefusal = (entry: JournalEntry, response: Response, body: PaymentRequired): PurchaseResponse => {
  const unknown = unknownOf(response, body.error, body.paymentState)
  if (response.status >= 500 || body.retry === "same_payment" || body.retry === "wait") return unknown
  const isSaid =
    response.status === 409
      ? body.retry !== undefined || body.reason !== undefined
      : body.paymentState === undefined || isDead(body.paymentState)
  if (!isSaid) return unknown
  return { _tag: "Refused", error: errorOf(entry, body), required: body }
}

const errorOf = (
  { host, paymentId = "" }: JournalEntry,
  { code, detail = "", error, reason }: PaymentRequired
): RefusalError => {
  const message = `${host} refused payment ${paymentId}: ${AsciiJson.quoted(error)}`
  if (code !== undefined) return new PaymentError({ code, detail, message })
  if (reason !== undefined) return invalid(reason, detail, message)
  return new PaymentRefused({ paymentId, message })
}

const fromUnreadable = (entry: JournalEntry, response: Response, { message }: ValidationError): PurchaseResponse =>
  response.status === 402
    ? { _tag: "Refused", error: errorOf(entry, { error: message, accepts: [] }), required: undefined }
    : unknownOf(response, message, undefined)

const unknownOf = (response: Response, error: string, status: PaymentState | undefined): Unknown => ({
  _tag: "Unknown",
  status,
  retryAfter: secondsOf(response.headers.get("retry-after")),
  said: `${response.status} ${AsciiJson.quoted(error)}`
})

/** A `Retry-After` in seconds; for the date form the sender's own schedule is used. */
const secondsOf = (text: string | null): number | undefined =>
  text !== null && /^\d{1,9}$/.test(text) ? Number.parseInt(text, 10) : undefined
