/**
 * The facilitator's HTTP messages: what `POST /verify`, `/settle`, `/claims`, `/payments/{id}/finish` and
 * `/payments/finish` take and answer.
 * Verdicts about a payment are answers with status 200; other statuses mean that no verdict was reached
 * (apps/docs/protocol.md#facilitator-http-api).
 */
import * as Schema from "effect/Schema"

import { PaymentErrorCode } from "../../protocol/PaymentError.ts"
import { PaymentPayload, protocolVersion } from "../../protocol/PaymentPayload.ts"
import { PaymentRequirements } from "../../protocol/PaymentRequirements.ts"
import { PaymentRecord, PaymentState } from "../../protocol/Settlement.ts"
import { ValidationReason } from "../../protocol/ValidationError.ts"

const identifier = Schema.String.check(Schema.isPattern(/^[A-Za-z0-9_-]{16,64}$/))

/** The field in which a server tells for whom it asks: see `CurrentBuyer`. */
export const buyerField = "pontage-buyer"

/** Reads that field; `undefined` where it is left out or no such text. */
export const buyerOf = (text: string | undefined): string | undefined =>
  text !== undefined && /^[A-Za-z0-9_-]{16,64}$/.test(text) ? text : undefined

/** The most earlier claims that one may resume. */
export const maximumResumed = 16

/** A server's wish to run a resource once: see `Claim`. */
export const Claim = Schema.Struct({
  id: identifier,
  resource: identifier,
  route: Schema.optionalKey(identifier),
  onlyKnown: Schema.optionalKey(Schema.Literal(true)),
  resumes: Schema.optionalKey(Schema.Array(identifier).check(Schema.isMaxLength(maximumResumed)))
})

/** `POST /verify`. */
export const VerifyRequest = Schema.Struct({
  protocolVersion: Schema.Literal(protocolVersion),
  paymentPayload: PaymentPayload,
  paymentRequirements: PaymentRequirements
})

/** `POST /settle`, where a foreign server leaves the claim out. */
export const SettleRequest = Schema.Struct({ ...VerifyRequest.fields, claim: Schema.optionalKey(Claim) })

/** `POST /claims`. */
export const ClaimRequest = Schema.Struct({ ...VerifyRequest.fields, claim: Claim })

/** `POST /payments/{id}/finish`. */
export const FinishRequest = Schema.Struct({
  claimId: identifier,
  outcome: Schema.Literals(["served", "refused", "failed", "notRun", "unanswered"])
})

/** The most runs whose ends are told in one `POST /payments/finish`. */
export const maximumFinishes = 100

/** `POST /payments/finish`: how several runs ended. */
export const FinishesRequest = Schema.Struct({
  runs: Schema.Array(Schema.Struct({ paymentId: Schema.String, ...FinishRequest.fields })).check(
    Schema.isMinLength(1),
    Schema.isMaxLength(maximumFinishes)
  )
})

const verdict = {
  code: Schema.optionalKey(PaymentErrorCode),
  reason: Schema.optionalKey(ValidationReason),
  detail: Schema.optionalKey(Schema.String),
  /** For people. */
  message: Schema.optionalKey(Schema.String)
}

/** The answer of `POST /verify`. */
export const VerifyResponse = Schema.Struct({
  isValid: Schema.Boolean,
  payer: Schema.optionalKey(Schema.String),
  ...verdict
})

/**
 * The answer of `POST /settle` and `POST /claims`. `success` means that the money has moved, or for a claim that it was
 * taken in. Neither success nor `code` nor `reason` means that the outcome is not known yet.
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
  /** With a granted execution: what is left should it be refused or fail. `until` is Unix milliseconds. */
  entitlement: Schema.optionalKey(Schema.Struct({ runs: Schema.Int, until: Schema.Int })),
  ...verdict
})

/** The `error` of the fault that answers a payment nobody knows (404). */
export const unknownPayment = "unknown_payment"

/**
 * The body of an answer that is no verdict (400, 401, 403, 404, 409, 413, 429, 503). `error` is a word for programs
 * (`malformed`, `unauthenticated`, `unknown_payment`, `chain_unavailable`, ...), `message` is for people. `reason` and
 * `detail` are there where a `finish` is refused (404, 409): they carry its `ValidationError`. `retryAfter` (503) is when the same
 * request makes sense again, in seconds; the field `Retry-After` says the same.
 */
export const Fault = Schema.Struct({
  error: Schema.String,
  message: Schema.String,
  reason: Schema.optionalKey(ValidationReason),
  detail: Schema.optionalKey(Schema.String),
  retryAfter: Schema.optionalKey(Schema.Number)
})

/**
 * The answer of `POST /payments/finish`, run by run in the order of the request: the status and the body that
 * `POST /payments/{id}/finish` would have had.
 */
export const FinishesResponse = Schema.Struct({
  answers: Schema.Array(
    Schema.Struct({ status: Schema.Literals([200, 404, 409, 500, 503]), body: Schema.Union([PaymentRecord, Fault]) })
  )
})
