/**
 * The settling half of a scheme. It is cut so that an engine that knows no chain can be crash-safe: the engine stores the
 * bytes of `prepare` before `submit`, sends them as often as it likes, and believes only what `observe` and `conclude`
 * prove.
 */
import type * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"

import type { Authorization } from "../protocol/Authorization.ts"
import type { Network } from "../protocol/Network.ts"
import type { PaymentError } from "../protocol/PaymentError.ts"
import type { PaymentRequirements } from "../protocol/PaymentRequirements.ts"
import type { ChainUnavailable, FacilitatorUnavailable, Misconfigured } from "../protocol/ProtocolError.ts"
import type { ValidationError } from "../protocol/ValidationError.ts"
import type { Scheme } from "./Scheme.ts"

/**
 * A payment as the facilitator holds it: the offer, what was signed in common words, and the scheme's own payload.
 */
export interface Payment<Payload = unknown> {
  readonly requirements: PaymentRequirements
  readonly authorization: Authorization
  readonly payload: Payload
  /**
   * The name of the caller on whose behalf it is verified and settled, empty where callers are not told apart. The engine sets it
   * beside what `read` gives: a scheme counts by it what it loses.
   */
  readonly caller?: string
  /**
   * It was taken in under earlier settings, and today's `read` refuses it: only `recall` could read it. The engine sets it. Such a
   * payment is watched to its end, and nothing new is signed for it.
   */
  readonly recalled?: true
}

/**
 * A place in the order of one signer's transactions (EVM: account and nonce). Families whose payers send their own
 * transaction have none.
 */
export interface Slot {
  /** The signer, in the family's wire form. */
  readonly lane: string
  readonly number: bigint
}

/**
 * What a count of a lane's slots takes in: transactions in blocks, those that nodes wait to include too, or those in final blocks
 * alone.
 */
export type SlotCount = "included" | "known" | "final"

/** A block, by its place and by what tells it from another in the same place. */
export interface Block {
  readonly number: bigint
  readonly hash: string
}

/**
 * What one unit of gas costs now, in the chain's smallest native unit. A `maximum` above the `ceiling` says that the chain
 * is dearer than the operator allows: nothing new is sent until it falls.
 */
export interface Fees {
  readonly maximum: bigint
  readonly priority: bigint
  readonly ceiling: bigint
}

/** The chain as it is now: asked before a transaction is signed, and to see how deep the earlier ones lie. */
export interface ChainHead {
  /** The newest block, and its time in Unix seconds. */
  readonly head: Block & { readonly time: number }
  /** The number of the newest block that is not reorganised any more. */
  readonly final: bigint
  /** A family without such fees leaves them out: its transactions are never replaced by dearer ones. */
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
  /** The most it may cost its signer, in the chain's smallest native unit. */
  readonly cost: bigint
  /** What it offers for a unit of gas, where the family has such fees: a replacement must offer more. */
  readonly fees?: Omit<Fees, "ceiling">
}

/** A transaction for the first payments of a list: `count` of them, at least one. The others go into another one. */
export interface Preparation {
  readonly prepared: PreparedTransaction
  readonly count: number
}

/**
 * What happened when bytes were sent. No answer at all is `ChainUnavailable`: they may be on their way. None of these is
 * proof of anything; the engine looks at the chain.
 */
export type SubmitResult =
  | { readonly _tag: "Accepted" }
  /**
   * The node has seen these bytes, or some with the same id, and does not say what became of them: they may be on their way,
   * or may have been refused.
   */
  | { readonly _tag: "Known" }
  /** The slot is used already: by these bytes, by others of ours, or by a stranger with the same key. */
  | { readonly _tag: "SlotUsed" }
  /** The node takes a transaction in this slot, though not these bytes as they are: they offer too little, or are too old. */
  | { readonly _tag: "Outdated"; readonly message: string }
  /** The node would not take them for a reason of ours, such as no gas money. */
  | { readonly _tag: "Refused"; readonly message: string }

