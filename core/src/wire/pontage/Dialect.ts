/**
 * A dialect: how the protocol's messages are laid into HTTP headers and bodies. The gate and the paying client speak
 * dialects and know no header names, so another wire format joins by adding one. A dialect comes in two halves, the
 * seller's and the payer's, so that a payer's bundle holds no seller's code.
 */
import type * as Result from "effect/Result"
import type * as Schema from "effect/Schema"

import type { PaymentError } from "../../protocol/PaymentError.ts"
import type { PaymentPayload } from "../../protocol/PaymentPayload.ts"
import type { PaymentRequired } from "../../protocol/PaymentRequired.ts"
import type { Receipt, Settlement } from "../../protocol/Settlement.ts"
import type { ValidationError } from "../../protocol/ValidationError.ts"

/** Request headers as a host gives them: one value, or several when the header came more than once. */
export type ReadHeader = (name: string) => string | ReadonlyArray<string> | undefined

/** Headers to be set on a message, by name. */
export type HeaderFields = Readonly<Record<string, string>>

/**
 * The offer that a payment answers, where a dialect has the payer repeat it. It is nobody's word yet: the gate compares it
 * with what it offers.
 */
export interface AcceptedOffer {
  readonly scheme: string
  readonly network: string
  readonly maxAmountRequired: string
  readonly asset: string
  readonly payTo: string
  readonly maxTimeoutSeconds: number
  readonly extra: Readonly<Record<string, Schema.Json>>
}

/** A payment as a request carries it. */
export interface PresentedPayment {
  readonly payment: PaymentPayload
  readonly accepted: AcceptedOffer | undefined
}

/** A refusal in a dialect's words. */
export interface RefusalMessage {
  readonly headers: HeaderFields
  /** The body's JSON value. */
  readonly body: unknown
  /**
   * The headers, or the body, that differ from answer to answer, where a dialect has payers repeat the offer: each answer's
   * offers carry a token of their own (`RetryToken`).
   */
  readonly personal?: (retryToken: string) => PersonalMessage
}

/** The part of a refusal that only one payer gets. */
export interface PersonalMessage {
  readonly headers?: HeaderFields
  readonly body?: unknown
}

/** Whether the money moves before the handler runs or after it, which a payer may want to know. */
export type SettleOrder = "before-handler" | "after-handler"

/** The seller's half of a wire format. */
export interface SellerDialect {
  /** For people: in messages about a route's configuration. */
  readonly name: string
  /** The request header that carries a payment; `Vary` names it. */
  readonly paymentHeader: string
  /** The headers of answers that pages of other origins have to read. */
  readonly exposed: ReadonlyArray<string>
  /** Whether its payers look for the offers in the body of a refusal, which a route's first dialect writes. */
  readonly offersInBody: boolean
  /** Whether an option of this scheme on this network can be said at all. */
  readonly canOffer: (scheme: string, network: string) => boolean
  /** Whether the text of the payment header is of this dialect; dialects may share a header. */
  readonly recognises: (text: string) => boolean
  readonly readPayment: (text: string) => Result.Result<PresentedPayment, PaymentError | ValidationError>
  readonly refusal: (required: PaymentRequired, order?: SettleOrder) => RefusalMessage
  /** The headers of a paid answer. */
  readonly receiptHeaders: (settlement: Settlement) => HeaderFields
}

/** An answer as the payer's half reads it. */
export interface ResponseHead {
  readonly status: number
  readonly header: (name: string) => string | null
}

/** A refusal as a payer understands it, and how one of its options is paid. */
export interface ReadRefusal {
  /** Only what can be understood: options on networks without a CAIP-2 name are left out. */
  readonly required: PaymentRequired
  /** The headers that pay the option at this index of `required.accepts` with what the scheme signed. */
  readonly paymentHeaders: (index: number, payload: Schema.Json) => HeaderFields
}

/** The payer's half of a wire format. */
export interface PayerDialect {
  /** The request header that carries a payment. */
  readonly paymentHeader: string
  /** Whether the head of an answer alone tells that it is a refusal; else only the body does, and `mayRefuse` is a guess. */
  readonly isKnownByHead: boolean
  /** Whether an answer may be a refusal of this dialect, as far as its head tells. */
  readonly mayRefuse: (head: ResponseHead) => boolean
  /**
   * What a refusal says; `body` is the parsed JSON of its body, `undefined` where it has none. `undefined` when it turns
   * out not to be of this dialect; a failure when it is, and cannot be read.
   */
  readonly readRefusal: (head: ResponseHead, body: unknown) => Result.Result<ReadRefusal, ValidationError> | undefined
  /** The receipt on an answer, if there is one and it says that the money has moved. */
  readonly readReceipt: (header: ResponseHead["header"]) => Receipt | undefined
}
