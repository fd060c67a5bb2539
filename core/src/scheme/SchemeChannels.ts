/**
 * Payment channels of a scheme facilitator: a payer deposits once, signs a higher total for each request, and the receiver has the
 * last total paid out. The chain itself makes each step safe to repeat, so a step buys nothing: every call for it is answered.
 */
import type * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"

import type { PaymentError } from "../protocol/PaymentError.ts"
import type { ChainUnavailable, FacilitatorUnavailable, Misconfigured } from "../protocol/ProtocolError.ts"
import type { ValidationError } from "../protocol/ValidationError.ts"
import type { ChannelFacts, ChannelRequest, SchemeDraws } from "./SchemeDraws.ts"

export type { ChannelFacts, ChannelRequest } from "./SchemeDraws.ts"

/** The result of verifying a payer's message: the payer, and the state of the channel on the chain. */
export interface InspectedChannel {
  readonly payer: string
  readonly facts: ChannelFacts
}

/**
 * The record of a job. `kept`: it is under way or done. `other`: its name is that of a job with other terms, which is under way or
 * done. `ended`: it has moved nothing and never will, or another party has done it.
 */
export type JobRecord = "none" | "kept" | "other" | "ended"

/** Looks a job up in the records, by the payload that `SchemeFacilitator.read` reads. */
export type JobRecords = (job: Schema.Json) => Effect.Effect<JobRecord, Refusal | FacilitatorUnavailable>

/**
 * The next step of a request to settle, by the chain's present state. `Job`: a transaction is to be sent; its payload is what
 * `SchemeFacilitator.read` reads, and is recorded with the payment. `apart`: parts of the request that may fail without the rest, each
 * by a job of its own. `Done`: the chain shows all of it already.
 */
export type ChannelStep =
  | { readonly _tag: "Job"; readonly payload: Schema.Json; readonly apart?: ReadonlyArray<Schema.Json> }
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
   * Verifies what a payer sent: a deposit, a voucher, or the request for a refund. It changes nothing. A deposit that is on record is
   * not tried once more.
   */
  readonly inspect: (
    request: ChannelRequest,
    recordOf: JobRecords
  ) => Effect.Effect<InspectedChannel, Refusal | Unavailable>
  /**
   * Whether the request is planned only when the earlier jobs of its account (`Authorization.payer`) have ended, because their ends
   * change what is left to do.
   */
  readonly takesTurns: (payment: P) => boolean
  /**
   * Plans a request to settle: verifies all of it, tries it out on the chain, and signs with the facilitator's own key where the
   * request leaves that to it. The same request is the same job until that has ended.
   */
  readonly plan: (request: ChannelRequest, recordOf: JobRecords) => Effect.Effect<ChannelStep, Refusal | Unavailable>
  /**
   * Reports a job whose transaction is in a block, by the chain's state as of that block or a later one. `failed` are the jobs beside it
   * that were not done.
   */
  readonly report: (
    payment: P,
    transaction: string,
    failed: ReadonlyArray<P>
  ) => Effect.Effect<ChannelReport, ChainUnavailable>
  /** Draws, for a facilitator with the receiver's ledger; absent where nothing authorizes claims. */
  readonly draws?: SchemeDraws
}