/** What the chain shows of a payment. */
export type PaymentObservation =
  | { readonly _tag: "Pending" }
  /**
   * The token's own transfer, of the right amount to the right recipient, is in a block. `external`: none of the given
   * attempts has made it, nor any other transaction that the family can tell to be the facilitator's. A family whose payers
   * send their own transactions cannot tell who has sent one, and says `false`.
   */
  | { readonly _tag: "Settled"; readonly transaction: string; readonly block: Block; readonly external: boolean }
  /**
   * This authorization has not moved the money and never will, whoever submits it: who is told of it signs another one. So a
   * chain that takes blocks back says it only of what it does not take back any more, and not while anybody may still submit it.
   */
  | { readonly _tag: "Failed"; readonly transaction: string; readonly error: PaymentError | ValidationError }

/**
 * Where one of a flight's transactions was found: the block, and what it has cost its signer, in the chain's smallest
 * native unit.
 */
export interface Inclusion {
  readonly transaction: string
  readonly block: Block
  readonly cost: bigint
}

/** A payment on its way, and from where on a transfer of it counts (`OwnTransfer.isOwn`). */
export interface ObservedPayment<Payload = unknown> {
  readonly payment: Payment<Payload>
  /** The chain's head (block number) when a transaction was first prepared for it: later blocks count. */
  readonly since: bigint
  /**
   * Unix seconds by the chain's clock: of a bound payment blocks of this time and later count too, whatever their number.
   * Without it only `since` counts.
   */
  readonly earliest?: number
  /**
   * No transaction was prepared for it here, and `since` is the head of now: its transfer is shown from `earliest` on whether it is
   * bound or not. Whoever asks knows that somebody else has sent it.
   */
  readonly unprepared?: true
}

/**
 * What the chain shows of one slot: whether one of our transactions in it landed, and what became of each payment, in the
 * order they were asked for. A payment may be `Pending` after the landing, where money moves by further messages.
 */
export interface TransactionObservation {
  readonly inclusion: Inclusion | undefined
  readonly observations: ReadonlyArray<PaymentObservation>
}

/**
 * What is proven of an authorization once its validity is over: it moved the money, or it never will. `Pending` until the
 * chain's final block is past the validity.
 */
export type Conclusion =
  | Exclude<PaymentObservation, { readonly _tag: "Failed" }>
  | {
      readonly _tag: "Unused"
      readonly at: Block
      /** Why the transaction that was sent for it has not moved the money, where that is known. */
      readonly reason?: PaymentError | ValidationError
    }

/** A signer and what it has left to pay for gas, in the chain's smallest native unit. */
export interface SignerBalance {
  readonly address: string
  readonly balance: bigint
}

