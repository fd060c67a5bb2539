/**
 * The relayers' losses by failed payments, in nanotons, and their limits. A payer who moves the Jettons away after a good
 * verification gains the attached TON, at the price of a transaction. So attached TON counts as pending from before it is signed
 * for, within the budgets of the payer, of its caller, and of all payers; and the account to blame is banned for a while.
 */
import {
  Delivery,
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
 * The account to blame for a loss, and the gravity: a grave loss bans the account at once, a slight one when it is the third in
 * a day.
 */
export interface Blame {
  readonly culprit: string
  readonly gravity: "grave" | "slight"
}

type TonPayment = Payment<TonAuthorization>

/** Losses and their limits. */
export interface TonLosses {
  /** Fails where a payment that costs at most `amount` must not be signed for, as known now; counts nothing. */
  readonly allow: (payment: TonPayment, amount: bigint) => Effect.Effect<void, ValidationError | FacilitatorUnavailable>
  /** Counts a payment before it is signed for, with the most that it may cost; fails where it must not be signed for. */
  readonly reserve: (
    payment: TonPayment,
    amount: bigint
  ) => Effect.Effect<void, ValidationError | FacilitatorUnavailable>
  /** Counts a payment that was signed for before, without judging it again. */
  readonly hold: (payment: TonPayment) => Effect.Effect<void>
  /** Ends the count of a payment that was settled. */
  readonly settle: (payment: TonPayment) => Effect.Effect<void>
  /** Records the loss of a failed payment. Without a blame no account is banned. */
  readonly lose: (payment: TonPayment, amount: bigint, blame: Blame | undefined) => Effect.Effect<void>
  /** Ends the count of a payment that is not pending any more, without a loss. */
  readonly release: (payment: TonPayment) => Effect.Effect<void>
  /** Blames a payer slightly for a payment that could not be emulated; nothing was lost. */
  readonly suspect: (payment: TonPayment) => Effect.Effect<void>
}

/** Milliseconds that a payment counts as pending: after its validity, and at most after it was signed for. */
const graceMillis = 120_000
const longestMillis = 1_800_000

/** No losses at first. */
export const make = (limits: LossBudget.Limits): Effect.Effect<TonLosses, Misconfigured> =>
  Effect.map(LossBudget.make(limits), (budget): TonLosses => {
    /** Payments that count already, by the Unix milliseconds of their end: they are not judged again when they are signed for again. */
    const counted = new Map<string, number>()
    const ended = <A>(payment: TonPayment, end: Effect.Effect<A>) =>
      Effect.ensuring(
        end,
        Effect.sync(() => counted.delete(idOf(payment)))
      )
    const recipientAllowed = Effect.fnUntraced(function* ({ payload: { transfer }, requirements }: TonPayment) {
      if (Delivery.isPush(requirements) || (yield* budget.bannedUntil(transfer.to)) === undefined) return
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

const untilOf = ({ payload: { request } }: TonPayment, now: number): number =>
  Math.min(request.validUntil * 1000 + graceMillis, now + longestMillis)

const partyOf = ({ caller = "", payload: { payer }, requirements }: TonPayment): LossBudget.LossParty => ({
  payer,
  caller,
  isOwn: Delivery.isPush(requirements)
})

const idOf = ({ payload: { nonce, payer } }: TonPayment): string => `${payer} ${nonce}`
