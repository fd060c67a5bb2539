/**
 * In which lane a payment waits: the one with the fewest in it, of those whose signers are not refused. The counts are
 * asked from the records a few times a second, and in between each choice is counted with them.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

import type { FacilitatorUnavailable } from "../../protocol/ProtocolError.ts"
import type { SchemeFacilitator } from "../../scheme/SchemeFacilitator.ts"
import { LaneName, type PaymentStore } from "../store/PaymentStore.ts"

/** Chooses lanes for payments on a half's network. */
export interface LaneChoice {
  readonly laneFor: (scheme: SchemeFacilitator) => Effect.Effect<string, FacilitatorUnavailable>
  /**
   * A lane whose signer a node has refused has let a payment go: the lane to try instead, and for a while for all others;
   * `undefined` when there is none that was not refused a moment ago.
   */
  readonly instead: (
    scheme: SchemeFacilitator,
    refused: string
  ) => Effect.Effect<string | undefined, FacilitatorUnavailable>
}

const freshness = Duration.toMillis("250 millis")

/** How long a lane is avoided whose signer was refused. */
const avoidance = Duration.toMillis("5 seconds")

/** Makes a choice over the lanes of these halves. */
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

/** The names of a half's lanes; a family whose payers send their own transactions has one, of the empty address. */
export const lanesOf = ({ lanes, network }: SchemeFacilitator): ReadonlyArray<string> =>
  lanes.length === 0 ? [LaneName(network, "")] : lanes.map((address) => LaneName(network, address))
