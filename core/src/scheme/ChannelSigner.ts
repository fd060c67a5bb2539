/**
 * A scheme that pays through channels, on the payer's side: the core decides amounts and keeps the books, the scheme knows the
 * channel's terms, the chain and the signatures.
 */
import type * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"

import type { Asset } from "../protocol/Asset.ts"
import type { PaymentRequired } from "../protocol/PaymentRequired.ts"
import type { PaymentRequirements } from "../protocol/PaymentRequirements.ts"
import type { SigningFailed } from "./SchemeClient.ts"

/** A channel of this payer, by its terms. */
export interface Channel {
  readonly id: string
  /** The terms as they travel. */
  readonly terms: Schema.Json
  /** Seconds that a withdrawal without the shop takes. */
  readonly withdrawDelay: number
}

/** A channel that an option is paid through. Amounts are in the smallest unit of the asset. */
export interface OfferedChannel extends Channel {
  /** The least deposit that the shop accepts, by its word. */
  readonly leastDeposit: bigint
  /** The deposit that the payer prefers. */
  readonly wantedDeposit: bigint
}

/** A channel by the chain, at one block. */
export interface ChannelStanding {
  readonly balance: bigint
  readonly claimed: bigint
  /** Whether a withdrawal has begun. */
  readonly isClosing: boolean
  /** The time of the block, in Unix seconds. */
  readonly time: number
  /** Whether the token shows that the deposit which was asked about is made, or never will be; absent without one. */
  readonly isDepositOver?: boolean
}

/** A deposit that was signed, as `SignedDraw.deposit` has it, into the channel of these terms. */
export interface SentDeposit {
  readonly terms: Schema.Json
  readonly amount: bigint
  readonly signed: Schema.Json
}

/** The deposit that goes with a voucher: a new one, or one that was signed before and is sent again. */
export type DrawnDeposit =
  | { readonly _tag: "New"; readonly amount: bigint; readonly validBefore: number }
  | { readonly _tag: "Signed"; readonly amount: bigint; readonly signed: Schema.Json }

/** A voucher to sign. The core decides the terms, and the scheme signs exactly these. */
export interface DrawRequest {
  readonly channel: Channel
  /** The asset as this client knows it. */
  readonly asset: Asset
  /** The most that may be claimed from the channel in all. */
  readonly ceiling: bigint
  readonly deposit: DrawnDeposit | undefined
  /** Whether the payer will follow the metered stream that the voucher opens. */
  readonly follows: boolean
  /** Whether the payer ends its streams that wait for a further voucher. */
  readonly ends?: boolean
}

/** A zero-charge voucher that asks for a refund. */
export interface RefundRequest {
  readonly channel: Channel
  /** The sum of all charges, which the voucher allows to claim and no more. */
  readonly charged: bigint
  /** The amount to refund; everything that is not claimed without it. */
  readonly amount: bigint | undefined
}

/** A signed voucher: the scheme's JSON for the payload, and the payer. */
export interface SignedDraw {
  readonly payer: string
  readonly payload: Schema.Json
  /** The signed deposit in it, to be sent again with another voucher. */
  readonly deposit: Schema.Json | undefined
}

/** A refusal's word about the channel, unproven but for `proven`. */
export interface Correction {
  /** The sum of all charges by the shop's ledger; `undefined` if the refusal only says that the chain has moved on. */
  readonly charged: bigint | undefined
  /** The most that a voucher in the refusal allows to claim, whose signature is this payer's. */
  readonly proven: bigint | undefined
}

/** The scheme, on the network of its client. */
export interface ChannelSigner {
  /** The channel of an option without an objection. */
  readonly channelOf: (requirements: PaymentRequirements, asset: Asset) => OfferedChannel | undefined
  /** Reads the channel from the chain, and the end of a deposit into it; fails where the node does not say. */
  readonly read: (channelId: string, deposit?: SentDeposit) => Effect.Effect<ChannelStanding, SigningFailed>
  readonly sign: (draw: DrawRequest) => Effect.Effect<SignedDraw, SigningFailed>
  readonly signRefund: (refund: RefundRequest) => Effect.Effect<SignedDraw, SigningFailed>
  /** The charge of the request by a receipt's facts; `undefined` if they are of another channel or malformed. */
  readonly chargeOf: (extra: Schema.JsonObject, channelId: string) => bigint | undefined
  /** The correction in a refusal; `undefined` if it has none for this channel. */
  readonly correctionOf: (required: PaymentRequired, channelId: string) => Correction | undefined
}
