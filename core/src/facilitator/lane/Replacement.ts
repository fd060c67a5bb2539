/**
 * The price of replacement bytes. Nodes accept a replacement that offers a tenth more for both fees (geth, reth), some an eighth more;
 * so an eighth more is offered, or the chain's present fees if they are higher. The signer has to own the cost, and the ceilings
 * need room for the part by which it exceeds the cost of the bytes before.
 */
import * as Effect from "effect/Effect"

import type { ChainHead, Fees, PreparedTransaction } from "../../scheme/SchemeFacilitator.ts"
import type { Allowance } from "../store/NetworkSpend.ts"
import { type LaneState, withOpenSlot } from "./LaneState.ts"
import * as SignerFunds from "./SignerFunds.ts"
import * as SpendLimits from "./SpendLimits.ts"
import { expenseOf, lastAttempt, type TrackedTransaction } from "./TrackedTransaction.ts"

/**
 * The most that a replacement with the same payments may cost, in the chain's smallest native unit; `undefined` if there is no
 * limit. A node would reject a replacement that the signer cannot pay for, and the bytes before it may be good.
 */
export const mostFor = Effect.fnUntraced(function* (state: LaneState, transaction: TrackedTransaction) {
  const { cost } = lastAttempt(transaction)
  const left = yield* state.funds.left(anEighthMore(cost) - cost, () => withOpenSlot(state))
  const cap = transaction.payments.length > 1 ? state.scheme.batches?.maximumCost : undefined
  // A cost above today's cap was signed under a higher one, and a node has taken it all the same.
  const most = cap === undefined || cost > cap ? undefined : cap
  const room = yield* roomFor(state, transaction)
  return SignerFunds.lowest(plus(cost, left), most, plus(cost, room))
})

const plus = (cost: bigint, more: bigint | undefined): bigint | undefined =>
  more === undefined ? undefined : cost + more

/** The ceilings' room for these callers; the books count the transaction's cost already. */
const roomFor = Effect.fnUntraced(function* (state: LaneState, transaction: TrackedTransaction) {
  const { limits, scheme, store } = state
  const { callers, held } = expenseOf(transaction)
  if (!SpendLimits.hold(limits, scheme.network, callers)) return undefined
  const books = yield* store.books(scheme.network, yield* since(state))
  return SpendLimits.room(limits, scheme.network, books).most(held)
})

const since = ({ store }: LaneState) => Effect.map(store.now, (now) => now - SpendLimits.periodMillis)

/**
 * The judgement of a replacement by the network's books, in the step that writes it down; `undefined` if no ceiling holds.
 */
export const allowanceFor = Effect.fnUntraced(function* (
  state: LaneState,
  transaction: TrackedTransaction,
  highest: bigint
) {
  const { limits, scheme } = state
  const { callers, cost, held } = expenseOf(transaction)
  if (highest <= cost || !SpendLimits.hold(limits, scheme.network, callers)) return undefined
  const allowance: Allowance = {
    since: yield* since(state),
    allows: (books) => SpendLimits.allow(limits, scheme.network, [{ callers, held, cost: highest - cost }], books)
  }
  return allowance
})

/**
 * The chain head with the fees of a replacement that costs no more than `most`; `undefined` if nodes would not accept such a
 * replacement. A chain without fees takes newer bytes at the same price.
 */
export const replacing = (
  transaction: TrackedTransaction,
  chainHead: ChainHead,
  most: bigint | undefined
): ChainHead | undefined => {
  const { cost, fees: earlier } = lastAttempt(transaction)
  if (chainHead.fees === undefined || earlier === undefined) return chainHead
  const affordable = most === undefined || cost === 0n ? undefined : (most * earlier.maximum) / cost
  const ceiling = SignerFunds.lowest(chainHead.fees.ceiling, affordable) ?? chainHead.fees.ceiling
  const fees = feesAbove({ ...chainHead.fees, ceiling }, earlier)
  return fees && { ...chainHead, fees }
}

/** The fees of a replacement; `undefined` if even an eighth more is above the operator's ceiling. */
const feesAbove = (
  { ceiling, maximum, priority }: Fees,
  earlier: NonNullable<PreparedTransaction["fees"]>
): Fees | undefined => {
  const least = anEighthMore(earlier.maximum)
  const tip = greater(priority, anEighthMore(earlier.priority))
  const offer = greater(lesser(maximum, ceiling), greater(least, tip))
  return offer > ceiling ? undefined : { ceiling, maximum: offer, priority: tip }
}

/** The least price of a replacement, and the cost that it may then have: rounded up, and at least one unit more. */
export const anEighthMore = (amount: bigint): bigint => amount + amount / 8n + 1n

const greater = (a: bigint, b: bigint): bigint => (a > b ? a : b)
const lesser = (a: bigint, b: bigint): bigint => (a < b ? a : b)
