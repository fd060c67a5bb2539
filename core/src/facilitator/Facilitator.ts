/**
 * The facilitator as a service: it verifies payments, claims them, settles them and remembers. The one in this process
 * and the one behind HTTP share this interface, so a seller's code does not change when the facilitator moves out.
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

/** A payment and the option it answers. */
export interface PaymentRequest {
  readonly paymentPayload: PaymentPayload
  readonly paymentRequirements: PaymentRequirements
}

/**
 * A wish to run the resource once. `id` is 128 random bits of base64url, new for each request the server handles;
 * `resource` is an HMAC-SHA256 of what is asked for, base64url, keyed by the shop's secret: nobody else can name it.
 */
export interface Claim {
  readonly id: string
  readonly resource: string
  /**
   * Names the route (method and path pattern) that sells the resource, in the same way. After a refused run the payment is
   * good for other resources of the route; without a route it is good for its resource alone.
   */
  readonly route?: string
  /**
   * Only a payment that is on record already may be granted: the server would not take it as new, since its price or its
   * challenge has passed, but it may have been taken before that.
   */
  readonly onlyKnown?: true
  /**
   * Claims of this same server process on the same payment whose asking ended without an answer: nobody runs anything under
   * them, and nobody will. What one of them holds goes to this claim, at once. Only who made a claim knows its id.
   */
  readonly resumes?: ReadonlyArray<string>
}

/**
 * Whether a payment that is being looked at for the first time was brought under this claim, or under one that it resumes: then
 * it waits for the record that is being made.
 */
export const isArrivingAs = ({ id, resumes = [] }: Claim, arriving: string | undefined): boolean =>
  arriving !== undefined && (arriving === id || resumes.includes(arriving))

/**
 * The refusal of a payment that only a record could have answered for (`onlyKnown`), where there is none. Servers then ask for
 * the payment's next offer, so it is a type of its own; `FacilitatorClient` reads it from the words on the wire.
 */
export class NotOnRecord extends ValidationError {
  /** The words on the wire. */
  static readonly words = { reason: "binding_mismatch", detail: "other_request" } as const

  constructor(
    message = "the payment is bound to another request, another price, or a challenge that is too old; sign for the one offered now"
  ) {
    super({ ...NotOnRecord.words, message })
  }
}

/** It says the same of every payment, so one is enough. */
export const notOnRecord = new NotOnRecord()

/**
 * Who may run the resource: `granted` this claim may; `held` another claim is running it now; `spent` it was run, or may
 * not be run again; `conflict` the authorization belongs to another resource.
 */
export type ClaimVerdict = "granted" | "held" | "spent" | "conflict"

/**
 * How a granted run ended: `served`; `refused` (an answer of 400 to 499: the application wanted another request); `failed`
 * (an outcome of 500 or above, or a response cut off); `notRun` (the handler was never reached).
 */
export const executionOutcomes = ["served", "refused", "failed", "notRun"] as const

export type ExecutionOutcome = (typeof executionOutcomes)[number]

/**
 * How a claim was given back: by the end of its run; or because its asking got no answer (`unanswered`), so that nobody ever
 * ran anything under it, or nobody was given what had run.
 */
export type ExecutionEnd = ExecutionOutcome | "unanswered"

/** The runs that are left after the present one, should the application refuse it or fail. */
export interface Entitlement {
  readonly runs: number
  /** Unix milliseconds. */
  readonly until: number
}

/** What is known of a payment after verifying it. */
export interface Verified {
  readonly payer: string
}

/**
 * What is known of a payment after claiming or settling it. `status` tells whether the money has moved
 * (`Settlement.isSettled`); `execution` is absent for a caller that made no claim.
 */
export interface Settled {
  readonly paymentId: string
  readonly status: PaymentState
  readonly execution: ClaimVerdict | undefined
  /** Empty while no transaction is known. */
  readonly transaction: string
  readonly network: string
  readonly payer: string
  /** Who gets the money, and in which token: the gate compares both with its own offer. */
  readonly payTo: string
  readonly asset: string
  /** In the smallest unit of the asset. */
  readonly amount: string
  /** What is left to the payer of a granted execution, should it be refused or fail; absent where nothing is. */
  readonly entitlement?: Entitlement
}

/**
 * The service.
 *
 * `verify` changes nothing. `claim` verifies and claims without a transfer; `settle` verifies, claims and transfers, and
 * is terminal and idempotent by authorization: asked again it answers from its record, also after the authorization has
 * expired. An outcome that is not known in time is `SettlementPending`, never a failure. `finish` is idempotent and
 * fenced by the claim's id.
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
      outcome: ExecutionEnd
    ) => Effect.Effect<PaymentRecord, ValidationError | ProtocolError>
    readonly payment: (paymentId: string) => Effect.Effect<PaymentRecord | undefined, ProtocolError>
    readonly supported: Effect.Effect<Sellable, ProtocolError>
  }
>()("@pontage/core/Facilitator") {}
