/**
 * A payment channel as its ledger keeps it: the chain's state, the highest voucher, and the draws. A draw is one request's
 * use of the channel: a reservation of its maximum price, then a charge of at most that.
 */
import type * as Schema from "effect/Schema"

import type { Network } from "../../protocol/Network.ts"
import type { Block } from "../../scheme/SchemeFacilitator.ts"

/**
 * A channel on the chain, as of a block. `balance` is deposits less refunds and withdrawals; claims do not reduce it.
 * `claimed` is the total of all claims. `withdrawRequestedAt` in Unix seconds.
 */
export interface ChannelState {
  readonly channelId: string
  readonly balance: bigint
  readonly claimed: bigint
  readonly withdrawRequestedAt: number | undefined
  readonly refundNonce: bigint
  readonly block: Block
}

/** A channel that enters the ledger. `channelId` is derived from `config`, never read from a request. */
export interface NewChannel extends ChannelState {
  readonly network: Network
  /** The channel's terms as the scheme's JSON. */
  readonly config: Schema.Json
}

/** A payer's signature over the most that may be claimed in all, as the scheme's JSON. */
export interface SignedMaximum {
  readonly maximum: bigint
  readonly voucher: Schema.Json
}

/**
 * The ledger's record of a channel. `signed` and `voucher` are the highest voucher's. `charged` is what all draws have cost,
 * `reserved` what the open ones may still cost. Always `charged + reserved <= signed`, unless the chain shows a higher claim.
 */
export interface Standing extends NewChannel {
  readonly signed: bigint
  /** `undefined` until the first voucher. */
  readonly voucher: Schema.Json | undefined
  readonly charged: bigint
  readonly reserved: bigint
  /** The number of open draws. */
  readonly open: number
  /** No open draw lapses before this instant, in Unix milliseconds; `undefined` while none is open. */
  readonly lapses: number | undefined
  /** The instant since which charges wait to be claimed, in Unix milliseconds; `undefined` while none do. */
  readonly unclaimedSince: number | undefined
}

/**
 * A request for a draw with a verified voucher. Without `unique` the voucher must be for exactly what the channel owes plus
 * `amount`, so that none is used twice. With `unique`, a text of at most 200 characters for this draw alone, a higher voucher counts
 * too: draws may then arrive in any order.
 */
export interface Draw extends SignedMaximum {
  readonly channelId: string
  /** The most that the request costs. */
  readonly amount: bigint
  readonly unique: string | undefined
}

/** A draw's record. `until` in Unix milliseconds: at that instant an open draw lapses and is never charged. */
export interface DrawRecord {
  readonly channelId: string
  readonly name: string
  readonly claimId: string
  readonly amount: bigint
  readonly state: "reserved" | "charged" | "released"
  readonly charged: bigint
  readonly until: number
}

/** Limits of a draw. */
export interface DrawLimits {
  /** The time in which the draw has to be charged, released or renewed, in milliseconds. */
  readonly lease: number
  /** The most draws of one channel that may be open at once. */
  readonly open: number
}

/**
 * The verdict on a draw.
 * - `Granted`: the draw is durable, and its request runs now. `Held`: the draw runs already. `Spent`: it was charged before.
 * - `Unknown`: the ledger has no such channel. `Closing`: a withdrawal is pending. `Short`: the voucher is above the balance.
 * - `Stale`: the voucher does not fit what the channel owes. `Busy`: too many draws are open.
 *
 * All but `Granted` write nothing, except that lapsed draws are released.
 */
export type DrawVerdict =
  | { readonly _tag: "Granted" | "Held" | "Closing" | "Short" | "Stale" | "Busy"; readonly standing: Standing }
  | { readonly _tag: "Spent"; readonly standing: Standing; readonly charged: bigint }
  | { readonly _tag: "Unknown" }

/** The end of a draw. `Lost`: no draw of this claim is open or ended; it lapsed, or another claim has it. */
export type DrawEnd =
  | { readonly _tag: "Charged"; readonly standing: Standing; readonly charged: bigint }
  | { readonly _tag: "Released"; readonly standing: Standing }
  | { readonly _tag: "Lost" }

/** The result of keeping a voucher without a draw. `Kept` also for the voucher that is kept already. */
export type Advance =
  | { readonly _tag: "Kept" | "Stale" | "Short" | "Closing"; readonly standing: Standing }
  | { readonly _tag: "Unknown" }

/** The rules by which a channel's charges are claimed. */
export interface ClaimPolicy {
  readonly network: Network
  /** Unclaimed money of one channel at which it is claimed at once. */
  readonly maximumUnclaimed: bigint
  /** Unclaimed money that is worth a claim after `worthwhileAge`. */
  readonly worthwhile: bigint
  /** Milliseconds. */
  readonly worthwhileAge: number
  /** The age at which any unclaimed money is claimed, in milliseconds. */
  readonly maximumAge: number
}

/** A row to claim: `total` is at most what was charged, signed and deposited. */
export interface ClaimRow extends SignedMaximum {
  readonly channelId: string
  readonly config: Schema.Json
  readonly total: bigint
  /** Whether a withdrawal is pending, which can take the money first. */
  readonly urgent: boolean
}
