/**
 * The losses by failed payments on an EVM chain, in wei: the gas of a transaction is lost when the token refuses the transfer that
 * a simulation had shown to succeed. They are held to a loss budget.
 */
import {
  type FacilitatorUnavailable,
  LossBudget,
  type Misconfigured,
  type Payment,
  type PaymentError,
  type ChainHead,
  type ValidationError
} from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import type { SignedAuthorization } from "../payment/ExactEvmReading.ts"

/** The losses. */
export interface EvmLosses {
  /** Whether a payment may be signed for as far as is known now; counts nothing. */
  readonly allow: (
    payment: Payment<SignedAuthorization>
  ) => Effect.Effect<void, ValidationError | FacilitatorUnavailable>
  /** Counts a payment that is to be signed for, with the most gas that it may burn at the chain head's price; fails where it may not be. */
  readonly reserve: (
    payment: Payment<SignedAuthorization>,
    gas: bigint,
    chainHead: ChainHead
  ) => Effect.Effect<void, ValidationError | FacilitatorUnavailable>
  /** Counts a payment whose transaction is signed anew, with so much gas; it was signed for before, and is not judged again. */
  readonly hold: (payment: Payment<SignedAuthorization>, gas: bigint, chainHead: ChainHead) => Effect.Effect<void>
  /** A payment that was counted will not be sent. */
  readonly release: (payment: Payment<SignedAuthorization>) => Effect.Effect<void>
  /** A payment has settled. */
  readonly settle: (payment: Payment<SignedAuthorization>) => Effect.Effect<void>
  /** Our transaction for it is in a block and has not moved the money: why, and what that has cost for nothing, in wei. */
  readonly lose: (
    payment: Payment<SignedAuthorization>,
    error: PaymentError | ValidationError,
    lost: bigint
  ) => Effect.Effect<void>
  /** Nothing speaks against a payment any more: the block that did is not part of the chain. */
  readonly absolve: (payment: Payment<SignedAuthorization>) => Effect.Effect<void>
}

/** A payment counts as in flight for so long after its validity, and no longer than that after it was signed for; milliseconds. */
const graceMillis = 60_000
const longestMillis = 1_800_000

/** Begins with nothing lost. */
export const make = (limits: LossBudget.Limits): Effect.Effect<EvmLosses, Misconfigured> =>
  Effect.map(LossBudget.make(limits), (budget) => {
    /** The price of a unit of gas when a payment was last signed for; wei. */
    let price = 0n
    const counting = Effect.fnUntraced(function* (
      payment: Payment<SignedAuthorization>,
      gas: bigint,
      { fees }: ChainHead
    ) {
      price = fees?.maximum ?? 0n
      const now = yield* Clock.currentTimeMillis
      const until = Math.min(payment.authorization.validBefore * 1000 + graceMillis, now + longestMillis)
      return { risk: { ...partyOf(payment), amount: gas * price }, until }
    })
    return {
      allow: (payment) =>
        Effect.flatMap(budget.judge({ ...partyOf(payment), amount: price * usualGas }), LossBudget.demand),
      reserve: Effect.fnUntraced(function* (payment, gas, chainHead) {
        const { risk, until } = yield* counting(payment, gas, chainHead)
        yield* LossBudget.demand(yield* budget.reserve(idOf(payment), risk, until))
      }),
      hold: (payment, gas, chainHead) =>
        Effect.flatMap(counting(payment, gas, chainHead), ({ risk, until }) => budget.hold(idOf(payment), risk, until)),
      release: (payment) => budget.release(idOf(payment)),
      settle: (payment) => budget.settle(idOf(payment), partyOf(payment)),
      lose: (payment, error, lost) => {
        const party = partyOf(payment)
        const gravity = gravityOf(error)
        const fault = gravity === undefined ? {} : { culprit: party.payer, gravity }
        return budget.lose(idOf(payment), { ...party, ...fault, amount: lost })
      },
      absolve: (payment) => budget.retract(idOf(payment))
    }
  })

/** The gas by which a payment is judged before its call is made. */
const usualGas = 150_000n

const partyOf = ({
  authorization: { payer },
  caller = "",
  payload: { found }
}: Payment<SignedAuthorization>): LossBudget.LossParty => ({
  payer,
  caller,
  codeHash: found.codeHash
})

/** The names of the nonce that the chain uses up. */
const idOf = ({ authorization: { asset, nonce, payer } }: Payment<SignedAuthorization>): string =>
  `${asset} ${payer} ${nonce}`

/**
 * How much a failure says against its payer. One that has used up the nonce paid for that itself, and may have been in a hurry. A late
 * transaction, a paused token, a token that shows no transfer and a batch that failed as a whole are not the payer's doing.
 */
const gravityOf = (error: PaymentError | ValidationError): LossBudget.Loss["gravity"] | undefined => {
  if (error._tag === "ValidationError" && error.reason === "already_used") return "slight"
  return gravities.get(error.detail)
}

const gravities: ReadonlyMap<string, LossBudget.Loss["gravity"]> = new Map([
  ["balance_below_amount", "grave"],
  ["token_refused", "grave"],
  ["transfer_reverted", "grave"],
  ["transfer_refused", "grave"],
  ["account_blocked", "slight"]
])
