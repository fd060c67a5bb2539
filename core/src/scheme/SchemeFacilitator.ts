/**
 * The contract of a scheme facilitator. Its steps let an engine that knows no chain be crash-safe: the engine stores the bytes of
 * `prepare` before `submit`, may send them repeatedly, and believes only the proofs of `observe` and `conclude`.
 */
import type * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"

import type { Network } from "../protocol/Network.ts"
import type { PaymentError } from "../protocol/PaymentError.ts"
import type { PaymentRequirements } from "../protocol/PaymentRequirements.ts"
import type { ChainUnavailable, FacilitatorUnavailable, Misconfigured } from "../protocol/ProtocolError.ts"
import type { UnquotedNetwork } from "../protocol/Supported.ts"
import type { ValidationError } from "../protocol/ValidationError.ts"
import type { Onward } from "./Onward.ts"
import type { Block, Payment } from "./Payment.ts"
import type { Scheme } from "./Scheme.ts"
import type { SchemeChannels } from "./SchemeChannels.ts"

export type { Block, Payment } from "./Payment.ts"

/**
 * A place in the order of one signer's transactions (EVM: account and nonce). Families whose payers send their own transactions have
 * no slots.
 */
export interface Slot {
  /** The signer, in the family's wire form. */
  readonly lane: string
  readonly number: bigint
}

/**
 * The transactions that a count of a lane's slots includes: `included` those in blocks, `known` also those that wait in the pool,
 * `final` only those in final blocks.
 */
export type SlotCount = "included" | "known" | "final"

/**
 * The present price of one unit of gas, in the chain's smallest native unit. A `maximum` above the `ceiling` is higher than the
 * operator allows: nothing new is sent until it falls.
 */
export interface Fees {
  readonly maximum: bigint
  readonly priority: bigint
  readonly ceiling: bigint
}

/** The present state of the chain: queried before a transaction is signed, and to find the depth of earlier ones. */
export interface ChainHead {
  /** The newest block, and its time in Unix seconds. */
  readonly head: Block & { readonly time: number }
  /** The number of the newest block that is not reorganised any more. */
  readonly final: bigint
  /** A family without such fees leaves them out: its transactions are never replaced by ones that offer more. */
  readonly fees?: Fees
}

/**
 * Signed bytes that settle payments, ready to be sent and sent again. Plain data: it can be stored and read back.
 */
export interface PreparedTransaction {
  readonly slot: Slot | undefined
  /** The transaction's id on the chain, known before it is sent. */
  readonly transaction: string
  /** The exact bytes, in the chain's own text form. */
  readonly bytes: string
  /** The chain's head (block number) when it was prepared. */
  readonly head: bigint
  /** The most that it may cost its signer, in the chain's smallest native unit. */
  readonly cost: bigint
  /** The fees that it offers for a unit of gas, if the family has them: a replacement must offer more. */
  readonly fees?: Omit<Fees, "ceiling">
}

/** A transaction for the first payments of a list: `count` of them, at least one. The others go into another one. */
export interface Preparation {
  readonly prepared: PreparedTransaction
  readonly count: number
}

/**
 * The node's response to bytes that were sent. A missing response is `ChainUnavailable`: they may be on their way. No response proves
 * anything; the engine observes the chain.
 */
export type SubmitResult =
  | { readonly _tag: "Accepted" }
  /**
   * The node knows these bytes, or others with the same id, and does not say their outcome: they may be on their way, or may have been
   * rejected.
   */
  | { readonly _tag: "Known" }
  /** The slot is used already: by these bytes, by others of ours, or by a third party with the same key. */
  | { readonly _tag: "SlotUsed" }
  /** The node would take a transaction in this slot, but not these bytes: they offer too little, or are too old. */
  | { readonly _tag: "Outdated"; readonly message: string }
  /** The node rejects them for a reason on our side, such as a signer without native balance. */
  | { readonly _tag: "Refused"; readonly message: string }

/** The state of a payment on the chain. */
export type PaymentObservation =
  | { readonly _tag: "Pending" }
  /**
   * The token's own transfer, of the right amount to the right recipient, is in a block. `external`: neither one of the given attempts
   * has made it, nor another transaction that the family can recognise as the facilitator's. A family whose payers send their own
   * transactions cannot tell the sender, and says `false`.
   */
  | { readonly _tag: "Settled"; readonly transaction: string; readonly block: Block; readonly external: boolean }
  /**
   * This authorization has not moved the money and never will, whoever submits it: a payer that learns this signs another one. So a
   * chain with reorganisations says it only about final blocks, and not while the authorization can still be submitted.
   */
  | { readonly _tag: "Failed"; readonly transaction: string; readonly error: PaymentError | ValidationError }