/** The settling half for one network. */
export interface SchemeFacilitator<Payload = unknown> {
  readonly scheme: Scheme
  readonly network: Network
  /** The signers that send transactions; empty where payers send their own. */
  readonly lanes: ReadonlyArray<string>
  /** What payers must know beside the common terms: `GET /supported` shows it, and servers put it into their offers. */
  readonly extra?: Readonly<Record<string, Schema.Json>>
  /**
   * How many transactions of one lane may be on their way at once; default 16, about what nodes hold for one account, and 256
   * where payers send their own.
   */
  readonly capacity?: number
  /** The most that settling may cost in 24 hours where the operator sets no ceiling, in the chain's smallest native unit. */
  readonly gasCeiling?: bigint
  /**
   * How many payments of one payer, and of one caller, may be on their way at once in a lane without slots; default a 32nd of
   * the capacity, and half of it. More of them wait, and keep nobody else waiting.
   */
  readonly shares?: { readonly payer: number; readonly caller: number }
  /**
   * How payments travel together: so many in a transaction, after waiting at most so long for company, as long as any comes,
   * and fewer where it would cost more than `maximumCost` (in the chain's smallest native unit; default any). Default one by
   * one.
   */
  readonly batches?: { readonly maximum: number; readonly windowMillis: number; readonly maximumCost?: bigint }
  /** The payload's common terms, from the signed bytes alone: no chain, no clock. It also proves the binding, if any. */
  readonly read: (
    requirements: PaymentRequirements,
    payload: unknown
  ) => Effect.Effect<Payment<Payload>, PaymentError | ValidationError>
  /**
   * Reads what `read` had accepted under earlier settings, though today's would refuse it: its asset is not configured any more,
   * its terms name a signer that is gone. It is asked for payments on record, whose transactions may be on the chain: without a
   * reading their ends could not be told. It fails where the payload itself is no payment.
   */
  readonly recall?: (
    requirements: PaymentRequirements,
    payload: unknown
  ) => Effect.Effect<Payment<Payload>, PaymentError | ValidationError>
  /**
   * Everything else: signature and scheme rules offline first, then one look at the chain. It changes nothing. It fails with
   * `FacilitatorUnavailable` for a payment that may be good and is not to be risked now (`LossBudget`).
   */
  verify(
    payment: Payment<Payload>
  ): Effect.Effect<void, PaymentError | ValidationError | ChainUnavailable | FacilitatorUnavailable>
  /** What the payer holds of the asset now, in its smallest unit. */
  balance(payment: Payment<Payload>): Effect.Effect<bigint, ChainUnavailable>
  /**
   * The next slot of a lane by the chain's own count: `included` counts transactions in blocks alone, `known` those that
   * wait in the pool too, `final` those in blocks that are not reorganised any more. A node that serves another chain by now is
   * `ChainUnavailable`: its count would have the lane leave slots out that no transaction ever takes.
   */
  readonly nextSlot: (lane: string, counting: SlotCount) => Effect.Effect<bigint, ChainUnavailable>
  /**
   * The chain's time now, in Unix seconds: its newest block's, or where it makes none for want of transactions the one that the next
   * would have. The facilitator's clock is held against it. A family without such a time leaves it out.
   */
  readonly time?: Effect.Effect<number, ChainUnavailable>
  /** The chain now. The answer is not older than the question. */
  readonly chainHead: Effect.Effect<ChainHead, ChainUnavailable>
  /** Whether this block is still part of the chain. */
  readonly isCanonical: (block: Block) => Effect.Effect<boolean, ChainUnavailable>
  /**
   * Signs the transaction that settles the first payments of the list in this slot, at the chain head's fees. It sends
   * nothing. Given the most that the transaction may cost, in the chain's smallest native unit, it takes no more than that
   * pays for, and the first one in any case. Where the first payment is not to be risked now (`LossBudget`) it fails with
   * `FacilitatorUnavailable`, and may be asked for the others.
   *
   * Given the transaction that it is to take the place of, and the payments that were signed for there, it takes all of them
   * again, whatever batches, budgets and assets are configured now: their bytes are known, and a slot without a replacement
   * would keep the whole lane waiting.
   */
  prepare(
    payments: ReadonlyArray<Payment<Payload>>,
    slot: Slot | undefined,
    chainHead: ChainHead,
    maximumCost?: bigint,
    replaced?: PreparedTransaction
  ): Effect.Effect<Preparation, ChainUnavailable | FacilitatorUnavailable | Misconfigured>
  /**
   * These payments were prepared, and what was signed for them will not be sent: what was counted for them as on its way
   * (`LossBudget`) is free again. A scheme that counts nothing leaves it out.
   */
  release?(payments: ReadonlyArray<Payment<Payload>>): Effect.Effect<void>
  /** Signs a transaction that does nothing, at the chain head's fees, to use a slot up. */
  readonly noop: (
    slot: Slot,
    chainHead: ChainHead
  ) => Effect.Effect<PreparedTransaction, ChainUnavailable | Misconfigured>
  /** Sends prepared bytes. Harmless to repeat. */
  readonly submit: (prepared: PreparedTransaction) => Effect.Effect<SubmitResult, ChainUnavailable>
  /** Looks for a slot's transactions and for the proof of each payment's transfer, or of its impossibility. */
  observe(
    observedPayments: ReadonlyArray<ObservedPayment<Payload>>,
    attempts: ReadonlyArray<PreparedTransaction>
  ): Effect.Effect<TransactionObservation, ChainUnavailable>
  /** Looks for what became of an authorization whose validity is over. */
  conclude(observedPayment: ObservedPayment<Payload>): Effect.Effect<Conclusion, ChainUnavailable>
  /** Each signer's gas money. */
  readonly signers: Effect.Effect<ReadonlyArray<SignerBalance>, ChainUnavailable>
}
