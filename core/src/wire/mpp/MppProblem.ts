/**
 * A refusal as problem details (RFC 9457) with the types of the Machine Payments Protocol. Pontage's own fields stand beside
 * them.
 */
import type { PaymentRequired } from "../../protocol/PaymentRequired.ts"

/** The content type of the body. */
export const contentType = "application/problem+json"

/** The beginning of every problem's type. */
export const base = "https://paymentauth.org/problems/"

const titles = {
  "payment-required": "Payment Required",
  "payment-insufficient": "Payment Insufficient",
  "payment-expired": "Payment Expired",
  "verification-failed": "Verification Failed",
  "method-unsupported": "Method Unsupported",
  "malformed-credential": "Malformed Credential",
  "invalid-challenge": "Invalid Challenge"
} as const

type Problem = keyof typeof titles

const problemOf = ({ code, detail, reason }: Omit<PaymentRequired, "accepts">): Problem => {
  if (detail === "method_unsupported") return "method-unsupported"
  if (reason === "malformed") return "malformed-credential"
  if (reason === "binding_mismatch") return "invalid-challenge"
  if (code === "EXPIRED_PAYMENT") return "payment-expired"
  if (code === "INSUFFICIENT_BALANCE" || reason === "amount_mismatch") return "payment-insufficient"
  return code === undefined && reason === undefined && detail === undefined ? "payment-required" : "verification-failed"
}

/** The body of a refusal with this status. */
export const of = (required: PaymentRequired, status: number) => {
  const { accepts: _, detail, error, ...words } = required
  const problem = problemOf(required)
  return {
    type: `${base}${problem}`,
    title: titles[problem],
    status,
    detail: error,
    ...words,
    ...(detail !== undefined && { reasonDetail: detail })
  }
}

/** A problem of this kind. */
export type MppProblem = ReturnType<typeof of>

/** Whether it says no more than that a payment is needed. */
export const isUnpaid = ({ type }: { readonly type: string }): boolean => type === `${base}payment-required`

/** Whether it is about a credential that cannot be read. */
export const isMalformed = ({ type }: { readonly type: string }): boolean => type === `${base}malformed-credential`
