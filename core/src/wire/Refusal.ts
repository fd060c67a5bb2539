/**
 * The one map from what went wrong to what goes over HTTP: status, body fields, and when to come back. Every server
 * adapter and the facilitator's API use it, so that a fault has one meaning everywhere (decisions 2).
 */
import type { PaymentFailure } from "../protocol/PaymentFailure.ts"
import type { PaymentRequired } from "../protocol/PaymentRequired.ts"

/**
 * A refusal without its offers.
 *
 * @category models
 */
export interface Refusal {
  readonly status: 402 | 409 | 500 | 503
  readonly body: Omit<PaymentRequired, "accepts">
  /** Seconds until a repeat makes sense; sent as `Retry-After`. */
  readonly retryAfter: number | undefined
}

/**
 * The refusal for a failure. Total: a new error without a line here does not compile.
 *
 * @category conversions
 */
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
    case "ChainUnavailable":
    case "Misconfigured":
      return refusal(503, { error: unavailable, detail: words[failure._tag], retry: "same_payment" }, 5)
  }
}

/** What went wrong inside stays inside: the operator reads it in the log, the payer learns only what to do. */
const unavailable =
  "The payment could not be checked right now. Nothing is decided: send the same payment again later, do not sign a new one."

const words = {
  FacilitatorUnavailable: "facilitator_unavailable",
  ChainUnavailable: "chain_unavailable",
  Misconfigured: "misconfigured"
} as const

const refusal = (status: Refusal["status"], body: Refusal["body"], retryAfter?: number): Refusal => ({
  status,
  body,
  retryAfter
})
