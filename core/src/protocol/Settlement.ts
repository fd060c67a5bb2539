/**
 * Settlement: a payment's life at the facilitator and the receipt a buyer gets.
 */
import * as Schema from "effect/Schema"

import * as Amount from "./Amount.ts"
import { PaymentErrorCode } from "./PaymentError.ts"
import { ValidationReason } from "./ValidationError.ts"

/**
 * The states of a payment's transfer. `included` and `final` mean that the money has moved; `rejected`, `failed` and
 * `expired` mean, each with proof, that it has not and will not; in the other states the transfer is pending.
 */
export const paymentStates = [
  "accepted",
  "planned",
  "sent",
  "included",
  "final",
  "rejected",
  "failed",
  "expired"
] as const

/** One of the states. */
export const PaymentState = /* @__PURE__ */ Schema.Literals(paymentStates)

export type PaymentState = typeof PaymentState.Type

/** Whether the money has moved. */
export const isSettled = (state: PaymentState): boolean => state === "included" || state === "final"

/** Whether it is proven that the money has not moved and will not by this authorization. */
export const isDead = (state: PaymentState): boolean =>
  state === "rejected" || state === "failed" || state === "expired"

/**
 * The remaining use of a payment if the response that carries this has a status of 400 to 499: the number of executions,
 * until an instant (Unix milliseconds), for requests whose offers carry this route token (`RouteToken`) and cost no more.
 */
export const IfRefused = /* @__PURE__ */ Schema.Struct({
  routeToken: Schema.String,
  runs: Schema.Int,
  until: Schema.Int
})

export type IfRefused = typeof IfRefused.Type

/** The receipt: the content of `X-Payment-Response` on a paid response. */
export const Settlement = /* @__PURE__ */ Schema.Struct({
  success: /* @__PURE__ */ Schema.Literal(true),
  /** The transaction that moved the money, in the chain's own form. */
  transaction: Schema.String,
  network: Schema.String,
  payer: Schema.String,
  /** In the smallest unit of the asset. */
  amount: Amount.Text,
  paymentId: Schema.String,
  /** Absent if the payment has no further use. */
  ifRefused: /* @__PURE__ */ Schema.optionalKey(IfRefused),
  /** The state of the payment's channel, in the words of its scheme; absent without one. */
  extra: /* @__PURE__ */ Schema.optionalKey(/* @__PURE__ */ Schema.Record(Schema.String, Schema.Json))
})

export type Settlement = typeof Settlement.Type

/** A receipt as a payer reads it. Other dialects leave out facts that the payer knows. */
export type Receipt = Pick<Settlement, "success" | "transaction" | "network"> &
  Partial<Pick<Settlement, "payer" | "amount" | "paymentId" | "ifRefused">> & {
    /** The scheme's own facts. A payment through a channel has them, and no transaction of its own (an empty text). */
    readonly extra?: Schema.JsonObject
  }

/**
 * The states of a delivery to another network. `pending`: the payer has paid, and the money is on its way. `stuck`: it has been for
 * longer than usual, or delivering it fails; the facilitator goes on trying. `delivered`: it is at its recipient.
 */
export const DeliveryStatus = /* @__PURE__ */ Schema.Literals(["pending", "delivered", "stuck"])

export type DeliveryStatus = typeof DeliveryStatus.Type

/** The second leg of a payment whose money goes on to another network. */
export const Delivery = /* @__PURE__ */ Schema.Struct({
  /** The network that the money goes on to. */
  network: Schema.String,
  status: DeliveryStatus,
  /** The transaction that delivered it there; absent before that. */
  transaction: /* @__PURE__ */ Schema.optionalKey(Schema.String),
  /** The amount that arrived, in the smallest unit of that network's token; absent before that. */
  amount: /* @__PURE__ */ Schema.optionalKey(Amount.Text),
  /** The reason why it has not arrived, for people. */
  detail: /* @__PURE__ */ Schema.optionalKey(Schema.String)
})

export type Delivery = typeof Delivery.Type

/**
 * The facilitator's record of one payment (`GET /payments/{id}`): the transfer's state and its whole history, and the state
 * of its execution. Times are Unix milliseconds.
 */
export const PaymentRecord = /* @__PURE__ */ Schema.Struct({
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
  execution: /* @__PURE__ */ Schema.Literals(["running", "served", "entitled", "owed", "free"]),
  /** Number of executions that were granted. */
  runs: Schema.Int,
  code: /* @__PURE__ */ Schema.optionalKey(PaymentErrorCode),
  reason: /* @__PURE__ */ Schema.optionalKey(ValidationReason),
  detail: /* @__PURE__ */ Schema.optionalKey(Schema.String),
  /** Present if the money goes on to another network. */
  delivery: /* @__PURE__ */ Schema.optionalKey(Delivery),
  history: /* @__PURE__ */ Schema.Array(
    /* @__PURE__ */ Schema.Struct({
      status: PaymentState,
      at: Schema.Int,
      note: /* @__PURE__ */ Schema.optionalKey(Schema.String)
    })
  )
})

export type PaymentRecord = typeof PaymentRecord.Type
