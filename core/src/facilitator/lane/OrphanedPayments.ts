/**
 * Payments that have lost their slot and cannot depart again now. Their signed bytes were sent, so anybody may submit them:
 * such a payment never leaves its lane and never ends by a verdict, but by what the chain proves. Until then it is tried
 * again from time to time, beside the queue, so that it keeps nobody waiting. So are bound payments that somebody else has
 * settled before anything was signed for them.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

import type { StateChange, StoredPayment } from "../store/PaymentStore.ts"
import { concluded } from "./Confirmation.ts"
import { recordQueued, type LaneState, type Stopped } from "./LaneState.ts"
import * as PaymentReading from "./PaymentReading.ts"
import { type BatchedPayment, wasSent } from "./TrackedTransaction.ts"

/** Between attempts. */
const pause = Duration.seconds(1)
/** The same for a payment that is settled and not final yet: each attempt asks the chain. */
const pauseUntilFinal = Duration.seconds(2)

/** Takes a payment out of the queue for a while; then it has ended, or waits to depart again. */
export const setAside = Effect.fnUntraced(function* (
  state: LaneState,
  stored: StoredPayment
): Effect.fn.Return<void, Stopped> {
  yield* Effect.sleep(wasSent(stored) ? pause : pauseUntilFinal)
  const payment = yield* Effect.result(PaymentReading.ofRecord(state.scheme, stored))
  if (payment._tag === "Failure") {
    return yield* Effect.logError(
      `${stored.paymentId} waits in ${state.lease.lane} and cannot be read`,
      payment.failure
    )
  }
  yield* recordQueued(state, yield* proven(state, { stored, payment: payment.success, concluded: false }))
  state.orphanedPayments.delete(stored.paymentId)
  state.store.signals.notify(state.lease.lane)
})

/** No flight watches over it, so that a transfer counts only once it cannot be taken back. */
const proven = Effect.fnUntraced(function* (state: LaneState, batched: BatchedPayment) {
  const [advance] = yield* concluded(state, undefined, batched)
  if (advance === undefined) return []
  const { block } = advance
  if (block === undefined) return [advance]
  const isFinal = Effect.flatMap(state.scheme.chainHead, ({ final }) =>
    block.number <= final ? state.scheme.isCanonical(block) : Effect.succeed(false)
  )
  const settled: StateChange = { ...advance, to: "final" }
  return (yield* Effect.catch(isFinal, () => Effect.succeed(false))) ? [settled] : []
})
