/**
 * In which lane a new payment waits: the one with the fewest in it. The counts are asked from the records a few times a
 * second, and in between each choice is counted with them.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

import type { FacilitatorUnavailable } from "../../protocol/ProtocolError.ts"
import type { SchemeFacilitator } from "../../scheme/SchemeFacilitator.ts"
import { LaneName, type PaymentStore } from "../records/PaymentStore.ts"

/**
 * Chooses a lane for a payment on this half's network.
 *
 * @category models
 */
export type LaneChoice = (half: SchemeFacilitator) => Effect.Effect<string, FacilitatorUnavailable>

const freshness = Duration.toMillis("250 millis")

/**
 * Makes a choice over the lanes of these halves.
 *
 * @category constructors
 */
export const make = (store: PaymentStore["Service"]): LaneChoice => {
  const counted = new Map<SchemeFacilitator, { readonly loads: Map<string, number>; readonly until: number }>()
  const loadsOf = Effect.fnUntraced(function* (half: SchemeFacilitator, names: ReadonlyArray<string>) {
    const now = yield* Clock.currentTimeMillis
    const known = counted.get(half)
    if (known !== undefined && now < known.until) return known.loads
    const asked = yield* store.loads(names)
    const loads = new Map(names.map((name) => [name, asked.get(name) ?? 0]))
    counted.set(half, { loads, until: now + freshness })
    return loads
  })
  return (half) => {
    const names = lanesOf(half)
    const [only] = names
    if (only !== undefined && names.length === 1) return Effect.succeed(only)
    return Effect.map(loadsOf(half, names), (loads) => {
      const [best] = [...loads].reduce((a, b) => (b[1] < a[1] ? b : a))
      loads.set(best, (loads.get(best) ?? 0) + 1)
      return best
    })
  }
}

/**
 * The names of a half's lanes; a family whose payers send their own transactions has one, of the empty address.
 *
 * @category getters
 */
export const lanesOf = ({ lanes, network }: SchemeFacilitator): ReadonlyArray<string> =>
  lanes.length === 0 ? [LaneName(network, "")] : lanes.map((address) => LaneName(network, address))
