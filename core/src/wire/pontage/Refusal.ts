/**
 * The single mapping from a failure to its HTTP response: status, body fields, and the time to come back. Every server
 * adapter and the facilitator's API use it, so that a failure has one meaning everywhere
 * (apps/docs/protocol.md#statuses).
 */
import type { PaymentFailure } from "../../protocol/PaymentFailure.ts"
import type { PaymentRequired } from "../../protocol/PaymentRequired.ts"
import { isDead, type PaymentState } from "../../protocol/Settlement.ts"
import { type UnquotedNetwork, unquotedSentence } from "../../protocol/Supported.ts"

/** A refusal without its offers. */
export interface Refusal {
  readonly status: 402 | 409 | 500 | 503
  readonly body: Omit<PaymentRequired, "accepts">
  /** Seconds until a repeat makes sense; sent as `Retry-After`. */
  readonly retryAfter: number | undefined
}

/** The refusal for a failure. Total: a new error without a line here does not compile. */
export const fromFailure = (failure: PaymentFailure): Refusal => {
  switch (failure._tag) {
    case "PaymentError":
      return refusal(402, { error: failure.message, code: failure.code, detail: failure.detail })
    case "ValidationError":
      return failure.reason === "already_used"
        ? refusal(409, { error: failure.message, reason: failure.reason, detail: failure.detail, retry: "never" })
        : refusal(402, { error: failure.message, reason: failure.reason, detail: failure.detail })
    case "SettlementPending": {
      const { message, paymentId, status } = failure
      return refusal(503, { error: message, paymentId, paymentState: status, retry: "same_payment" }, 2)
    }
    case "FacilitatorUnavailable":
      return unavailableNow(failure, failure.retryAfter)
    case "ChainUnavailable":
    case "Misconfigured":
      return unavailableNow(failure)
  }
}

/** A payment as named in the refusal of a claim. */
export interface ClaimedPayment {
  readonly paymentId: string
  readonly status: PaymentState
}

/**
 * The refusal of a request that may not run: another request runs it now, or the payment was used for this resource or
 * for another one. It does not itself demand a new signature; the body carries the offers all the same.
 */
export const fromExecution = (execution: "held" | "spent" | "conflict", payment: ClaimedPayment): Refusal => {
  const { paymentId, status } = payment
  const known = { paymentId, paymentState: status }
  switch (execution) {
    case "held":
      return refusal(409, { error: held, detail: "in_flight", ...known, retry: "wait" }, 2)
    case "spent":
      return refusal(409, { error: spent, reason: "already_used", detail: "spent", ...known, retry: "never" })
    case "conflict":
      return refusal(409, {
        error: conflict,
        reason: "already_used",
        detail: "other_resource",
        ...known,
        retry: "never"
      })
  }
}

/**
 * The refusal of a payment under an identifier that another payment, or the same one for another request, has: nothing
 * was charged.
 */
export const otherPayment: Refusal = {
  status: 409,
  body: {
    error:
      "Another payment has this payment identifier. Nothing was charged: send that payment again, or sign a new one under an identifier of its own.",
    detail: "payment_identifier",
    retry: "new_payment"
  },
  retryAfter: undefined
}

const held = "This payment is being used by another request right now. Wait, then send the same payment again."
const spent = "This payment was used already. It pays for nothing more."
const conflict = "This payment belongs to another resource. It does not pay for this one."

/** The refusal if the execution is granted but the transfer is not confirmed: pending, or proven dead. */
export const fromUnsettled = ({ paymentId, status }: ClaimedPayment): Refusal =>
  isDead(status)
    ? refusal(402, { error: dead, detail: status, paymentId, paymentState: status, retry: "new_payment" })
    : refusal(503, { error: pending, paymentId, paymentState: status, retry: "same_payment" }, 2)

const dead = "The transfer of this payment did not happen and will not. Nothing was charged; sign a new payment."
const pending = "The transfer is not confirmed yet. Send the same payment again, do not sign a new one."

/** The refusal if a route's price cannot be computed; no payment was checked, nothing charged. */
export const unpriced: Refusal = {
  status: 500,
  body: {
    error: "The price of this resource could not be computed. Nothing was charged.",
    detail: "price_unavailable"
  },
  retryAfter: undefined
}

/** The refusal if the seller's own check of the request failed; no payment was checked, nothing charged. */
export const unchecked: Refusal = {
  status: 500,
  body: { error: "This request could not be checked. Nothing was charged.", detail: "check_failed" },
  retryAfter: undefined
}

/** The refusal if a payment is bound to the request's body, and the body is not available. */
export const unbindable: Refusal = {
  status: 500,
  body: {
    error: "The body of this request could not be read, so no payment can be bound to it. Nothing was charged.",
    detail: "body_unavailable"
  },
  retryAfter: undefined
}

/** The refusal while it is not yet proven that a resource's offers can be paid. */
export const notReady: Refusal = {
  status: 503,
  body: {
    error: "This resource is not on sale yet. Nothing was charged: send the same request again later.",
    detail: "not_ready",
    retry: "same_payment"
  },
  retryAfter: 5
}

/** The same refusal with the networks that payments cannot go on to now, and the reasons. */
export const naming = (refusal: Refusal, unquoted: ReadonlyArray<UnquotedNetwork>): Refusal =>
  unquoted.length === 0
    ? refusal
    : { ...refusal, body: { ...refusal.body, error: [refusal.body.error, ...unquoted.map(notQuoted)].join(" ") } }

const notQuoted = ({ network, reason }: UnquotedNetwork): string =>
  `No payment goes on to ${network} now: ${unquotedSentence(reason)}.`

/** The refusal of a request without a payment. */
export const unpaid: Refusal = {
  status: 402,
  body: { error: "Payment required: sign one of the offered payments and send the request again with it." },
  retryAfter: undefined
}

const unavailableNow = ({ _tag }: { readonly _tag: keyof typeof details }, retryAfter = 2): Refusal =>
  refusal(503, { error: unavailable, detail: details[_tag], retry: "same_payment" }, retryAfter)

/**
 * The payer's message for internal failures: the operator reads the cause in the log, the payer learns only what to do.
 */
const unavailable =
  "The payment could not be checked right now. Nothing is decided: send the same payment again later, do not sign a new one."

const details = {
  FacilitatorUnavailable: "facilitator_unavailable",
  ChainUnavailable: "chain_unavailable",
  Misconfigured: "misconfigured"
} as const

const refusal = (status: Refusal["status"], body: Refusal["body"], retryAfter?: number): Refusal => ({
  status,
  body,
  retryAfter
})
