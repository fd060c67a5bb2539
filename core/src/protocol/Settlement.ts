/**
 * Settlement: a payment's life at the facilitator and the receipt a buyer gets.
 */
import * as Schema from "effect/Schema"

import * as Amount from "./Amount.ts"
import { PaymentErrorCode } from "./PaymentError.ts"
import { ValidationReason } from "./ValidationError.ts"

/**
 * The states of a payment's transfer. `included` and `final` mean that the money has moved; `rejected`, `failed` and
 * `expired` mean, each with proof, that it has not and will not; the others are in flight.
 *
 * @category schemas
 */
export const PaymentState = Schema.Literals([
  "accepted",
  "planned",
  "sent",
  "included",
  "final",
  "rejected",
  "failed",
  "expired"
])

/**
 * @category models
 */
export type PaymentState = typeof PaymentState.Type

/**
 * Whether the money has moved.
 *
 * @category guards
 */
export const isSettled = (state: PaymentState): boolean => state === "included" || state === "final"

/**
 * Whether it is proven that the money has not moved and will not by this authorization.
 *
 * @category guards
 */
export const isDead = (state: PaymentState): boolean =>
  state === "rejected" || state === "failed" || state === "expired"

/**
 * The receipt: what `X-Payment-Response` carries on a paid response.
 *
 * @category schemas
 */
export const Settlement = Schema.Struct({
  success: Schema.Literal(true),
  /** The transaction that moved the money, in the chain's own form. */
  transaction: Schema.String,
  network: Schema.String,
  payer: Schema.String,
  /** In the smallest unit of the asset. */
  amount: Amount.Text,
  paymentId: Schema.String
})

/**
 * @category models
 */
export type Settlement = typeof Settlement.Type

/**
 * What the facilitator says of one payment (`GET /payments/{id}`): the transfer's state and its whole history, and where
 * its execution stands. Times are Unix milliseconds.
 *
 * @category schemas
 */
export const PaymentRecord = Schema.Struct({
  paymentId: Schema.String,
  status: PaymentState,
  network: Schema.String,
  asset: Schema.String,
  payer: Schema.String,
  payTo: Schema.String,
  amount: Amount.Text,
  /** Empty while no transaction is known. */
  transaction: Schema.String,
  /** `running` while a claim holds it, `entitled` when it is paid for and still owed, `free` when nothing is owed. */
  execution: Schema.Literals(["running", "served", "entitled", "owed", "free"]),
  /** How many executions were granted. */
  runs: Schema.Int,
  code: Schema.optionalKey(PaymentErrorCode),
  reason: Schema.optionalKey(ValidationReason),
  detail: Schema.optionalKey(Schema.String),
  history: Schema.Array(
    Schema.Struct({ status: PaymentState, at: Schema.Int, note: Schema.optionalKey(Schema.String) })
  )
})

/**
 * @category models
 */
export type PaymentRecord = typeof PaymentRecord.Type
