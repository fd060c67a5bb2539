/**
 * What a lane's signer can pay for. Nodes take a transaction only from a signer that owns the most that it may cost, and the
 * most of all its others on their way. What a signer owns is asked seldom: what was left when it was last asked, less all
 * that was signed for since, is there for certain, unless somebody has taken it out. Then a node refuses, and it is asked
 * again.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

import { pendingIn, type LaneState } from "./LaneState.ts"
import { type TrackedTransaction, lastAttempt } from "./TrackedTransaction.ts"

/** Who is asked what signers own may be silent for so long: everybody else in the lane waits. */
const patience = Duration.seconds(2)

/**
 * What is left, in the chain's smallest native unit: at least the cost, where there is so much; below zero, where more is on
 * its way than the signer owns. `undefined` where nobody can say: then it is the node's turn to refuse.
 */
export const left = Effect.fnUntraced(function* (
  state: LaneState,
  cost: bigint,
  signed: ReadonlyArray<TrackedTransaction>
): Effect.fn.Return<bigint | undefined> {
  const { address, scheme } = state
  if (address === "" || (state.gasMoney !== undefined && state.gasMoney >= cost)) return state.gasMoney
  const signers = yield* Effect.catch(Effect.timeout(scheme.signers, patience), (error) =>
    Effect.as(Effect.logDebug("the chain could not be asked what a signer owns", error), [])
  )
  const owned = signers.find((signer) => signer.address === address)?.balance
  if (owned === undefined) return undefined
  const onTheWay = [...pendingIn(state), ...signed].reduce(
    (sum, transaction) => sum + lastAttempt(transaction).cost,
    0n
  )
  state.gasMoney = owned - onTheWay
  return state.gasMoney
})

/**
 * How much of a limit several payments may cost together: with the rest their transaction can be replaced by one that offers
 * an eighth more, should it not land.
 */
export const shareOf = (limit: bigint): bigint => (limit * 8n) / 9n

/** The lowest of limits; `undefined` where there is none. */
export const lowest = (...limits: ReadonlyArray<bigint | undefined>): bigint | undefined =>
  limits.reduce((a, b) => (a === undefined || (b !== undefined && b < a) ? b : a), undefined)

/** Takes what was signed for out of what is left. */
export const spend = (state: LaneState, cost: bigint): void => {
  state.payable = Number.POSITIVE_INFINITY
  if (state.gasMoney !== undefined) state.gasMoney -= cost
}
