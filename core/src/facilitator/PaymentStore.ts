/**
 * The facilitator's memory, and the one place where an authorization is claimed. A store promises atomicity: of any number
 * of concurrent claims on one authorization exactly one creates its record, in this process and in all others that share
 * the store. `testing/PaymentStoreLaws` says the same as executable laws.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"

import type { Authorization } from "../protocol/Authorization.ts"
import type { PaymentError } from "../protocol/PaymentError.ts"
import type { PaymentRequirements } from "../protocol/PaymentRequirements.ts"
import * as Settlement from "../protocol/Settlement.ts"
import type { ValidationError } from "../protocol/ValidationError.ts"
import type { Prepared } from "../scheme/SchemeFacilitator.ts"
import type { Claim, Execution, Outcome } from "./Facilitator.ts"
import * as Run from "./Run.ts"

/**
 * Everything needed to settle a payment, again after a restart.
 *
 * @category models
 */
export interface NewPayment {
  readonly paymentId: string
  readonly requirements: PaymentRequirements
  readonly authorization: Authorization
  /** The scheme's JSON as it came. */
  readonly payload: Schema.Json
}

/**
 * A payment's record. `history` is append-only; its times are Unix milliseconds.
 *
 * @category models
 */
export interface StoredPayment extends NewPayment {
  readonly status: Settlement.PaymentState
  /** The transaction that moved the money, or the last one sent to move it; empty before that. */
  readonly transaction: string
  /** The bytes last planned, to be sent again as they are. */
  readonly prepared: Prepared | undefined
  /** Why it was refused, in a dead state. */
  readonly refusal: PaymentError | ValidationError | undefined
  readonly run: Run.Run
  /** A caller without a claim was told that the outcome is pending, and is owed the answer once. */
  readonly answerOwed: boolean
  readonly history: Settlement.PaymentRecord["history"]
}

/**
 * What became of a claim. `created` tells whether this call made the record; `execution` is absent for a caller that made
 * no claim. `Overdrawn`: the payer's other payments in flight reserve so much of the balance that this one may not fit;
 * nothing was written.
 *
 * @category models
 */
export type ClaimResult =
  | {
      readonly _tag: "Claimed"
      readonly created: boolean
      readonly execution: Execution | undefined
      readonly payment: StoredPayment
    }
  | { readonly _tag: "Overdrawn"; readonly reserved: bigint }

/**
 * A change of state, applied only when the record is in one of the states `from`.
 *
 * @category models
 */
export interface Advance {
  readonly from: ReadonlyArray<Settlement.PaymentState>
  readonly to: Settlement.PaymentState
  readonly transaction?: string
  readonly prepared?: Prepared
  readonly refusal?: PaymentError | ValidationError
  readonly note?: string
}

/**
 * The service. Every method is atomic; none fails for a reason of the payment. Times are Unix milliseconds.
 *
 * @category services
 */
export class PaymentStore extends Context.Service<
  PaymentStore,
  {
    readonly find: (paymentId: string) => Effect.Effect<StoredPayment | undefined>
    /**
     * Claims an authorization. With no record yet it creates one; else the claim is judged against the run (`Run.claim`).
     * `available` is the payer's balance, if the caller has asked for it: it must cover all that is in flight and this.
     */
    readonly claim: (
      payment: NewPayment,
      claim: Claim | undefined,
      available: bigint | undefined
    ) => Effect.Effect<ClaimResult>
    /** Compare and set. `undefined` when the record is missing or in another state; nothing was written then. */
    readonly advance: (paymentId: string, change: Advance) => Effect.Effect<StoredPayment | undefined>
    readonly finish: (paymentId: string, claimId: string, outcome: Outcome) => Effect.Effect<StoredPayment | undefined>
    /** Notes that a caller without a claim is owed an answer, or has got it. Returns what the note said before. */
    readonly oweAnswer: (paymentId: string, owed: boolean) => Effect.Effect<boolean>
  }
>()("@pontage/core/PaymentStore") {}

/**
 * When the money moved; `undefined` while it has not.
 *
 * @category getters
 */
export const settledAt = ({ history }: StoredPayment): number | undefined =>
  history.find(({ status }) => Settlement.isSettled(status))?.at

/**
 * What a run's judgement depends on.
 *
 * @category getters
 */
export const circumstances = (payment: StoredPayment, now: number): Run.Circumstances => ({
  settledAt: settledAt(payment),
  bound: payment.authorization.binding !== undefined,
  now
})

/**
 * Whether the payment holds a part of its payer's balance: it is on its way, or somebody is about to send it.
 *
 * @category guards
 */
export const reserves = ({ run, status }: StoredPayment, now: number): boolean =>
  status === "planned" || status === "sent" || (status === "accepted" && Run.isHeld(run, now))

/**
 * The record as the facilitator shows it.
 *
 * @category conversions
 */
export const toRecord = (payment: StoredPayment, now: number): Settlement.PaymentRecord => {
  const { authorization, refusal } = payment
  return {
    paymentId: payment.paymentId,
    status: payment.status,
    network: payment.requirements.network,
    asset: authorization.asset,
    payer: authorization.payer,
    payTo: authorization.payTo,
    amount: `${authorization.amount}`,
    transaction: payment.transaction,
    execution: Run.standing(payment.run, circumstances(payment, now)),
    runs: payment.run.count,
    ...(refusal?._tag === "PaymentError" && { code: refusal.code, detail: refusal.detail }),
    ...(refusal?._tag === "ValidationError" && { reason: refusal.reason, detail: refusal.detail }),
    history: payment.history
  }
}
