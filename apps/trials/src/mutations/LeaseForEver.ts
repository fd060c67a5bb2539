/**
 * A lease that was held once is held for ever, and its epoch says nothing: a worker that was frozen goes on where it was,
 * beside the one that has taken its lane over.
 */
import type { LaneLeases } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as FiberMap from "effect/FiberMap"

type Leases = LaneLeases.LaneLeases["Service"]

/**
 * @category mutations
 */
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
  })
}
