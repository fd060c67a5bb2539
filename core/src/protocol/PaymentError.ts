/**
 * The five ways in which a payer's payment can fail (apps/docs/protocol.md#error-codes). Anything else is a `ValidationError` (the
 * message is malformed or does not match the offer) or a `ProtocolError` (neither party's payment is at fault).
 */
import * as Data from "effect/Data"
import * as Schema from "effect/Schema"

/** The five codes, exactly (apps/docs/protocol.md#error-codes). */
export const paymentErrorCodes = [
  "INSUFFICIENT_BALANCE",
  "INVALID_SIGNATURE",
  "EXPIRED_PAYMENT",
  "NETWORK_MISMATCH",
  "INVALID_RECIPIENT"
] as const

/** One of the codes. */
export const PaymentErrorCode = /* @__PURE__ */ Schema.Literals(paymentErrorCodes)

export type PaymentErrorCode = typeof PaymentErrorCode.Type

/**
 * A payment that cannot be taken. `code` is one of the five; `detail` is a machine-readable word within the code
 * (`payer_mismatch`, `not_yet_valid`, ...); `message` tells a person what was expected, what came and what to do.
 */
export class PaymentError extends Data.TaggedError("PaymentError")<{
  readonly code: PaymentErrorCode
  readonly detail: string
  readonly message: string
}> {}

/** A `PaymentError` in one line. */
export const refuse = (code: PaymentErrorCode, detail: string, message: string): PaymentError =>
  new PaymentError({ code, detail, message })