/**
 * The state of a push (`Delivery.isPush`) whose transaction, in a final block, has not moved the money, while its authorization can still
 * be used, once. The operator's payment is owed and no other one is signed in its place, so the engine submits it again.
 */
export interface UnmovedPush {
  readonly _tag: "Unmoved"
  readonly transaction: string
  readonly error: PaymentError | ValidationError
}

/**
 * The place of one of a lane transaction's attempts in a block, and its cost for its signer, in the chain's smallest native unit.
 */
export interface Inclusion {
  readonly transaction: string
  readonly block: Block
  readonly cost: bigint
}

/** A payment to observe, and the bounds from which a transfer of it counts (`OwnTransfer.isOwn`). */
export interface ObservedPayment<Payload = unknown> {
  readonly payment: Payment<Payload>
  /** The chain's head (block number) when a transaction was first prepared for it: later blocks count. */
  readonly since: bigint
  /**
   * Unix seconds by the chain's clock: for a bound payment blocks of this time and later count too, whatever their number. Without it
   * only `since` counts.
   */
  readonly earliest?: number
  /**
   * No transaction was prepared for it here, and `since` is the present head: its transfer counts from `earliest` on, bound or not. The
   * engine knows that a third party has sent it.
   */
  readonly unprepared?: true
  /**
   * It was settled as its own before, and a reorganisation took that back: its transfer counts from `earliest` on, bound or not, in
   * whatever block the chain puts it again.
   */
  readonly settledBefore?: true
  /**
   * The signer of the lane that it waits or is settled in, in the family's wire form: its transactions are the facilitator's own, even
   * if it is not configured any more.
   */
  readonly lane?: string
}

/**
 * The state of one slot on the chain: the inclusion of one of our attempts, and the state of each payment, in the given order. A
 * payment may be `Pending` after the inclusion if the money moves by further messages.
 */
export interface TransactionObservation {
  readonly inclusion: Inclusion | undefined
  readonly observations: ReadonlyArray<PaymentObservation | UnmovedPush>
}

/**
 * The proof about an authorization: it moved the money, or it never will. `Pending` until the chain's final block is past the validity,
 * or shows that the authorization was used for something else.
 */
export type Conclusion =
  | Exclude<PaymentObservation, { readonly _tag: "Failed" }>
  | {
      readonly _tag: "Unused"
      readonly at: Block
      /** The reason why its transfer was not made, if it is known. */
      readonly reason?: PaymentError | ValidationError
    }

/** A signer and its native balance, in the chain's smallest native unit. */
export interface SignerBalance {
  readonly address: string
  readonly balance: bigint
}

