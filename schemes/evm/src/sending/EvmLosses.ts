/**
 * The losses by failed payments on an EVM chain, in wei: the gas of a transaction is lost when the token reverts a transfer
 * whose simulation had succeeded. A loss budget limits them.
 */
import {
  Delivery,
  type FacilitatorUnavailable,
  LossBudget,
  type Misconfigured,
  type Payment,
  type PaymentError,
  PaymentRequirements,
  type ChainHead,
  type ValidationError
} from "@pontage/core"
import * as BoundedMap from "@pontage/core/BoundedMap"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

/** A payload whose losses are counted: the hash of the payer's code, where that code is unknown, is banned with the payer. */
export interface CountedPayload {
  readonly cache: { readonly codeHash?: string | undefined }
}

/** Counts the losses. */
export interface EvmLosses<P extends CountedPayload = CountedPayload> {
  /** Fails where a transaction may not be signed for the payment now; counts nothing. */
  readonly allow: (payment: Payment<P>) => Effect.Effect<void, ValidationError | FacilitatorUnavailable>
  /** Counts a payment before its transaction is signed, with the most gas that it may burn, at the chain head's price; fails where it may not be signed. */
  readonly reserve: (
    payment: Payment<P>,
    gas: bigint,
    chainHead: ChainHead
  ) => Effect.Effect<void, ValidationError | FacilitatorUnavailable>
  /** Counts a payment whose transaction is replaced, with its share of the gas; it was allowed before, and is not judged again. */
  readonly hold: (payment: Payment<P>, gas: bigint, chainHead: ChainHead) => Effect.Effect<void>
  /** Releases a counted payment that will not be sent. */
  readonly release: (payment: Payment<P>) => Effect.Effect<void>
  /** Records a payment that has settled. */
  readonly settle: (payment: Payment<P>) => Effect.Effect<void>
  /** Records a payment whose included transaction has not moved the money: the reason, and the loss in wei. */
  readonly lose: (payment: Payment<P>, error: PaymentError | ValidationError, lost: bigint) => Effect.Effect<void>
  /** Takes a recorded failure back: its block is no longer part of the chain. */
  readonly absolve: (payment: Payment<P>) => Effect.Effect<void>
}

/** The validity left at its signing, in milliseconds, below which a payment that ends before its block may be its payer's fault. */
const hurriedMillis = 30_000
/** The most first signings that are remembered. The payer of a forgotten one has no fault. */
const capacity = 50_000

/** Milliseconds for which a payment counts as pending, after its validity and at most after its signing. */
const graceMillis = 60_000
const longestMillis = 1_800_000

/** Makes a count that begins at zero. */
export const make = (limits: LossBudget.Limits): Effect.Effect<EvmLosses, Misconfigured> =>
  Effect.map(LossBudget.make(limits), (budget) => {
    /** The price of a unit of gas at the last signing, in wei. */
    let price = 0n
    /** Whether the validity was nearly over when the payment was first signed for. */
    const hurried = BoundedMap.oldestOut<string, boolean>(capacity)
    const counting = Effect.fnUntraced(function* (payment: Payment<CountedPayload>, gas: bigint, { fees }: ChainHead) {
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
        const id = idOf(payment)
        if (!hurried.has(id)) hurried.set(id, yield* isHurried(payment, chainHead))
        yield* LossBudget.demand(yield* budget.reserve(id, risk, until))
      }),
      hold: (payment, gas, chainHead) =>
        Effect.flatMap(counting(payment, gas, chainHead), ({ risk, until }) => budget.hold(idOf(payment), risk, until)),
      release: (payment) => budget.release(idOf(payment)),
      settle: (payment) => budget.settle(idOf(payment), partyOf(payment)),
      lose: (payment, error, lost) => {
        const party = partyOf(payment)
        const gravity = gravityOf(error, hurried.get(idOf(payment)) === true)
        const fault = gravity === undefined ? {} : { culprit: party.payer, gravity }
        return budget.lose(idOf(payment), { ...party, ...fault, amount: lost })
      },
      absolve: (payment) => budget.retract(idOf(payment))
    }
  })

/**
 * Whether little validity is left, and less than half of the time that the offer gives: a payer who signs for as long as a short offer
 * asks has no part in it. By the later of two clocks, ours and the chain's.
 */
const isHurried = ({ authorization, requirements }: Payment<CountedPayload>, { head }: ChainHead) =>
  Effect.map(Clock.currentTimeMillis, (now) => {
    const left = authorization.validBefore * 1000 - Math.max(now, head.time * 1000)
    const offered = (requirements.maxTimeoutSeconds ?? PaymentRequirements.defaultMaxTimeoutSeconds) * 1000
    return left < Math.min(hurriedMillis, offered / 2)
  })

/** The gas that `allow` assumes before the payment's call is made. */
const usualGas = 150_000n

const partyOf = ({
  authorization: { payer },
  caller = "",
  payload: { cache },
  requirements
}: Payment<CountedPayload>): LossBudget.LossParty => ({
  payer,
  caller,
  codeHash: cache.codeHash,
  isOwn: Delivery.isPush(requirements)
})

/** The nonce that the chain uses up, by its token and payer. */
const idOf = ({ authorization: { asset, nonce, payer } }: Payment<CountedPayload>): string =>
  `${asset} ${payer} ${nonce}`

/**
 * The gravity of a failure for its payer. A payer who has used up the nonce paid for that transaction, and may have been in a
 * hurry: slight. An account that its user operation was to deploy, and that was deployed before, may have been deployed by a
 * stranger: slight. A validity that was nearly over at the first signing is slight too where the block comes after its end: on a chain
 * of slow blocks a payer could make every payment revert so. Another late transaction, a paused token, a token that logs no transfer
 * and a batch that reverted as a whole are not the payer's fault.
 */
const gravityOf = (
  error: PaymentError | ValidationError,
  wasHurried: boolean
): LossBudget.Loss["gravity"] | undefined => {
  if (wasHurried && (error.detail === "expired" || error.detail === "operation_expired")) return "slight"
  if (error._tag === "ValidationError" && error.reason === "already_used") return "slight"
  return gravities.get(error.detail)
}

const gravities: ReadonlyMap<string, LossBudget.Loss["gravity"]> = new Map([
  ["balance_below_amount", "grave"],
  ["token_refused", "grave"],
  ["transfer_reverted", "grave"],
  ["transfer_refused", "grave"],
  ["account_not_deployed", "grave"],
  ["operation_failed", "grave"],
  ["operation_nonce_burnt", "grave"],
  ["permit_transfer_refused", "grave"],
  ["permit_nonce_burnt", "slight"],
  ["account_blocked", "slight"],
  ["account_deployed", "slight"]
])
