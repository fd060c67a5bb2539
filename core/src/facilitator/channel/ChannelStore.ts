/**
 * The ledger of payment channels: which vouchers were accepted, what was charged, and what is left to claim. A store
 * guarantees atomicity: of any number of concurrent draws on one channel, in this process and in all others that share the
 * store, the charges never exceed the highest voucher. It guarantees durability: the result of a method is still there after
 * a crash, so a granted draw can always be claimed. `testing/ChannelStoreLaws` says the same as executable laws.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"

import type { FacilitatorUnavailable } from "../../protocol/ProtocolError.ts"
import type { Block } from "../../scheme/SchemeFacilitator.ts"
import type {
  Advance,
  ChannelState,
  ClaimPolicy,
  ClaimRow,
  Draw,
  DrawEnd,
  DrawLimits,
  DrawVerdict,
  NewChannel,
  RefundOrder,
  RefundVerdict,
  SignedMaximum,
  Standing
} from "./Channel.ts"

type Stored<A> = Effect.Effect<A, FacilitatorUnavailable>

/** The service. A caller verifies a voucher's signature before it hands the voucher over: a store cannot. */
export class ChannelStore extends Context.Service<
  ChannelStore,
  {
    /** Enters a channel as the chain shows it, or the chain's later state of a known one. */
    readonly open: (channel: NewChannel) => Stored<Standing>
    /** The record of a channel. */
    readonly find: (channelId: string) => Stored<Standing | undefined>
    /**
     * Grants a draw to a claim, or says why not. A repeated call of the same claim is granted again. `claimId` is unique in its
     * channel: one for each run of a handler. With `channel` the chain's state is entered first, as by `open`, in the same transaction.
     */
    readonly accept: (draw: Draw, claimId: string, limits: DrawLimits, channel?: NewChannel) => Stored<DrawVerdict>
    /** The verdict on a draw, if this deposit were in the channel. It grants nothing. */
    readonly judge: (draw: Draw, deposit: bigint, limits: DrawLimits) => Stored<DrawVerdict>
    /** Extends the lease of a claim's open draw by this time from now, in milliseconds; `false` if it is open no more. */
    readonly renew: (channelId: string, claimId: string, lease: number) => Stored<boolean>
    /**
     * Charges a claim's open draw, at most its amount. An ended draw keeps its end; a lapsed one is charged if its voucher still covers
     * it beside all others.
     */
    readonly commit: (channelId: string, claimId: string, amount: bigint) => Stored<DrawEnd>
    /** Ends a claim's open draw without a charge. An ended draw keeps its end. */
    readonly release: (channelId: string, claimId: string) => Stored<DrawEnd>
    /** Keeps a higher voucher without a draw. */
    readonly advance: (channelId: string, signed: SignedMaximum) => Stored<Advance>
    /**
     * Holds the money of a refund back from draws, before the refund is sent; `undefined` for an unknown channel. The money of a refund that
     * the chain shows, and then shows no more, is held again.
     */
    readonly refund: (order: RefundOrder) => Stored<RefundVerdict | undefined>
    /** Records the chain's states of known channels; those as of an earlier block change nothing. */
    readonly observed: (states: ReadonlyArray<ChannelState>) => Stored<void>
    /**
     * Records, before a claim is sent or a stranger is told, that vouchers become public. No draw is granted for a voucher up to such a
     * maximum from then on.
     */
    readonly publish: (rows: ReadonlyArray<Pick<ClaimRow, "channelId" | "maximum">>) => Stored<void>
    /** Calls `take` with the terms of each channel of a network. */
    readonly configs: (network: string, take: (config: Schema.Json) => void) => Stored<void>
    /** The rows to claim now, those with a pending withdrawal first, then the oldest. */
    readonly due: (policy: ClaimPolicy) => Stored<ReadonlyArray<ClaimRow>>
    /** The channels of a network that owe money, and for an hour those that owe none any more: a claim may be taken back. */
    readonly watched: (network: string) => Stored<ReadonlyArray<string>>
    /** Records claims that a block includes. */
    readonly claimed: (rows: ReadonlyArray<Pick<ClaimRow, "channelId" | "total">>, block: Block) => Stored<void>
    /**
     * Forgets draws that ended, and whose lease was over, before this instant in Unix milliseconds: a few thousand at once.
     * Returns their number; 0 once none is left.
     */
    readonly forget: (before: number) => Stored<number>
  }
>()("@pontage/core/ChannelStore") {}
