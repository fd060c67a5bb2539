/**
 * The relayers' losses by failed payments, in nanotons, and their limits. A payer who moves the Jettons away after a good verification wins what
 * was attached, at the price of a transaction. So what is attached counts as in flight from before it is signed for, within the
 * budgets of the payer, of its caller, and of all; and who is to blame is banned for a while.
 */
import {
  type FacilitatorUnavailable,
  invalid,
  LossBudget,
  type Misconfigured,
  type Payment,
  type ValidationError
} from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import type { TonAuthorization } from "../payment/TonAuthorization.ts"

/**
 * The account that is to blame for a loss, and how much is held against it: a grave one bans at once, the third slight one in a
 * day does.
 */
export interface Blame {
  readonly culprit: string
  readonly gravity: "grave" | "slight"
}

type Paying = Payment<TonAuthorization>

/** The losses. */
export interface TonLosses {
  /** Whether a payment that may cost so much may be signed for as far as is known now; counts nothing. */
  readonly allow: (payment: Paying, amount: bigint) => Effect.Effect<void, ValidationError | FacilitatorUnavailable>
  /** Counts a payment that is to be signed for with the most that it may cost; fails where it may not be. */
  readonly reserve: (payment: Paying, amount: bigint) => Effect.Effect<void, ValidationError | FacilitatorUnavailable>
  /** Counts a payment that was signed for before; it is not judged again. */
  readonly hold: (payment: Paying) => Effect.Effect<void>
  readonly settle: (payment: Paying) => Effect.Effect<void>
  /** A payment has cost so much for nothing. Without a blame nobody is banned. */
  readonly lose: (payment: Paying, amount: bigint, blame: Blame | undefined) => Effect.Effect<void>
  /** A payment is not in flight any more, and nothing was lost with it. */
  readonly release: (payment: Paying) => Effect.Effect<void>
  /** Holds against a payer, slightly, that one of its payments was no payment; nothing was lost. */
  readonly suspect: (payment: Paying) => Effect.Effect<void>
}

/** A payment counts as in flight for so long after its validity, and no longer than that after it was signed for; milliseconds. */
const graceMillis = 120_000
const longestMillis = 1_800_000

/** Begins with nothing lost. */
export const make = (limits: LossBudget.Limits): Effect.Effect<TonLosses, Misconfigured> =>
  Effect.map(LossBudget.make(limits), (budget): TonLosses => {
    /** Payments that count already, and until when: they are not judged again when they are signed for again. */
    const counted = new Map<string, number>()
    const ended = <A>(payment: Paying, end: Effect.Effect<A>) =>
      Effect.ensuring(
        end,
        Effect.sync(() => counted.delete(idOf(payment)))
      )
    const recipientAllowed = Effect.fnUntraced(function* ({ payload: { transfer } }: Paying) {
      if ((yield* budget.bannedUntil(transfer.to)) === undefined) return
      const message = `an earlier payment to ${transfer.to} bounced on its way; try again later`
      return yield* invalid("unsupported_authorization", "account_banned", message)
    })
    return {
      allow: Effect.fnUntraced(function* (payment, amount) {
        yield* recipientAllowed(payment)
        if ((counted.get(idOf(payment)) ?? 0) > (yield* Clock.currentTimeMillis)) return
        yield* LossBudget.demand(yield* budget.judge({ ...partyOf(payment), amount }))
      }),
      reserve: Effect.fnUntraced(function* (payment, amount) {
        const now = yield* Clock.currentTimeMillis
        const until = untilOf(payment, now)
        yield* LossBudget.demand(yield* budget.reserve(idOf(payment), { ...partyOf(payment), amount }, until))
        for (const [id, end] of counted) if (end <= now) counted.delete(id)
        counted.set(idOf(payment), until)
      }),
      hold: Effect.fnUntraced(function* (payment) {
        const until = untilOf(payment, yield* Clock.currentTimeMillis)
        yield* budget.hold(idOf(payment), { ...partyOf(payment), amount: 0n }, until)
        counted.set(idOf(payment), until)
      }),
      settle: (payment) => ended(payment, budget.settle(idOf(payment), partyOf(payment))),
      lose: (payment, amount, blame) =>
        ended(payment, budget.lose(idOf(payment), { ...partyOf(payment), ...blame, amount })),
      release: (payment) => ended(payment, budget.release(idOf(payment))),
      suspect: (payment) => {
        const party = partyOf(payment)
        return budget.lose(`${idOf(payment)} suspected`, {
          ...party,
          culprit: party.payer,
          gravity: "slight",
          amount: 0n
        })
      }
    }
  })

const untilOf = ({ payload: { request } }: Paying, now: number): number =>
  Math.min(request.validUntil * 1000 + graceMillis, now + longestMillis)

const partyOf = ({ caller = "", payload: { payer } }: Paying): LossBudget.LossParty => ({ payer, caller })

const idOf = ({ payload: { nonce, payer } }: Paying): string => `${payer} ${nonce}`
