/**
 * The body of a refusal (apps/docs/protocol.md#refusal): the reason and the accepted offers. 409 and 503 carry the same body with the
 * payment's id, its state and the next step; every field beyond `error` and `accepts` is additive.
 */
import * as Schema from "effect/Schema"

import { PaymentErrorCode } from "./PaymentError.ts"
import { PaymentRequirements } from "./PaymentRequirements.ts"
import { PaymentState } from "./Settlement.ts"
import { ValidationReason } from "./ValidationError.ts"

/**
 * The payer's next step: send the same authorization again, sign a new one, wait and then send the same one, or give up on
 * this authorization.
 */
export const retries = ["same_payment", "new_payment", "wait", "never"] as const

/** One of these. */
export const Retry = /* @__PURE__ */ Schema.Literals(retries)

export type Retry = typeof Retry.Type

/** The body. */
export const PaymentRequired = /* @__PURE__ */ Schema.Struct({
  error: Schema.String,
  accepts: /* @__PURE__ */ Schema.Array(PaymentRequirements),
  code: /* @__PURE__ */ Schema.optionalKey(PaymentErrorCode),
  reason: /* @__PURE__ */ Schema.optionalKey(ValidationReason),
  detail: /* @__PURE__ */ Schema.optionalKey(Schema.String),
  paymentId: /* @__PURE__ */ Schema.optionalKey(Schema.String),
  paymentState: /* @__PURE__ */ Schema.optionalKey(PaymentState),
  retry: /* @__PURE__ */ Schema.optionalKey(Retry)
})

export type PaymentRequired = typeof PaymentRequired.Type
