/** The payer's own refusal: a demanded payment that was not made, because the payer's rules do not allow it. */
import * as Data from "effect/Data"
import * as Schema from "effect/Schema"

/** The rule that declined, machine-readable. */
export const DeclineRule = /* @__PURE__ */ Schema.Literals([
  "over_request_limit",
  "over_day_limit",
  "over_host_limit",
  "over_channel_limit",
  "over_stream_limit",
  "insufficient_funds",
  "top_up_not_allowed",
  "top_up_unavailable",
  "asset_without_limit",
  "host_not_allowed",
  "network_not_allowed",
  "asset_unknown",
  "asset_not_allowed",
  "terms_unsupported",
  "payee_not_allowed",
  "insecure_url",
  "cross_origin",
  "method_redirected",
  "no_acceptable_option",
  "confirm_refused",
  "body_not_repeatable"
])

export type DeclineRule = typeof DeclineRule.Type

/**
 * Nothing was signed and nothing was paid. `rule` is for programs; `message` tells a person the demand, the limit and
 * the fix.
 */
export class PaymentDeclined extends Data.TaggedError("PaymentDeclined")<{
  readonly rule: DeclineRule
  readonly message: string
}> {}

/** A `PaymentDeclined` in one line. */
export const decline = (rule: DeclineRule, message: string): PaymentDeclined => new PaymentDeclined({ rule, message })
