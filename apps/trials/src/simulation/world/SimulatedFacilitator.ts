/**
 * A facilitator's life in the simulation: it starts with some configuration, is killed, frozen or stopped in good order, and
 * starts again with another configuration on the same records.
 */
import type { Facilitator, FacilitatorScheme } from "@pontage/core"
import { Checkpoint, FacilitatorSchemeRegistry, LaneLeases, LocalFacilitator, PaymentStore } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"

import type { SimulatedProcess } from "./SimulatedProcess.ts"

export type Service = (typeof Facilitator)["Service"]

/** Everything that a start takes. */
export interface Start {
  readonly process: SimulatedProcess
  readonly schemes: ReadonlyArray<FacilitatorScheme>
  readonly store: PaymentStore.PaymentStore["Service"]
  readonly leases: LaneLeases.LaneLeases["Service"]
  readonly options: Omit<LocalFacilitator.Options, "schemes">
  readonly strike: Checkpoint.Strike
}

/** One that runs. `service` is there once it listens. */
export interface RunningFacilitator {
  readonly process: SimulatedProcess
  readonly service: () => Service | undefined
  /** Stops in good order, and is dead then. */
  readonly stop: () => void
}

/** Starts one. `failed` is told when it refuses to start. */
export const start = (
  { leases, options, process, schemes, store, strike }: Start,
  failed: (message: string) => void
): RunningFacilitator => {
  const scope = Effect.runSync(Scope.make())
  let service: Service | undefined
  const making = Effect.gen(function* () {
    const registry = yield* Layer.build(FacilitatorSchemeRegistry.layer(schemes))
    return yield* Effect.provide(LocalFacilitator.make(options), registry)
  }).pipe(
    Effect.provideService(PaymentStore.PaymentStore, store),
    Effect.provideService(LaneLeases.LaneLeases, leases),
    Effect.provideService(Checkpoint.Checkpoint, strike),
    Effect.provideService(Scope.Scope, scope)
  )
  process.run(making, (exit) => {
    if (Exit.isSuccess(exit)) service = exit.value
    else failed(String(exit.cause))
  })
  return {
    process,
    service: () => (process.isAlive() ? service : undefined),
    stop: () => {
      service = undefined
      process.run(Scope.close(scope, Exit.void), process.kill)
    }
  }
}
