/**
 * A message that is malformed or does not match the offer: not the payer's means but the payment's form is at fault.
 */
import * as Data from "effect/Data"
import * as Schema from "effect/Schema"

/** The reasons as they stand on the wire. */
export const validationReasons = [
  "malformed",
  "unsupported_version",
  "unsupported_scheme",
  "unsupported_authorization",
  "amount_mismatch",
  "asset_mismatch",
  "binding_mismatch",
  "already_used"
] as const

/** A machine-readable reason. */
export const ValidationReason = /* @__PURE__ */ Schema.Literals(validationReasons)

export type ValidationReason = typeof ValidationReason.Type

/**
 * A payment that is refused for its form. `reason` is the wire word, `detail` narrows it, `message` is for people.
 */
export class ValidationError extends Data.TaggedError("ValidationError")<{
  readonly reason: ValidationReason
  readonly detail: string
  readonly message: string
}> {}

/** A `ValidationError` in one line. */
export const invalid = (reason: ValidationReason, detail: string, message: string): ValidationError =>
  new ValidationError({ reason, detail, message })
