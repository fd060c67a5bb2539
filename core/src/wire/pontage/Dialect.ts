/**
 * A dialect: a mapping of the protocol's messages to HTTP headers and bodies. The gate and the paying client use
 * dialects and know no header names, so another wire format is added as one more dialect. A dialect has two parts, the
 * seller's and the payer's, so that a payer's bundle holds no seller's code.
 */
import type * as Result from "effect/Result"
import type * as Schema from "effect/Schema"

import type { CallDescription } from "../../protocol/CallDescription.ts"
import type { PaymentError } from "../../protocol/PaymentError.ts"
import type { PaymentPayload, RequestBinding } from "../../protocol/PaymentPayload.ts"
import type { PaymentRequired } from "../../protocol/PaymentRequired.ts"
import type { PaymentRequirements } from "../../protocol/PaymentRequirements.ts"
import type { Receipt, Settlement } from "../../protocol/Settlement.ts"
import type { ValidationError } from "../../protocol/ValidationError.ts"
import type { PurchaseReceipt } from "./PurchaseReceipt.ts"
import type { SignedOffer } from "./SignedOffer.ts"
import type { SignedReceipt } from "./SignedReceipt.ts"

/** Reads a request header: one value, or several if the header came more than once. */
export type ReadHeader = (name: string) => string | ReadonlyArray<string> | undefined

/** Headers to be set on a message, by name. */
export type HeaderFields = Readonly<Record<string, string>>

/**
 * The offer that a payment pays, if a dialect has the payer repeat it. It is unverified: the gate compares it with its
 * own offers.
 */
export interface AcceptedOffer {
  readonly scheme: string
  readonly network: string
  readonly maxAmountRequired: string
  readonly asset: string
  readonly payTo: string
  /** `undefined` if the dialect does not have the payer repeat it; so is `extra`. */
  readonly maxTimeoutSeconds: number | undefined
  readonly extra: Readonly<Record<string, Schema.Json>> | undefined
}

/** A payment that a request carries. */
export interface PresentedPayment {
  readonly payment: PaymentPayload
  readonly accepted: AcceptedOffer | undefined
  /** The payer's own name for the payment, if the dialect has one (x402's extension `payment-identifier`). */
  readonly identifier?: string
  /** The id of the challenge that the payment responds to, if the dialect's receipts repeat it. */
  readonly challengeId?: string
}

/** A refusal in a dialect's wire form. */
export interface RefusalMessage {
  readonly headers: HeaderFields
  /** The body's JSON value. */
  readonly body: unknown
  /**
   * The headers, or the body, that differ between responses, if a dialect has payers repeat the offer: each response's
   * offers carry a token of their own (`RetryToken`), or a time that follows from the response's (Unix milliseconds).
   */
  readonly personal?: (retryToken: string, now: number) => PersonalMessage
  /** The body's content type; default `application/json`. */
  readonly contentType?: string
}

/** The part of a refusal that differs for each payer. */
export interface PersonalMessage {
  readonly headers?: HeaderFields
  readonly body?: unknown
}

/** Whether the money moves before or after the handler runs; a payer may want to know. */
export type SettleOrder = "before-handler" | "after-handler"

/** Terms of a resource beyond its payment options. */
export interface OfferTerms {
  /** Whether the response of a served payment comes again for its payer; default `false`. */
  readonly repeats?: boolean
  /** The host of the shop's origin. */
  readonly realm?: string
  /** The call of the resource, if the route describes it. */
  readonly call?: CallDescription | undefined
  /** The status of the response. */
  readonly status?: number
  /** Offers that the shop has signed, for the dialects of x402. */
  readonly signed?: ReadonlyArray<SignedOffer>
}

/** Facts about a paid response beside the settlement. */
export interface PaidFacts {
  /** Unix milliseconds. */
  readonly now: number
  readonly challengeId?: string | undefined
  readonly receipts?: SignedReceipts | undefined
}

/** The signed receipts of a paid response, if its shop signs any. */
export interface SignedReceipts {
  /** In Pontage's own format, which every dialect carries. */
  readonly purchase?: PurchaseReceipt
  /** Without the sale's terms, for dialects whose peers know such receipts (`SignedReceipt`). */
  readonly brief?: SignedReceipt
}

/** An option of a route as discovery documents list it. */
export interface ListedOption {
  readonly scheme: string
  readonly network: string
  /** Address of the token. */
  readonly asset: string
  readonly extra: PaymentRequirements["extra"]
}

