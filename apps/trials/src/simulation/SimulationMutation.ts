/**
 * A mutation that a simulation is run with, put around the services of each facilitator from outside; and none.
 */
import type { LaneLeases, PaymentStore, SchemeFacilitator } from "@pontage/core"

export interface SimulationMutation {
  readonly store: (store: PaymentStore.PaymentStore["Service"]) => PaymentStore.PaymentStore["Service"]
  readonly leases: (leases: LaneLeases.LaneLeases["Service"]) => LaneLeases.LaneLeases["Service"]
  /** The ceilings of gas are not given to the engine. */
  readonly ignoresCeilings: boolean
  /** `lagging` is the same scheme facilitator over a node that is two blocks behind. */
  readonly scheme: (scheme: SchemeFacilitator, lagging: SchemeFacilitator) => SchemeFacilitator
}

/** The program as it is. */
export const none: SimulationMutation = {
  store: (store) => store,
  leases: (leases) => leases,
  ignoresCeilings: false,
  scheme: (scheme) => scheme
}
