/**
 * Faults brought back into a simulation, so that it is known how soon each is found. A simulation that stays green with a fault
 * proves nothing.
 */
import type { SchemeFacilitator } from "@pontage/core"

import { type MutationName, mutations } from "../Mutation.ts"
import * as SimulationFault from "./SimulationFault.ts"

/**
 * A fault: what is wrong with it, in words, and how it is made anew for each simulation.
 *
 * @category models
 */
export interface NamedFault {
  readonly words: string
  readonly make: () => SimulationFault.SimulationFault
}

/** A fault of the trials over real chains, in the simulation's form. */
const ofTrials = (name: MutationName, words: string): NamedFault => ({
  words,
  make: () => {
    const { half, leases, store } = mutations[name]
    return {
      store: store ?? SimulationFault.none.store,
      leases: leases ?? SimulationFault.none.leases,
      half: half ?? SimulationFault.none.half,
      ignoresCeilings: mutations[name].ignoresCeilings === true
    }
  }
})

const onHalf = (
  words: string,
  half: (half: SchemeFacilitator, lagging: SchemeFacilitator) => SchemeFacilitator
): NamedFault => ({ words, make: () => ({ ...SimulationFault.none, half }) })

/**
 * Their names.
 *
 * @category constants
 */
export const simulationFaultNames = [
  "broadcast-before-persist",
  "claim-always-granted",
  "lease-for-ever",
  "no-receipt-is-failure",
  "rpc-error-is-verdict",
  "reorganisation-unseen",
  "fees-frozen",
  "logs-lag-behind-receipts"
] as const

/**
 * @category models
 */
export type SimulationFaultName = (typeof simulationFaultNames)[number]

/**
 * All of them.
 *
 * @category constants
 */
export const simulationFaults: Readonly<Record<SimulationFaultName, NamedFault>> = {
  "broadcast-before-persist": ofTrials("broadcast-before-persist", "a transaction is sent before it is written down"),
  "claim-always-granted": ofTrials("claim-always-granted", "every claim is granted the run"),
  "lease-for-ever": ofTrials("lease-for-ever", "a lease that was held once is held for ever"),
  "no-receipt-is-failure": ofTrials("no-receipt-is-failure", "a transaction without a receipt counts as failed"),
  "rpc-error-is-verdict": ofTrials("rpc-error-is-verdict", "a chain that cannot be asked counts as a wrong signature"),
  "reorganisation-unseen": ofTrials("reorganisation-unseen", "what was in a block once counts as there for ever"),
  "fees-frozen": ofTrials("fees-frozen", "the first fees are offered for ever"),
  "logs-lag-behind-receipts": onHalf(
    "receipts are read from one node and transfers from another that is two blocks behind",
    (half, lagging) => ({
      ...half,
      observe: (passengers, attempts) => half.observe(passengers, attempts),
      balance: (payment) => lagging.balance(payment)
    })
  )
}
