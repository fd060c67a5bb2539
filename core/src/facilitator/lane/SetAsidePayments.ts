/**
 * Payments that a foreign transaction has displaced and that cannot be submitted again now. Their signed bytes were sent, so others
 * may submit them: such a payment never ends by a verdict, but only by proof on the chain. Until then it is set aside: tried again from
 * time to time, outside the queue, so that it blocks no other. The same holds for bound payments that a third party has settled before
 * anything was signed for them. A displaced payment stays in its lane while the lane's own transaction may still be included; after
 * that, a lane whose signer is not configured any more leaves it to another.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

import type { StateChange, StoredPayment } from "../store/PaymentStore.ts"
import { leaving } from "./LaneQueue.ts"
import { type LaneState, recordQueued, type Stopped } from "./LaneState.ts"
import * as OrphanedLanes from "./OrphanedLanes.ts"
import * as PaymentReading from "./PaymentReading.ts"
import { type BatchedPayment, wasSent } from "./TrackedTransaction.ts"

/** The pause between attempts. */
const pause = Duration.seconds(1)
/** The same for a payment that is settled and not final yet: each attempt queries the chain. */
const pauseUntilFinal = Duration.seconds(2)

/** Keeps a payment out of the queue for a while; then it has ended, or waits to be submitted again. */
export const setAside = Effect.fnUntraced(function* (
  state: LaneState,
  stored: StoredPayment
): Effect.fn.Return<void, Stopped> {
  yield* Effect.sleep(wasSent(stored) ? pause : pauseUntilFinal)
  const payment = yield* Effect.result(PaymentReading.ofRecord(state.scheme, stored))
  if (payment._tag === "Failure") {
    const message = `${stored.paymentId} waits in ${state.lease.lane} and cannot be read`
    return yield* Effect.logError(message, payment.failure)
  }
  // Its transaction may settle it, and end, during the look at the chain: the payment leaves by what was tracked before.
  const exit = toAnotherLane(state, stored)
  const ends = yield* proven(state, { stored, payment: payment.success, concluded: false })
  yield* recordQueued(state, ends.length === 0 ? exit : ends)
  state.setAsidePayments.delete(stored.paymentId)
  state.store.signals.notify(state.lease.lane)
})

/** No transaction is tracked for it, so a transfer counts only once it cannot be taken back. */
const proven = Effect.fnUntraced(function* ({ chain }: LaneState, batched: BatchedPayment) {
  const [change] = yield* chain.conclusionOf(undefined, batched)
  if (change === undefined) return []
  const { block } = change
  if (block === undefined) return [change]
  const head = yield* chain.head
  const isFinal = head !== undefined && block.number <= head.final && (yield* chain.isCanonical(block)) === true
  const settled: StateChange = { ...change, to: "final" }
  return isFinal ? [settled] : []
})

/**
 * The change by which a displaced payment leaves a lane without a signer: none while its last transaction is tracked, because a
 * reorganisation may take the foreign one back until that is final.
 */
const toAnotherLane = (state: LaneState, stored: StoredPayment): ReadonlyArray<StateChange> => {
  const isTracked = [...state.transactions.values()].some(({ attempts }) =>
    attempts.some(({ transaction }) => transaction === stored.transaction)
  )
  const isStuck = state.orphaned === true && wasSent(stored) && !isTracked
  return isStuck ? [leaving(stored, ...OrphanedLanes.displacedWithoutSigner)] : []
}
