/**
 * Draws on payment channels, for a facilitator that keeps the receiver's ledger: reading a payer's voucher for one request, the
 * channels' states, the words of receipts and corrections, and the requests that claim what was charged.
 */
import type * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"

import type { PaymentError } from "../protocol/PaymentError.ts"
import type { PaymentRequirements } from "../protocol/PaymentRequirements.ts"
import type { ChainUnavailable } from "../protocol/ProtocolError.ts"
import type { ValidationError } from "../protocol/ValidationError.ts"

/** Facts for a server, in the scheme's own words. */
export type ChannelFacts = Readonly<Record<string, Schema.Json>>

/** A server's request about a channel: the offer, the scheme's JSON, and the name of the caller; empty if callers have no names. */
export interface ChannelRequest {
  readonly requirements: PaymentRequirements
  readonly payload: Schema.Json
  readonly caller: string
  /** The facilitator's own watch over a ledger asks, which has least sums of its own. */
  readonly isOwn?: boolean
}

/** The parties of a channel, and its token. */
export interface ChannelParties {
  readonly payer: string
  readonly payTo: string
  readonly asset: string
}

/** A payer's voucher for one request, verified as far as its own bytes prove it, and whether a deposit comes with it. */
export interface PresentedVoucher extends ChannelParties {
  /** Derived from the channel's terms. */
  readonly channelId: string
  /** The channel's terms. */
  readonly config: Schema.Json
  /** The most that may be claimed in all, in the token's smallest unit. */
  readonly maximum: bigint
  readonly voucher: Schema.Json
  /** The sum of the deposit that comes with it, in the token's smallest unit; `undefined` for a voucher alone. */
  readonly deposit: bigint | undefined
  /** Seconds from a payer's request to withdraw until it can take the money. */
  readonly withdrawDelay: number
  /**
   * Present if the payer asks for a refund instead of a resource: its voucher proves the payer, and adds nothing. Without `amount`,
   * everything that is not owed.
   */
  readonly refund?: { readonly amount: bigint | undefined }
}

/** A channel on the chain as of a block. `withdrawRequestedAt` in Unix seconds. */
export interface ChannelSums {
  readonly channelId: string
  readonly balance: bigint
  readonly claimed: bigint
  readonly withdrawRequestedAt: number | undefined
  readonly refundNonce: bigint
  readonly block: { readonly number: bigint; readonly hash: string }
}

/** The receiver's own sums of a channel: `owed` is what its payer signs the next voucher on top of. */
export interface ChannelAccount extends ChannelSums {
  readonly owed: bigint
  readonly signed: bigint
  readonly voucher: Schema.Json | undefined
}

/** A row to claim: a voucher up to this maximum, and the total that is charged. */
export interface ChannelRow {
  readonly channelId: string
  readonly maximum: bigint
  readonly config: Schema.Json
  readonly voucher: Schema.Json
  readonly total: bigint
}

/** A request to settle the claim of rows of one receiver in one token. */
export interface ClaimRequests {
  readonly rows: ReadonlyArray<ChannelRow>
  readonly channelIds: ReadonlyArray<string>
  readonly requirements: PaymentRequirements
  readonly claim: Schema.Json
}

/** A request to settle the payout of all that is claimed for a receiver in a token, and the sum that is not paid out. */
export interface Payout {
  readonly unpaid: bigint
  readonly requirements: PaymentRequirements
  readonly payload: Schema.Json
}

/** A refund at a place of the channel's count of refunds, with the voucher by which its payer asked for it, and a claim before it. */
export interface OrderedRefund {
  readonly config: Schema.Json
  readonly voucher: Schema.Json
  readonly amount: bigint
  readonly nonce: bigint
  readonly claim: Pick<ChannelRow, "total" | "voucher"> | undefined
}

/** The draws of one network. */
export interface SchemeDraws {
  /** Reads a payer's message without the chain: its terms are the offer's, and its signatures are valid and can be claimed. */
  readonly read: (request: ChannelRequest) => Effect.Effect<PresentedVoucher, PaymentError | ValidationError>
  /** The states of channels, all as of one block that is no older than any seen before; in the order of the ids. */
  readonly states: (channelIds: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<ChannelSums>, ChainUnavailable>
  /** Whether claims are authorized for the channels of this caller, by name; default of every one. */
  readonly isFor?: (caller: string) => boolean
  /** The parties of a channel by its terms. */
  readonly parties: (config: Schema.Json) => ChannelParties
  /** The words of a receipt for a draw that is charged `amount`. */
  readonly receipt: (account: ChannelAccount, amount: bigint) => ChannelFacts
  /** The words of an offer that tells the payer what to sign next. */
  readonly correction: (account: ChannelAccount) => ChannelFacts
  /** The requests that claim rows, of at most 100 rows each. */
  readonly claims: (rows: ReadonlyArray<ChannelRow>) => ReadonlyArray<ClaimRequests>
  /** The request to settle a refund: the same one for the same refund. */
  readonly refund: (order: OrderedRefund) => Pick<ChannelRequest, "payload" | "requirements">
  /** The payouts of receivers by the chain's newest state, in their order. */
  readonly payouts: (
    receivers: ReadonlyArray<Pick<ChannelParties, "payTo" | "asset">>
  ) => Effect.Effect<ReadonlyArray<Payout>, ChainUnavailable>
  /** Units of gas that have to be affordable at any time: those of a claim of about twenty rows. */
  readonly claimGas: bigint
}
