/**
 * The facilitator as a service: it verifies, claims, settles and records payments. The one in this process and the one
 * behind HTTP share this interface, so a seller's code does not change when the facilitator moves out.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"

import type { PaymentFailure } from "../protocol/PaymentFailure.ts"
import type { PaymentPayload } from "../protocol/PaymentPayload.ts"
import type { PaymentRequirements } from "../protocol/PaymentRequirements.ts"
import type { ProtocolError } from "../protocol/ProtocolError.ts"
import type { PaymentRecord, PaymentState } from "../protocol/Settlement.ts"
import type { Sellable } from "../protocol/Supported.ts"
import { ValidationError } from "../protocol/ValidationError.ts"
import type { ChannelFacts } from "../scheme/SchemeChannels.ts"

/** A payment and the offer that it pays. */
export interface PaymentRequest {
  readonly paymentPayload: PaymentPayload
  readonly paymentRequirements: PaymentRequirements
}

/**
 * A claim to execute the resource once. `id` is 128 random bits of base64url, new for each request of the server;
 * `resource` is an HMAC-SHA256 of the requested resource, base64url, keyed by the shop's secret, so no other party can
 * name it.
 */
export interface Claim {
  readonly id: string
  readonly resource: string
  /**
   * The route (method and path pattern) that sells the resource, as an HMAC too. After a refused execution the payment
   * is good for other resources of the route; without a route it is good for its resource alone.
   */
  readonly route?: string
  /**
   * Grants only a payment that is on record: the server would not accept it as new, since its price or its challenge
   * has passed, but it may have accepted it before.
   */
  readonly onlyKnown?: true
  /**
   * Earlier claims of this server process on the same payment that got no response: nothing is executed under them, and
   * nothing will be. An execution held by one of them passes to this claim at once. Only the maker of a claim knows its
   * id.
   */
  readonly resumes?: ReadonlyArray<string>
  /**
   * The execution may begin only after the delivery, if the money goes on to another network. Until then a call for it fails with
   * `SettlementPending`.
   */
  readonly awaits?: "delivered"
}

/**
 * Whether a payment under first verification was presented under this claim, or under one that it resumes: then it
 * waits for the record that is being made.
 */
export const isArrivingAs = ({ id, resumes = [] }: Claim, arriving: string | undefined): boolean =>
  arriving !== undefined && (arriving === id || resumes.includes(arriving))

/**
 * The refusal under `onlyKnown` of a payment that is not on record. Servers then ask for the payment's next offer, so
 * it is a type of its own; `FacilitatorClient` reads it from the reason and detail on the wire.
 */
export class NotOnRecord extends ValidationError {
  /** The reason and detail on the wire. */
  static readonly words = { reason: "binding_mismatch", detail: "other_request" } as const

  constructor(
    message = "the payment is bound to another request, another price, or a challenge that is too old; sign for the one offered now"
  ) {
    super({ ...NotOnRecord.words, message })
  }
}

/** One instance suffices, since it does not depend on the payment. */
export const notOnRecord = new NotOnRecord()

/**
 * The verdict on a claim: `granted`, it may execute; `held`, another claim is executing; `spent`, the execution was
 * used or may not be repeated; `conflict`, the authorization belongs to another resource.
 */
export type ClaimVerdict = "granted" | "held" | "spent" | "conflict"

/**
 * The outcome of a granted execution: `served`; `refused` (a response of 400 to 499: the application wanted another
 * request); `failed` (a status of 500 or above, or a response cut off); `notRun` (the handler was never reached).
 */
export const executionOutcomes = ["served", "refused", "failed", "notRun"] as const

export type ExecutionOutcome = (typeof executionOutcomes)[number]

/**
 * The end of a claim: the outcome of its execution, or `unanswered` if its request got no response, so that nothing was
 * executed under it or no result was delivered.
 */
export type ExecutionEnd = ExecutionOutcome | "unanswered"

/** The executions left after the present one, if the application refuses it or fails. */
export interface Entitlement {
  readonly runs: number
  /** Unix milliseconds. */
  readonly until: number
}

/** The result of verifying a payment. `extra` has the state of its channel, in the scheme's words (`SchemeChannels`). */
export interface Verified {
  readonly payer: string
  readonly extra?: ChannelFacts
}

/**
 * The result of claiming or settling a payment. `status` tells whether the money has moved (`Settlement.isSettled`);
 * `execution` is absent for a caller without a claim.
 */
