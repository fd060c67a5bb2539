/**
 * The facilitator's HTTP messages: requests and responses of `POST /verify`, `/settle`, `/claims`,
 * `/payments/{id}/finish` and `/payments/finish`. Verdicts about a payment are responses with status 200; other
 * statuses mean that no verdict was reached (apps/docs/protocol.md#facilitator-http-api).
 */
import * as Schema from "effect/Schema"

import * as Amount from "../../protocol/Amount.ts"
import { PaymentErrorCode } from "../../protocol/PaymentError.ts"
import { PaymentPayload, protocolVersion } from "../../protocol/PaymentPayload.ts"
import { PaymentRequirements } from "../../protocol/PaymentRequirements.ts"
import { PaymentRecord, PaymentState } from "../../protocol/Settlement.ts"
import { ValidationReason } from "../../protocol/ValidationError.ts"

/** The text of a claim's id, and of a digest. */
export const identifier = Schema.String.check(Schema.isPattern(/^[A-Za-z0-9_-]{16,64}$/))

/** The header field in which a server names the buyer of a request: see `CurrentBuyer`. */
export const buyerField = "pontage-buyer"

/** The header fields that name the buyer's place, if it is known. */
export const buyerHeaders = (buyer: string | undefined): Readonly<Record<string, string>> =>
  buyer === undefined ? {} : { [buyerField]: buyer }

/** Reads that field; `undefined` if it is absent or malformed. */
export const buyerOf = (text: string | undefined): string | undefined =>
  text !== undefined && /^[A-Za-z0-9_-]{16,64}$/.test(text) ? text : undefined

/** Maximum number of earlier claims that one claim may resume. */
export const maximumResumed = 16

/** A server's request to run a resource once: see `Claim`. */
export const Claim = Schema.Struct({
  id: identifier,
  resource: identifier,
  route: Schema.optionalKey(identifier),
  onlyKnown: Schema.optionalKey(Schema.Literal(true)),
  resumes: Schema.optionalKey(Schema.Array(identifier).check(Schema.isMaxLength(maximumResumed))),
  awaits: Schema.optionalKey(Schema.Literal("delivered"))
})

/** `POST /verify`. */
export const VerifyRequest = Schema.Struct({
  protocolVersion: Schema.Literal(protocolVersion),
  paymentPayload: PaymentPayload,
  paymentRequirements: PaymentRequirements
})

/** `POST /settle`; servers of other protocols leave the claim out. */
export const SettleRequest = Schema.Struct({ ...VerifyRequest.fields, claim: Schema.optionalKey(Claim) })

/** `POST /claims`. */
export const ClaimRequest = Schema.Struct({ ...VerifyRequest.fields, claim: Claim })

/** `POST /payments/{id}/finish`. */
export const FinishRequest = Schema.Struct({
  claimId: identifier,
  outcome: Schema.Literals(["served", "refused", "failed", "notRun", "unanswered"]),
  /** The most that a served draw on a payment channel is charged; default all that it reserved. */
  charge: Schema.optionalKey(Amount.FromText)
})

/** Maximum number of executions whose ends are reported in one `POST /payments/finish`. */
export const maximumFinishes = 100

/** `POST /payments/finish`: the ends of several executions. */
export const FinishesRequest = Schema.Struct({
  runs: Schema.Array(Schema.Struct({ paymentId: Schema.String, ...FinishRequest.fields })).check(
    Schema.isMinLength(1),
    Schema.isMaxLength(maximumFinishes)
  )
})

/** Why a payment is refused. */
export const verdict = {
  code: Schema.optionalKey(PaymentErrorCode),
  reason: Schema.optionalKey(ValidationReason),
  detail: Schema.optionalKey(Schema.String),
  /** A message for people. */
  message: Schema.optionalKey(Schema.String)
}

/** The state of a payment channel, in the words of its scheme. */
const extra = Schema.optionalKey(Schema.Record(Schema.String, Schema.Json))

/** The response of `POST /verify`. */
export const VerifyResponse = Schema.Struct({
  isValid: Schema.Boolean,
  payer: Schema.optionalKey(Schema.String),
  extra,
  ...verdict
})

/**
 * The response of `POST /settle` and `POST /claims`. `success` means that the money has moved, or for a claim that it
 * was accepted. Without `success`, `code` and `reason` the outcome is not known yet.
 */
export const SettleResponse = Schema.Struct({
  success: Schema.Boolean,
  paymentId: Schema.String,
  status: PaymentState,
  execution: Schema.optionalKey(Schema.Literals(["granted", "held", "spent", "conflict"])),
  transaction: Schema.String,
  network: Schema.String,
  payer: Schema.optionalKey(Schema.String),
  payTo: Schema.optionalKey(Schema.String),
  asset: Schema.optionalKey(Schema.String),
  amount: Schema.optionalKey(Schema.String),
  /** Of a refused draw: the state of its channel, by which the payer signs its next voucher. */
  extra,
  /** Nothing has moved for a draw on a payment channel: it is charged by the report of its end. */
  isDraw: Schema.optionalKey(Schema.Literal(true)),
  /** The payer of a channel has asked for a refund and got `amount` back; nothing is executed for it. */
  isRefund: Schema.optionalKey(Schema.Literal(true)),
  /**
   * With a granted execution: the payer's remaining executions if it is refused or fails. `until` is Unix milliseconds.
   */
  entitlement: Schema.optionalKey(Schema.Struct({ runs: Schema.Int, until: Schema.Int })),
  ...verdict
})

/** The `error` of the fault for an unknown payment (404). */
export const unknownPayment = "unknown_payment"

/**
 * The body of a response without a verdict (400, 401, 403, 404, 409, 413, 429, 503). `error` is a word for programs
 * (`malformed`, `unauthenticated`, `unknown_payment`, `chain_unavailable`, ...), `message` is for people. `reason` and
 * `detail` are present if a `finish` is refused (404, 409): they carry its `ValidationError`. `retryAfter` (503) is the
 * number of seconds after which the same request makes sense again; the field `Retry-After` says the same.
 */
export const Fault = Schema.Struct({
  error: Schema.String,
  message: Schema.String,
  reason: Schema.optionalKey(ValidationReason),
  detail: Schema.optionalKey(Schema.String),
  retryAfter: Schema.optionalKey(Schema.Number)
})

/**
 * The response of `POST /payments/finish`, execution by execution in the order of the request: the status and the body
 * that `POST /payments/{id}/finish` would have had.
 */
export const FinishesResponse = Schema.Struct({
  answers: Schema.Array(
    Schema.Struct({ status: Schema.Literals([200, 404, 409, 500, 503]), body: Schema.Union([PaymentRecord, Fault]) })
  )
})
