/**
 * The least sums that a channel's transactions move, by the least price of the network: a payer and a server that act together could
 * otherwise have the facilitator send a transaction for each smallest unit of a deposit. Smaller sums that would be stuck for ever pass in
 * a bounded number: the claim or refund that leaves nothing in a channel, one sum in each withdrawal, one payout a day.
 */
import type { Asset } from "@pontage/core"
import * as BoundedMap from "@pontage/core/BoundedMap"
import * as Duration from "effect/Duration"

import type * as MinimumPrice from "../sending/MinimumPrice.ts"
import * as ChannelRefusal from "./ChannelRefusal.ts"

/** A row of a claim, and the sum that it moves, in the token's smallest unit. */
export interface MovedRow {
  readonly channelId: string
  readonly moved: bigint
  /** The sum of claims after it. */
  readonly total: bigint
  /** Nothing is left in the channel after it. */
  readonly empties: boolean
  /** Unix seconds; 0 without a pending withdrawal. */
  readonly withdrawRequestedAt: number
}

type Verdict = ChannelRefusal.ChannelRefusal | undefined

/** The least sums of one request. Each function gives the refusal, and counts what it lets through. */
export interface ChannelMinimum {
  /** Whether a row needs no least sum: it leaves nothing in its channel, or is of the one sum that its withdrawal lets through. */
  readonly isFree: (row: MovedRow) => boolean
  /** A claim by one transaction of `count` rows; those of `rows` move something. */
  readonly claim: (rows: ReadonlyArray<MovedRow>, count: number) => Verdict
  /** A refund of `moved` with the claims before it; `empties` if nothing is left behind it. */
  readonly refund: (moved: bigint, empties: boolean) => Verdict
  /** A payout of `unpaid`, up to the sum of claims `upTo`, at `now` in Unix milliseconds. */
  readonly payout: (receiver: string, payout: { unpaid: bigint; upTo: bigint; now: number }) => Verdict
}

/** Channels and receivers whose small sums are remembered. */
const remembered = 10_000

/** Rows of a claim for each least amount: a row takes a quarter of a transfer's gas. */
const rowsForOne = 10n

const day = Duration.toMillis("1 day")

const free: ChannelMinimum = {
  isFree: () => true,
  claim: () => undefined,
  refund: () => undefined,
  payout: () => undefined
}

/**
 * The least sums, by token. `isOwn`: the facilitator's own claims have none, because its watch goes by `leastClaim` and `leastPayout`.
 */
export const make = (minimum: MinimumPrice.Minimum): ((token: Asset, isOwn?: boolean) => ChannelMinimum) => {
  const withdrawals = BoundedMap.oldestOut<string, { readonly since: number; readonly total: bigint }>(remembered)
  const payouts = BoundedMap.oldestOut<string, { readonly at: number; readonly upTo: bigint }>(remembered)
  const isFree = ({ channelId, empties, total, withdrawRequestedAt: since }: MovedRow): boolean => {
    if (empties || since === 0) return empties
    const known = withdrawals.get(channelId)
    return known === undefined || known.since !== since || known.total === total
  }
  return (token, isOwn = false) => {
    const least = minimum.of(token)
    if (least === undefined || isOwn) return free
    const { amount, option } = least
    const refuse = (what: "claim" | "refund" | "settle", sentence: string) =>
      ChannelRefusal.make(`${what}_below_minimum`, `in ${token.symbol} on ${token.network} ${sentence} (${option})`)
    return {
      isFree,
      claim: (rows, count) => {
        const needed = amount * leastOf(count - rows.filter(isFree).length)
        const sum = rows.reduce((all, { moved }) => all + moved, 0n)
        if (sum < needed) {
          return refuse(
            "claim",
            `a claim of ${count} rows moves at least ${needed} here, and this one moves ${sum}; claim later, or refund the channel's rest behind the claim; rows that empty their channels, and those of a withdrawal, are taken by themselves`
          )
        }
        for (const { channelId, empties, moved, total, withdrawRequestedAt: since } of rows) {
          if (since !== 0 && !empties && moved < amount) withdrawals.set(channelId, { since, total })
        }
        return undefined
      },
      refund: (moved, empties) =>
        moved >= amount || empties
          ? undefined
          : refuse(
              "refund",
              `a refund and its claims move at least ${amount} here, and these move ${moved}; refund the channel's rest`
            ),
      payout: (receiver, { now, unpaid, upTo }) => {
        if (unpaid >= amount) return undefined
        const key = `${receiver} ${token.address}`
        const known = payouts.get(key)
        if (known !== undefined && known.upTo !== upTo && now - known.at < day) {
          return refuse(
            "settle",
            `a payout moves at least ${amount} here, or is the receiver's only one in 24 hours, and this one moves ${unpaid}; ask later`
          )
        }
        payouts.set(key, { at: now, upTo })
        return undefined
      }
    }
  }
}

/** The number of least amounts that a claim of `rows` rows moves. */
const leastOf = (rows: number): bigint => (BigInt(rows) + rowsForOne - 1n) / rowsForOne
