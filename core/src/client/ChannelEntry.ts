/**
 * A payment channel in the payer's journal: its terms, without which nothing can be withdrawn, and the payer's own numbers. The
 * line is written before a deposit or a voucher leaves, and a journal never forgets it.
 */
import * as Schema from "effect/Schema"

import * as Amount from "../protocol/Amount.ts"
import { JournalEntry } from "./JournalEntry.ts"

/** A signed deposit that the chain did not show yet. */
export const OpenDeposit = /* @__PURE__ */ Schema.Struct({
  amount: Amount.Text,
  /** The channel's balance when the deposit was signed: the deposit is made when the chain shows both together. */
  onTopOf: Amount.Text,
  /** Unix seconds, as signed. */
  validBefore: Schema.Int,
  /** Whether a receipt says that it is made. */
  isReported: Schema.Boolean,
  /** The scheme's signed deposit, to be sent again; absent while it is not signed. */
  signed: /* @__PURE__ */ Schema.optionalKey(Schema.Json)
})

export type OpenDeposit = typeof OpenDeposit.Type

/** A channel. Amounts are in the smallest unit of the asset, as decimal text. */
export const ChannelEntry = /* @__PURE__ */ Schema.Struct({
  kind: /* @__PURE__ */ Schema.Literal("channel"),
  /** The channel's id, which the scheme computes of the terms. */
  id: Schema.String,
  /** The host that it was opened for. */
  host: Schema.String,
  network: Schema.String,
  asset: Schema.String,
  payTo: Schema.String,
  /** The scheme's terms of the channel, as they travel. */
  terms: Schema.Json,
  /** The units that its amounts count in (see `Spending`), each with its scale. */
  units: /* @__PURE__ */ Schema.Array(/* @__PURE__ */ Schema.Struct({ unit: Schema.String, scale: Schema.Int })),
  /** Deposits less refunds and withdrawals, by the chain when it was last read. */
  balance: Amount.Text,
  /** The sum of all claims, by the chain when it was last read. */
  claimed: Amount.Text,
  /** The time of the block that the chain was last read at, in Unix seconds; absent before, and in journals of earlier versions. */
  readAt: /* @__PURE__ */ Schema.optionalKey(Schema.Int),
  /** The sum of all charges that the payer has accepted: the next voucher adds its request's amount. */
  charged: Amount.Text,
  /**
   * The highest sum of charges that a correction or the chain has shown before a response did: a voucher whose response was lost
   * may be part of it.
   */
  lost: /* @__PURE__ */ Schema.optionalKey(Amount.Text),
  /**
   * The claims that a node showed of a channel which this journal did not know, until a signature of the payer proves them. Earlier
   * vouchers are unknown, or the node lies: no deposit is signed, since they could claim it.
   */
  unproven: /* @__PURE__ */ Schema.optionalKey(Amount.Text),
  /** The most that any voucher allows to claim. It never falls. */
  signed: Amount.Text,
  deposit: /* @__PURE__ */ Schema.optionalKey(OpenDeposit),
  /** Unix milliseconds of the last change. */
  at: Schema.Int
})

export type ChannelEntry = typeof ChannelEntry.Type

/** A line of a journal. */
export const JournalLine = /* @__PURE__ */ Schema.Union([ChannelEntry, JournalEntry])

export type JournalLine = typeof JournalLine.Type

/** Whether a line is of a channel. */
export const isChannel = (line: JournalLine): line is ChannelEntry => "kind" in line

/** A channel after a later line. The highest voucher stays the highest one, whatever the order in which lines arrive. */
export const afterLine = (known: ChannelEntry | undefined, next: ChannelEntry): ChannelEntry =>
  known === undefined || BigInt(known.signed) <= BigInt(next.signed) ? next : { ...next, signed: known.signed }