export interface Settled {
  readonly paymentId: string
  readonly status: PaymentState
  readonly execution: ClaimVerdict | undefined
  /** Empty while no transaction is known. */
  readonly transaction: string
  readonly network: string
  readonly payer: string
  /** The payee and the token: the gate compares both with its own offer. */
  readonly payTo: string
  readonly asset: string
  /** In the smallest unit of the asset; empty where no amount belongs to the job of a channel. */
  readonly amount: string
  /** The state of a channel after a job of it, in the scheme's words. */
  readonly extra?: ChannelFacts
  /**
   * Whether nothing has moved for this execution: a draw on a channel is charged when the head of a response below 400 is sent, and costs
   * nothing if none is.
   */
  readonly isDraw?: true
  /** Whether the payer has asked for a refund of its channel, and got `amount` back: no resource runs for it. */
  readonly isRefund?: true
  /** The payer's entitlement after a granted execution, should it be refused or fail; absent if none is left. */
  readonly entitlement?: Entitlement
}

/** The standing of a channel for a stream that draws on it window by window. Amounts are in the smallest unit of its token. */
export interface ChannelStanding {
  readonly channelId: string
  /** The charges of all draws, and what the open ones may still cost: the base of the next voucher. */
  readonly owed: bigint
  /** The highest accepted voucher. */
  readonly accepted: bigint
  /** The highest voucher that strangers may know: a claim has named it on the chain, or the refusal of a refund. */
  readonly published: bigint
  readonly balance: bigint
  /** The state in the words of the scheme. */
  readonly facts: ChannelFacts
}

/**
 * The result of a voucher without a draw. `Kept` also for the voucher that is kept already; `Lower`: a higher one is accepted; `Closed`:
 * the channel is drawn on no more. `transaction` is of the deposit beside it, and empty without one.
 */
export interface VoucherKept {
  readonly _tag: "Kept" | "Lower" | "Closed"
  readonly standing: ChannelStanding
  readonly transaction: string
}

/** A request for a further part of a channel's credit, for a stream that a draw on it has begun. */
export interface CreditRequest {
  /** The draw. */
  readonly paymentId: string
  /** New for each part. */
  readonly claimId: string
  readonly amount: bigint
  /** Waits while the credit would need this voucher, */
  readonly known: bigint | undefined
  /** and at most this long, in milliseconds. */
  readonly waitMillis: number
}

/** The result: `Granted` is durable, and reserved under its claim; `Wanting` needs a voucher of `required` at least. */
export type Credit = { readonly standing: ChannelStanding } & (
  | { readonly _tag: "Granted"; readonly paymentId: string }
  | { readonly _tag: "Wanting"; readonly required: bigint }
  | { readonly _tag: "Closed" }
)

/** The credit of channels, by which streams draw on them. It never runs or bills a request. */
export interface ChannelCredits {
  /** Keeps a higher voucher, and makes the deposit beside it. */
  readonly voucher: (request: PaymentRequest) => Effect.Effect<VoucherKept, PaymentFailure>
  readonly reserve: (request: CreditRequest) => Effect.Effect<Credit, ValidationError | ProtocolError>
  /** Extends the lease of a claim's open draw; `false` if it is open no more. */
  readonly renew: (paymentId: string, claimId: string) => Effect.Effect<boolean, ProtocolError>
  /** Whether the channel of a draw is drawn on no more, by the chain as of a moment ago. */
  readonly isClosed: (paymentId: string) => Effect.Effect<boolean, ProtocolError>
  /** The standing of a draw's channel. */
  readonly standing: (paymentId: string) => Effect.Effect<ChannelStanding | undefined, ProtocolError>
}

/**
 * The service.
 *
 * `verify` changes nothing. `claim` verifies and claims without a transfer. `settle` verifies, claims and transfers; it
 * is terminal and idempotent by authorization: a repeated call is answered from the record, also after the
 * authorization has expired. An outcome that is not known in time is `SettlementPending`, never a failure. `finish` is
 * idempotent and fenced by the claim's id.
 */
export class Facilitator extends Context.Service<
  Facilitator,
  {
    readonly verify: (request: PaymentRequest) => Effect.Effect<Verified, PaymentFailure>
    readonly settle: (request: PaymentRequest, claim?: Claim) => Effect.Effect<Settled, PaymentFailure>
    readonly claim: (request: PaymentRequest, claim: Claim) => Effect.Effect<Settled, PaymentFailure>
    readonly finish: (
      paymentId: string,
      claimId: string,
      outcome: ExecutionEnd,
      /** The most that a served draw on a channel is charged, in the smallest unit; default all that it reserved. */
      charge?: bigint
    ) => Effect.Effect<PaymentRecord, ValidationError | ProtocolError>
    readonly payment: (paymentId: string) => Effect.Effect<PaymentRecord | undefined, ProtocolError>
    readonly supported: Effect.Effect<Sellable, ProtocolError>
    /** Absent where no ledger of channels is kept. */
    readonly credits?: ChannelCredits
  }
>()("@pontage/core/Facilitator") {}
