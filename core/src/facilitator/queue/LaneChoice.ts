/**
 * Chooses the lane of a payment: the one with the fewest payments, of those whose signers the nodes do not reject. The counts are read
 * from the store a few times a second; in between each choice is added to them.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

import type { FacilitatorUnavailable } from "../../protocol/ProtocolError.ts"
import type { SchemeFacilitator } from "../../scheme/SchemeFacilitator.ts"
import { LaneName, type PaymentStore } from "../store/PaymentStore.ts"

/** Chooses lanes for payments on a scheme's network. */
export interface LaneChoice {
  readonly laneFor: (scheme: SchemeFacilitator) => Effect.Effect<string, FacilitatorUnavailable>
  /**
   * A payment has left a lane because a node rejects its signer, or because it has none: the lane to try instead. All other payments
   * avoid the lane for a while too. `undefined` if every lane was avoided a moment ago.
   */
  readonly instead: (
    scheme: SchemeFacilitator,
    refused: string
  ) => Effect.Effect<string | undefined, FacilitatorUnavailable>
}

const freshness = Duration.toMillis("250 millis")

/** The time for which such a lane is avoided; milliseconds. */
const avoidance = Duration.toMillis("5 seconds")

/** Makes a choice by the counts of this store. */
export const make = (store: PaymentStore["Service"]): LaneChoice => {
  const counted = new Map<SchemeFacilitator, { readonly loads: Map<string, number>; readonly until: number }>()
  const avoided = new Map<string, number>()
  const loadsOf = Effect.fnUntraced(function* (scheme: SchemeFacilitator, now: number) {
    const known = counted.get(scheme)
    if (known !== undefined && now < known.until) return known.loads
    const names = lanesOf(scheme)
    const asked = yield* store.loads(names)
    const loads = new Map(names.map((name) => [name, asked.get(name) ?? 0]))
    counted.set(scheme, { loads, until: now + freshness })
    return loads
  })
  const least = Effect.fnUntraced(function* (scheme: SchemeFacilitator, names: ReadonlyArray<string>, now: number) {
    const [only] = names
    if (names.length < 2) return only
    const loads = yield* loadsOf(scheme, now)
    const best = names.reduce((a, b) => ((loads.get(b) ?? 0) < (loads.get(a) ?? 0) ? b : a))
    loads.set(best, (loads.get(best) ?? 0) + 1)
    return best
  })
  const open = (scheme: SchemeFacilitator, now: number) =>
    lanesOf(scheme).filter((name) => (avoided.get(name) ?? 0) <= now)
  return {
    laneFor: Effect.fnUntraced(function* (scheme) {
      const now = yield* Clock.currentTimeMillis
      const lane = (yield* least(scheme, open(scheme, now), now)) ?? (yield* least(scheme, lanesOf(scheme), now))
      return lane ?? LaneName(scheme.network, "")
    }),
    instead: Effect.fnUntraced(function* (scheme, refused) {
      const now = yield* Clock.currentTimeMillis
      avoided.set(refused, now + avoidance)
      return yield* least(scheme, open(scheme, now), now)
    })
  }
}

/** The names of a scheme's lanes; a family whose payers send their own transactions has one, with the empty address. */
export const lanesOf = ({ lanes, network }: SchemeFacilitator): ReadonlyArray<string> =>
  lanes.length === 0 ? [LaneName(network, "")] : lanes.map((address) => LaneName(network, address))
