/**
 * The planned transaction is confirmed before it is written: its bytes are sent first and recorded half a second later.
 * A crash in between leaves a transfer without a record.
 */
import type { PaymentStore } from "@pontage/core"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"

type Store = PaymentStore.PaymentStore["Service"]

const delayMillis = 500

export const broadcastBeforePersist = {
  store: (store: Store): Store => {
    const unwritten = new Map<string, Deferred.Deferred<void>>()
    /** Reads and writes of a lane wait for plans that are not written yet. */
    const afterPlans = <A, E, R>(lane: string, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      Effect.suspend(() => {
        const waiting = unwritten.get(lane)
        return waiting === undefined ? effect : Effect.andThen(Deferred.await(waiting), effect)
      })
    return {
      ...store,
      plan: (lease, plans, allowance) =>
        afterPlans(
          lease.lane,
          Effect.suspend(() => {
            const written = Deferred.makeUnsafe<void>()
            unwritten.set(lease.lane, written)
            const later = Effect.andThen(
              Effect.sleep(delayMillis),
              Effect.ignoreCause(store.plan(lease, plans, allowance))
            )
            const done = Effect.suspend(() => {
              unwritten.delete(lease.lane)
              return Deferred.succeed(written, undefined)
            })
            return Effect.as(Effect.forkDetach(Effect.andThen(later, done)), undefined)
          })
        ),
      replace: (lease, ...bytes) => afterPlans(lease.lane, store.replace(lease, ...bytes)),
      record: (lease, entry) => afterPlans(lease.lane, store.record(lease, entry)),
      queued: (lane, limit) => afterPlans(lane, store.queued(lane, limit)),
      queuedInTurn: (lane, ...turn) => afterPlans(lane, store.queuedInTurn(lane, ...turn)),
      openTransactions: (lane) => afterPlans(lane, store.openTransactions(lane))
    }
  }
}
