/**
 * Payment channels of a scheme facilitator: a payer deposits once, signs a higher total for each request, and the receiver has the
 * last total paid out. The chain itself makes each step safe to repeat, so a step buys nothing: every call for it is answered.
 */
import type * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"

import type { PaymentError } from "../protocol/PaymentError.ts"
import type { PaymentRequirements } from "../protocol/PaymentRequirements.ts"
import type { ChainUnavailable, FacilitatorUnavailable, Misconfigured } from "../protocol/ProtocolError.ts"
import type { ValidationError } from "../protocol/ValidationError.ts"

/** Facts for a server, in the scheme's own words. */
export type ChannelFacts = Readonly<Record<string, Schema.Json>>

/** A server's request about a channel: the offer, the scheme's JSON, and the name of the caller; empty if callers have no names. */
export interface ChannelRequest {
  readonly requirements: PaymentRequirements
  readonly payload: Schema.Json
  readonly caller: string
}

/** The result of verifying a payer's message: the payer, and the state of the channel on the chain. */
export interface InspectedChannel {
  readonly payer: string
  readonly facts: ChannelFacts
}

/**
 * The next step of a request to settle, by the chain's present state. `Job`: a transaction is to be sent; its payload is what
 * `SchemeFacilitator.read` reads, and is recorded with the payment. `Done`: the chain shows all of it already.
 */
export type ChannelStep =
  | { readonly _tag: "Job"; readonly payload: Schema.Json }
  | { readonly _tag: "Done"; readonly report: ChannelReport }

/** The answer to a request to settle. `payer` and `amount` are empty where the request has none. */
export interface ChannelReport {
  readonly payer: string
  readonly amount: string
  readonly facts: ChannelFacts
}

type Refusal = PaymentError | ValidationError
type Unavailable = ChainUnavailable | FacilitatorUnavailable | Misconfigured

/** The channels of one network. `P` is a payment as `SchemeFacilitator.read` reads it. */
export interface SchemeChannels<P = unknown> {
  /**
   * Verifies what a payer sent: a deposit, a voucher, or the request for a refund. It changes nothing. `isRecorded` tells whether a
   * job is on record and may be on the chain already: a deposit is not tried once more then.
   */
  readonly inspect: (
    request: ChannelRequest,
    isRecorded: (job: Schema.Json) => Effect.Effect<boolean, Refusal | FacilitatorUnavailable>
  ) => Effect.Effect<InspectedChannel, Refusal | Unavailable>
  /**
   * Whether the request is planned only when the earlier jobs of its account (`Authorization.payer`) have ended, because their ends
   * change what is left to do.
   */
  readonly takesTurns: (payment: P) => boolean
  /**
   * Plans a request to settle: verifies all of it, tries it out on the chain, and signs with the facilitator's own key where the
   * request leaves that to it.
   */
  readonly plan: (request: ChannelRequest) => Effect.Effect<ChannelStep, Refusal | Unavailable>
  /** Reports a job whose transaction is in a block, by the chain's state as of that block or a later one. */
  readonly report: (payment: P, transaction: string) => Effect.Effect<ChannelReport, ChainUnavailable>
}
