/**
 * How dear the bytes may be that take the place of a flight's: its signer has to own as much, a node has to let it through, and
 * the ceilings of gas have to have room for what they cost more than those before them.
 */
import * as Effect from "effect/Effect"

import type { ChainHead } from "../../scheme/SchemeFacilitator.ts"
import type { Allowance } from "../store/NetworkSpend.ts"
import * as FeeBump from "./FeeBump.ts"
import type { LaneState } from "./LaneState.ts"
import * as SignerFunds from "./SignerFunds.ts"
import * as SpendLimits from "./SpendLimits.ts"
import { type TrackedTransaction, expenseOf, lastAttempt } from "./TrackedTransaction.ts"

/**
 * The most that a replacement with the flight's payments may cost, in the chain's smallest native unit; `undefined` where nothing
 * bounds it. A node would refuse what its signer cannot pay for, and the bytes that it takes the place of may be good.
 */
export const mostFor = Effect.fnUntraced(function* (state: LaneState, transaction: TrackedTransaction) {
  const { cost } = lastAttempt(transaction)
  const left = yield* SignerFunds.left(state, FeeBump.anEighthMore(cost) - cost, [])
  const cap = transaction.payments.length > 1 ? state.scheme.batches?.maximumCost : undefined
  // Above today's cap it was signed under a higher one, and a node has taken it all the same.
  const most = cap === undefined || cost > cap ? undefined : cap
  const room = yield* roomFor(state, transaction)
  return SignerFunds.lowest(plus(cost, left), most, plus(cost, room))
})

const plus = (cost: bigint, more: bigint | undefined): bigint | undefined =>
  more === undefined ? undefined : cost + more

/** The ceilings' room for these callers; the books count what the flight costs already. */
const roomFor = Effect.fnUntraced(function* (state: LaneState, transaction: TrackedTransaction) {
  const { limits, scheme, store } = state
  const { callers } = expenseOf(transaction)
  if (!SpendLimits.hold(limits, scheme.network, callers)) return undefined
  const books = yield* store.books(scheme.network, yield* since(state))
  return SpendLimits.room(limits, scheme.network, books).most(callers)
})

const since = ({ store }: LaneState) => Effect.map(store.now, (now) => now - SpendLimits.periodMillis)

/**
 * The judgement of a replacement by the network's books, in the step that writes it down; `undefined` where no ceiling holds.
 */
export const allowanceFor = Effect.fnUntraced(function* (
  state: LaneState,
  transaction: TrackedTransaction,
  dearest: bigint
) {
  const { limits, scheme } = state
  const { callers, cost } = expenseOf(transaction)
  if (dearest <= cost || !SpendLimits.hold(limits, scheme.network, callers)) return undefined
  const allowance: Allowance = {
    since: yield* since(state),
    allows: (books) => SpendLimits.allow(limits, scheme.network, [{ callers, cost: dearest - cost }], books)
  }
  return allowance
})

/**
 * The chain head with the fees of a replacement that costs no more than `most`; `undefined` where such a one would not be taken. A chain
 * without fees takes newer bytes at the same price.
 */
export const dearerThan = (
  transaction: TrackedTransaction,
  chainHead: ChainHead,
  most: bigint | undefined
): ChainHead | undefined => {
  const { cost, fees: earlier } = lastAttempt(transaction)
  if (chainHead.fees === undefined || earlier === undefined) return chainHead
  const affordable = most === undefined || cost === 0n ? undefined : (most * earlier.maximum) / cost
  const ceiling = SignerFunds.lowest(chainHead.fees.ceiling, affordable) ?? chainHead.fees.ceiling
  const fees = FeeBump.replacing({ ...chainHead.fees, ceiling }, earlier)
  return fees && { ...chainHead, fees }
}
