/**
 * What all lanes of one network have in the air: the ceilings of what settling may cost hold for them together. The lanes
 * that this process works say it themselves; those of other processes are read from the records.
 */
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"

import type { FacilitatorUnavailable } from "../../protocol/ProtocolError.ts"
import type { Flight, PaymentStore } from "../records/PaymentStore.ts"
import type { Expense } from "./GasCeilings.ts"

/**
 * The airspace of a network.
 *
 * @category models
 */
export interface Airspace {
  /** One lane at a time decides what it may still spend, and writes down what it spends it on. */
  readonly lock: Semaphore.Semaphore
  /** The names of all lanes. */
  readonly lanes: ReadonlyArray<string>
  /** What the lanes that are worked here have in the air. */
  readonly worked: Map<string, () => ReadonlyArray<Expense>>
}

/**
 * The airspace of these lanes.
 *
 * @category constructors
 */
export const make = (lanes: ReadonlyArray<string>): Airspace => ({
  lock: Semaphore.makeUnsafe(1),
  lanes,
  worked: new Map()
})

/**
 * Everything in the air, with the most that it may cost.
 *
 * @category getters
 */
export const expenses = (
  { lanes, worked }: Airspace,
  store: PaymentStore["Service"]
): Effect.Effect<ReadonlyArray<Expense>, FacilitatorUnavailable> =>
  Effect.map(
    Effect.forEach(lanes, (lane) => {
      const own = worked.get(lane)
      return own === undefined ? Effect.map(store.flights(lane), onRecord) : Effect.sync(own)
    }),
    (all) => all.flat()
  )

const onRecord = (flights: ReadonlyArray<Flight>): ReadonlyArray<Expense> =>
  flights.flatMap(({ attempts, landed, payments }) => {
    const last = attempts.at(-1)
    return landed === undefined && last !== undefined ? [{ cost: last.cost, payments }] : []
  })
