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
 * A refund that the receiver's side authorizes at one place of the channel's count of refunds. `voucher` is the one with which its payer
 * asked for it, `claim` the row that its transaction claims before it, if the channel owes anything.
 */
export interface SentRefund {
  readonly nonce: bigint
  readonly amount: bigint
  readonly voucher: Schema.Json
  /** When it was held back, in Unix milliseconds. */
  readonly at: number
  readonly claim: (SignedMaximum & { readonly total: bigint }) | undefined
}

/** A payer's request for a refund of `amount`. The voucher of `maximum` proves the payer, and adds nothing. */
export interface RefundOrder extends SignedMaximum {
  readonly channelId: string
  readonly amount: bigint
}

/**
 * The verdict on a refund.
 * - `Held`: no draw uses the money of `refund` any more. A repeated order finds the same refund until the chain shows it.
 * - `Stale`: the voucher is below the charges or above the debt. `Short`: draws have cost, or may still cost, a part of the amount.
 * - `Busy`: the channel has had all its refunds of a day. `Foreign`: the chain shows a claim that this ledger did not make.
 */
export type RefundVerdict =
  | { readonly _tag: "Held"; readonly standing: Standing; readonly refund: SentRefund }
  | { readonly _tag: "Stale" | "Short" | "Busy" | "Foreign"; readonly standing: Standing }

/**
 * The ledger's record of a channel. `charged` is what all draws have cost, `reserved` what the open ones may still cost. `signed` and
 * `voucher` are the highest voucher's of all draws that are open or charged, `used` and `usedVoucher` the highest one's of those that
 * are charged. Always `charged <= used <= signed` and `charged + reserved <= signed`. A chain that shows `claimed > published` shows a
 * claim which this ledger did not make.
 */
export interface Standing extends NewChannel {
  /** The newest refunds that were asked of the chain, in the order of their nonces; those before `refundNonce` are over. */
  readonly refunds: ReadonlyArray<SentRefund>
  readonly signed: bigint
  /** `undefined` until the first voucher. */
  readonly voucher: Schema.Json | undefined
  /** Claims are made by this voucher alone: a higher one may belong to a draw that is not charged, and anybody could spend it. */
  readonly used: bigint
  readonly usedVoucher: Schema.Json | undefined
  /** Strangers may know every voucher up to this maximum: claims name their vouchers on the chain, refusals of refunds tell of used up ones. */
  readonly published: bigint
  readonly charged: bigint
  readonly reserved: bigint
  /** The number of open draws. */
  readonly open: number
  /** No open draw lapses before this instant, in Unix milliseconds; `undefined` while none is open. */
  readonly lapses: number | undefined
  /**
   * The instant since which charges wait to be claimed, or for an hour after all are claimed the instant of that; Unix milliseconds.
   * `undefined` while neither holds: the chain's state of the channel matters only to its next draw.
   */
  readonly unclaimedSince: number | undefined
}

/**
 * A request for a draw with a verified voucher. Without `unique` the voucher must be for exactly what the channel owes plus `amount`
 * (`DrawVerdict.owed`), so that none is used twice. With `unique`, a text of at most 200 characters for this draw alone, a higher voucher counts
 * too: draws may then arrive in any order.
 */
export interface Draw extends SignedMaximum {
  readonly channelId: string
  /** The most that the request costs. */
  readonly amount: bigint
  readonly unique: string | undefined
}

/**
 * A draw's record. `until` in Unix milliseconds: at that instant an open draw lapses, and its voucher is free for another one. A lapsed
 * draw is charged later all the same, if its run was served and the voucher still covers it.
 */
export interface DrawRecord {
  readonly channelId: string
  readonly name: string
  readonly claimId: string
  readonly amount: bigint
  readonly state: "reserved" | "charged" | "released" | "lapsed"
  readonly charged: bigint
  readonly until: number
  /** Its voucher; `undefined` in records of a release that did not keep it. */
  readonly signed: SignedMaximum | undefined
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
 * - `Foreign`: the chain shows a claim that this ledger did not make: another one sells on the same channel.
 * - `Stale`: the voucher does not fit what the channel owes. `Busy`: too many draws are open.
 *
 * All but `Granted` write nothing, except that lapsed draws give their vouchers back.
 */
export type DrawVerdict = Verdict | { readonly _tag: "Unknown" }

/** `owed`: the next voucher for the same amount is signed on top of it. */
type Verdict = { readonly standing: Standing; readonly owed: bigint } & (
  | { readonly _tag: "Granted" | "Held" | "Closing" | "Foreign" | "Short" | "Stale" | "Busy" }
  | { readonly _tag: "Spent"; readonly charged: bigint }
)

/** The end of a draw. `Lost`: no draw of this claim is open or ended; or it lapsed, and its voucher covers other draws by now. */
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
  /** Less unclaimed money of one channel is never claimed, also before a withdrawal: the claim would cost more. */
  readonly least: bigint
  /** Unclaimed money of one channel at which it is claimed at once. */
  readonly maximumUnclaimed: bigint
  /** Unclaimed money that is worth a claim after `worthwhileAge`. */
  readonly worthwhile: bigint
  /** Milliseconds. */
  readonly worthwhileAge: number
  /** The age at which any unclaimed money is claimed, in milliseconds. */
  readonly maximumAge: number
}

/** A row to claim by the highest charged voucher: `total` is at most what was charged, signed and deposited. */
export interface ClaimRow extends SignedMaximum {
  readonly channelId: string
  readonly config: Schema.Json
  readonly total: bigint
  /** Whether a withdrawal is pending, which can take the money first. */
  readonly urgent: boolean
}
