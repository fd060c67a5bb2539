/**
 * The settling half of a scheme. It is cut so that an engine that knows no chain can be crash-safe: the engine stores the
 * bytes of `prepare` before `submit`, sends them as often as it likes, and believes only what `observe` proves.
 */
import type * as Effect from "effect/Effect"

import type { Authorization } from "../protocol/Authorization.ts"
import type { Network } from "../protocol/Network.ts"
import type { PaymentError } from "../protocol/PaymentError.ts"
import type { PaymentRequirements } from "../protocol/PaymentRequirements.ts"
import type { ChainUnavailable, Misconfigured } from "../protocol/ProtocolError.ts"
import type { ValidationError } from "../protocol/ValidationError.ts"
import type { Scheme } from "./Scheme.ts"

/**
 * A payment as the facilitator holds it: the offer, what was signed in common words, and the scheme's own payload.
 *
 * @category models
 */
export interface Payment<Payload = unknown> {
  readonly requirements: PaymentRequirements
  readonly authorization: Authorization
  readonly payload: Payload
}

/**
 * A place in the order of one signer's transactions (EVM: account and nonce). Families whose payers send their own
 * transaction have none.
 *
 * @category models
 */
export interface Slot {
  /** The signer, in the family's wire form. */
  readonly lane: string
  readonly number: bigint
}

/**
 * The chain as it is now, for signing: its head and whatever the family's fees need. Asked after a payment was claimed and
 * before a slot is taken, so that nobody waits in a lane for the network.
 *
 * @category models
 */
export interface Survey {
  /** The chain's head (block number). */
  readonly head: bigint
  /** What one unit of gas may cost, in the chain's smallest native unit; a family without such fees leaves them out. */
  readonly fees?: { readonly maximum: bigint; readonly priority: bigint }
}

/**
 * Signed bytes that settle payments, ready to be sent and sent again. Plain data: it can be stored and read back.
 *
 * @category models
 */
export interface Prepared {
  readonly slot: Slot | undefined
  /** The transaction's id on the chain, known before it is sent. */
  readonly transaction: string
  /** The exact bytes, in the chain's own text form. */
  readonly bytes: string
  /** The chain's head (block number) when it was prepared: a foreign transfer found up to here does not count for us. */
  readonly head: bigint
}

/**
 * What happened when bytes were sent. `refused` is the node's word that it does not hold them: they may be prepared anew
 * in another slot once `observe` shows that they are not on the chain. No answer at all is `ChainUnavailable`: they may be
 * on their way.
 *
 * @category models
 */
export type Submission =
  | { readonly _tag: "Accepted" }
  /** The slot is used already: by these bytes, by others of ours, or by a stranger with the same key. */
  | { readonly _tag: "SlotUsed" }
  /** The node would not take them for a reason of ours: no gas money, fee too low. */
  | { readonly _tag: "Refused"; readonly message: string }

/**
 * What the chain shows of a payment.
 *
 * @category models
 */
export type Observation =
  | { readonly _tag: "Pending" }
  /** The token's own transfer, of the right amount to the right recipient, is in a block. */
  | { readonly _tag: "Settled"; readonly transaction: string; readonly block: bigint; readonly external: boolean }
  /** Proven: this authorization has not moved the money and these bytes will not. */
  | { readonly _tag: "Failed"; readonly transaction: string; readonly error: PaymentError | ValidationError }

/**
 * A signer and what it has left to pay for gas, in the chain's smallest native unit.
 *
 * @category models
 */
export interface SignerBalance {
  readonly address: string
  readonly balance: bigint
}

/**
 * The settling half for one network.
 *
 * @category models
 */
export interface SchemeFacilitator<Payload = unknown> {
  readonly scheme: Scheme
  readonly network: Network
  /** The signers that send transactions; empty where payers send their own. */
  readonly lanes: ReadonlyArray<string>
  /** The payload's common terms, from the signed bytes alone: no chain, no clock. It also proves the binding, if any. */
  readonly read: (
    requirements: PaymentRequirements,
    payload: unknown
  ) => Effect.Effect<Payment<Payload>, PaymentError | ValidationError>
  /** Everything else: signature and scheme rules offline first, then one look at the chain. It changes nothing. */
  verify(payment: Payment<Payload>): Effect.Effect<void, PaymentError | ValidationError | ChainUnavailable>
  /** What the payer holds of the asset now, in its smallest unit. */
  balance(payment: Payment<Payload>): Effect.Effect<bigint, ChainUnavailable>
  /** The next free slot of a lane by the chain's own count, transactions in its pool included. */
  readonly nextSlot: (lane: string) => Effect.Effect<bigint, ChainUnavailable>
  /** The chain now. The answer is not older than the question. */
  readonly survey: Effect.Effect<Survey, ChainUnavailable>
  /** Signs the transaction that settles the payment, in this slot. It sends nothing. */
  prepare(
    payment: Payment<Payload>,
    slot: Slot | undefined,
    survey: Survey
  ): Effect.Effect<Prepared, ChainUnavailable | Misconfigured>
  /** Signs a transaction that does nothing, to close a hole in a lane. */
  readonly fill: (slot: Slot, survey: Survey) => Effect.Effect<Prepared, ChainUnavailable | Misconfigured>
  /** Sends prepared bytes. Harmless to repeat. */
  readonly submit: (prepared: Prepared) => Effect.Effect<Submission, ChainUnavailable>
  /** Looks for the proof of a payment's transfer, or of its impossibility. */
  observe(payment: Payment<Payload>, prepared: Prepared): Effect.Effect<Observation, ChainUnavailable>
  /** Each signer's gas money. */
  readonly signers: Effect.Effect<ReadonlyArray<SignerBalance>, ChainUnavailable>
}
