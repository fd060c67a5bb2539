/**
 * A lease that was held once is held for ever, and the store checks no epoch: a frozen worker that wakes goes on where it
 * was, beside the one that has taken its lane over.
 */
import type { LaneLeases, PaymentStore } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as FiberMap from "effect/FiberMap"

type Leases = LaneLeases.LaneLeases["Service"]
type Store = PaymentStore.PaymentStore["Service"]
type Lease = LaneLeases.Lease

export const leaseForEver = {
  leases: (leases: Leases): Leases => ({
    work: (lanes, run) =>
      Effect.scoped(
        Effect.gen(function* () {
          const fibers = yield* FiberMap.make<string>()
          return yield* leases.work(lanes, (lease) =>
            Effect.andThen(
              FiberMap.run(fibers, lease.lane, run({ ...lease, isValid: () => true }), { onlyIfMissing: true }),
              Effect.never
            )
          )
        })
      )
  }),
  store: (store: Store): Store => ({
    ...store,
    openLane: (lease, first) => store.openLane(unfenced(lease), first),
    skipTo: (lease, next) => store.skipTo(unfenced(lease), next),
    plan: (lease, plans, allowance) => store.plan(unfenced(lease), plans, allowance),
    replace: (lease, ...bytes) => store.replace(unfenced(lease), ...bytes),
    record: (lease, entry) => store.record(unfenced(lease), entry)
  })
}

/** A higher epoch than anybody had before, at every write: by the time of day, in milliseconds. */
const unfenced = (lease: Lease): Lease => ({ ...lease, epoch: Math.floor(performance.timeOrigin + performance.now()) })