/** A dialect's entries in the `x-payment-info` of an OpenAPI document. */
export interface Listing {
  /** An item of `protocols`: the protocol's name with its parameters. */
  readonly protocol: Schema.JsonObject
  /** The fields that its item of `offers` begins with; without it, the protocol has none there. */
  readonly offer?: Schema.JsonObject
}

/** The seller's part of a wire format. */
export interface SellerDialect {
  /** Name for people, in messages about a route's configuration. */
  readonly name: string
  /** The request header that carries a payment; `Vary` names it. */
  readonly paymentHeader: string
  /**
   * Whether other protocols use the header too, as they do `Authorization`: a text that this dialect does not recognise is
   * no payment then, and no mistake either.
   */
  readonly sharesHeader?: boolean
  /** Whether its payers cannot pay without a challenge. */
  readonly needsBinding?: boolean
  /** The response headers that pages of other origins need. */
  readonly exposed: ReadonlyArray<string>
  /** Whether its payers read the offers from the body of a refusal, which a route's first dialect writes. */
  readonly offersInBody: boolean
  /** Whether it can express an option of this scheme on this network, with this `extra`. */
  readonly canOffer: (scheme: string, network: string, extra?: PaymentRequirements["extra"]) => boolean
  /** Whether the text of the payment header is in this dialect; dialects may share a header. */
  readonly recognises: (text: string) => boolean
  readonly readPayment: (text: string) => Result.Result<PresentedPayment, PaymentError | ValidationError>
  readonly refusal: (required: PaymentRequired, order?: SettleOrder, terms?: OfferTerms) => RefusalMessage
  /** Its entries for an option in discovery documents; without it, those leave the dialect out. */
  readonly listing?: (option: ListedOption) => Listing | undefined
  /** Whether its paid responses carry the brief receipt too. */
  readonly carriesBriefReceipts?: boolean
  /** The headers of a paid response. */
  readonly receiptHeaders: (settlement: Settlement, facts: PaidFacts) => HeaderFields
}

/** The head of a response as a payer's dialect reads it. */
export interface ResponseHead {
  readonly status: number
  readonly header: (name: string) => string | null
}

/** Terms of paying one option that its requirements do not say. The paying client keeps them, or does not pay. */
export interface PaymentTerms {
  /** The binding that the nonce is derived from, instead of a fresh one to the offer's challenge. */
  readonly binding: RequestBinding
  /** The Unix second before which the payment must end; `undefined` if the server names none. */
  readonly validUntil: number | undefined
  /** The request header that carries the payment. */
  readonly header: string
}

/** A refusal as a payer reads it, and the way to pay one of its options. */
export interface ReadRefusal {
  /** The readable part: options on networks without a CAIP-2 name are left out. */
  readonly required: PaymentRequired
  /** The terms of the option at this index of `required.accepts`, in a dialect that has such. */
  readonly termsOf?: (index: number) => PaymentTerms | undefined
  /**
   * The headers that pay the option at this index of `required.accepts` with the scheme's signed payload; none for a payload
   * that the dialect cannot carry.
   */
  readonly paymentHeaders: (index: number, payload: Schema.Json) => HeaderFields
}

/** A payment that was sent, as far as its receipt is compared with it. */
export interface SentHeaders {
  readonly network: string
  /** The headers that carried the payment. */
  readonly headers: HeaderFields
}

/** A receipt on a response, and the signed one beside it, whose signature is not verified. */
export type ReadReceipt = Receipt & { readonly signed?: PurchaseReceipt }

/** The payer's part of a wire format. */
export interface PayerDialect {
  /** The request header that carries a payment. */
  readonly paymentHeader: string
  /** Another header that carries one if a server wants it there. */
  readonly otherHeader?: string
  /** Whether a text of these headers is a payment, if other protocols use them too; absent if every text is one. */
  readonly recognises?: (text: string) => boolean
  /** Whether the head of a response alone identifies a refusal; else only the body does, and `mayRefuse` is a guess. */
  readonly isKnownByHead: boolean
  /** Whether a response may be a refusal of this dialect, by its head. */
  readonly mayRefuse: (head: ResponseHead) => boolean
  /**
   * Reads a refusal; `body` is the parsed JSON of its body, `undefined` without one. Returns `undefined` if it is not
   * of this dialect; a failure if it is, and cannot be read.
   */
  readonly readRefusal: (head: ResponseHead, body: unknown) => Result.Result<ReadRefusal, ValidationError> | undefined
  /** The receipt on a response, if it has one and it says that the money has moved; for `paid`, if that is known. */
  readonly readReceipt: (header: ResponseHead["header"], paid?: SentHeaders) => ReadReceipt | undefined
}