/** The scheme facilitator of one network. */
export interface SchemeFacilitator<Payload = unknown> {
  readonly scheme: Scheme
  readonly network: Network
  /** The signers that send transactions; empty where payers send their own. */
  readonly lanes: ReadonlyArray<string>
  /** Further terms that payers need: `GET /supported` shows them, and servers put them into their offers. */
  readonly extra?: Readonly<Record<string, Schema.Json>>
  /** Settles payments of the engine itself alone, such as deliveries: `GET /supported` does not show it. */
  readonly isInternal?: boolean
  /** The present quotes of payments that go on to other networks, for `GET /supported`; a network that cannot be quoted is left out. */
  readonly quotes?: Effect.Effect<ReadonlyArray<Readonly<Record<string, Schema.Json>>>>
  /** The networks that `quotes` leaves out now, with their reasons. */
  readonly unquoted?: Effect.Effect<ReadonlyArray<UnquotedNetwork>>
  /**
   * The most pending transactions of one lane; default 16, about the number that nodes hold for one account, and 256 where payers send
   * their own.
   */
  readonly capacity?: number
  /** The most that settling may cost in 24 hours if the operator sets no ceiling, in the chain's smallest native unit. */
  readonly gasCeiling?: bigint
  /**
   * The most pending payments of one payer, and of one caller, in a lane without slots; default a 32nd of the capacity, and half of it.
   * Further ones wait, and delay no other payer.
   */
  readonly shares?: { readonly payer: number; readonly caller: number }
  /**
   * Batches: at most `maximum` payments share a transaction, after a wait of at most `windowMillis`, which ends early when no further
   * payment is expected. A batch is smaller if it would cost more than `maximumCost` (in the chain's smallest native unit; default no
   * limit). Default: one payment a transaction.
   */
  readonly batches?: { readonly maximum: number; readonly windowMillis: number; readonly maximumCost?: bigint }
  /**
   * Payment channels: then this scheme's payments are their jobs (deposits, claims, refunds). A job buys nothing, so each call for it is
   * answered from its record.
   */
  readonly channels?: SchemeChannels<Payment>
  /** Reads the payload's common terms, from the signed bytes alone: no chain, no clock. It also proves the binding, if any. */
  readonly read: (
    requirements: PaymentRequirements,
    payload: unknown
  ) => Effect.Effect<Payment<Payload>, PaymentError | ValidationError>
  /**
   * Reads a payment that `read` accepted under earlier settings and refuses under today's: its asset is not configured any more, or its
   * terms name a removed signer. It is called for payments on record, whose transactions may be on the chain: without a reading their
   * ends would stay unknown. It fails if the payload itself is not a payment.
   */
  readonly recall?: (
    requirements: PaymentRequirements,
    payload: unknown
  ) => Effect.Effect<Payment<Payload>, PaymentError | ValidationError>
  /**
   * Verifies everything else: signature and scheme rules offline first, then one look at the chain. It changes nothing. It fails with
   * `FacilitatorUnavailable` for a payment that may be good and is not to be risked now (`LossBudget`).
   */
  verify(
    payment: Payment<Payload>
  ): Effect.Effect<void, PaymentError | ValidationError | ChainUnavailable | FacilitatorUnavailable>
  /** The payer's present balance of the asset, in its smallest unit. */
  balance(payment: Payment<Payload>): Effect.Effect<bigint, ChainUnavailable>
  /**
   * The next slot of a lane by the chain's own count. A node that serves another chain by now is `ChainUnavailable`: by its count the
   * lane would leave slots out that no transaction ever takes.
   */
  readonly nextSlot: (lane: string, counting: SlotCount) => Effect.Effect<bigint, ChainUnavailable>
  /**
   * The chain's present time, in Unix seconds: that of its newest block, or of the next one if the chain makes no blocks without
   * transactions. The facilitator's clock is compared with it. A family without such a time leaves it out.
   */
  readonly time?: Effect.Effect<number, ChainUnavailable>
  /** The chain head, queried after the call. */
  readonly chainHead: Effect.Effect<ChainHead, ChainUnavailable>
  /** Whether this block is still part of the chain. */
  readonly isCanonical: (block: Block) => Effect.Effect<boolean, ChainUnavailable>
  /**
   * Signs the transaction that settles the first payments of the list in this slot, at the chain head's fees. It sends nothing.
   * `maximumCost`, in the chain's smallest native unit, limits the payments that it takes; it takes the first one in any case. If the
   * first payment is not to be risked now (`LossBudget`), it fails with `FacilitatorUnavailable`, and may be called for the others.
   *
   * With the transaction to replace (`replaced`) and its payments it takes all of them again, whatever batches, budgets and assets are
   * configured now: their bytes are known, and a slot without a replacement would block the whole lane.
   */
  prepare(
    payments: ReadonlyArray<Payment<Payload>>,
    slot: Slot | undefined,
    chainHead: ChainHead,
    maximumCost?: bigint,
    replaced?: PreparedTransaction
  ): Effect.Effect<Preparation, ChainUnavailable | FacilitatorUnavailable | Misconfigured>
  /**
   * Frees the amounts that were counted for prepared payments (`LossBudget`): the bytes that were signed for them will not be sent. A
   * scheme that counts nothing leaves it out.
   */
  release?(payments: ReadonlyArray<Payment<Payload>>): Effect.Effect<void>
  /** Signs a transaction that does nothing but use a slot up, at the chain head's fees. */
  readonly noop: (
    slot: Slot,
    chainHead: ChainHead
  ) => Effect.Effect<PreparedTransaction, ChainUnavailable | Misconfigured>
  /** Sends prepared bytes. Harmless to repeat. */
  readonly submit: (prepared: PreparedTransaction) => Effect.Effect<SubmitResult, ChainUnavailable>
  /** Observes a slot's transactions, and the proof of each payment's transfer or of its impossibility. */
  observe(
    observedPayments: ReadonlyArray<ObservedPayment<Payload>>,
    attempts: ReadonlyArray<PreparedTransaction>
  ): Effect.Effect<TransactionObservation, ChainUnavailable>
  /** Proves the outcome of an authorization. */
  conclude(observedPayment: ObservedPayment<Payload>): Effect.Effect<Conclusion, ChainUnavailable>
  /** Present if payments of this scheme may go on to another network. */
  readonly onward?: Onward<Payload>
  /** Each signer's native balance. */
  readonly signers: Effect.Effect<ReadonlyArray<SignerBalance>, ChainUnavailable>
}
