/**
 * The lanes as the records show them: how many payments wait and travel, whether anybody works on them, and what settling
 * has cost. Whoever works a lane, here or elsewhere, every process sees the same.
 */
import { type FacilitatorUnavailable, type LaneAdmission, PaymentStore, type SchemeFacilitator } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"

import type { LaneView } from "../readiness/ReadinessCheck.ts"
import { seriesOf } from "./MetricSeries.ts"

/**
 * A lane stands still when the same payment has been the first in its queue for so long, in milliseconds, and no
 * transaction has been begun meanwhile. Payments of callers with a gas ceiling of their own do not count: one that has
 * reached it waits by right, and is no reason to send the others away. Nor do those that came back from a lost slot and are
 * over: they wait for a final block to prove what became of them.
 */
export const patienceMillis = 60_000

const dayMillis = 24 * 3_600_000

/** Looks at every lane, and remembers what was first in each queue. */
export interface LaneWatch {
  readonly look: Effect.Effect<ReadonlyArray<LaneView>, FacilitatorUnavailable>
}

/** How far into a queue it is looked. */
const depth = 16

interface Head {
  readonly mark: string
  readonly since: number
}

/** Makes a watch over the lanes of these schemes. The callers named have a gas budget of their own that is shown. */
export const make = (
  store: PaymentStore.PaymentStore["Service"],
  schemes: ReadonlyArray<SchemeFacilitator>,
  budgeted: ReadonlyArray<string>,
  admission?: LaneAdmission["Service"]
): LaneWatch => {
  const heads = new Map<string, Head>()
  const lanes = schemes.flatMap(({ lanes, network }) => lanes.map((address) => ({ network: String(network), address })))
  const networks = [...new Set(schemes.map(({ network }) => String(network)))]

  const isMoving = (lane: string, mark: string | undefined, now: number): boolean => {
    const known = heads.get(lane)
    if (mark !== undefined && known?.mark === mark) return now - known.since < patienceMillis
    if (mark === undefined) heads.delete(lane)
    else heads.set(lane, { mark, since: now })
    return true
  }

  const lookAt = Effect.fnUntraced(function* (place: Place) {
    const lane = PaymentStore.LaneName(place.network, place.address)
    const loads = yield* store.loads([lane])
    const now = yield* Clock.currentTimeMillis
    const first = (yield* store.queued(lane, depth)).find(
      (payment) => !budgeted.includes(payment.caller) && !isConcluded(payment, now)
    )
    const flights = yield* store.openTransactions(lane)
    const mark = first && `${first.paymentId} ${flights.at(-1)?.number ?? ""}`
    const half = schemes.find(({ lanes, network }) => network === place.network && lanes.includes(place.address))
    const view: LaneView = {
      ...place,
      waiting: Math.max(0, (loads.get(lane) ?? 0) - travelling(flights)),
      flights: flights.length,
      // What nobody signs for stands still by right.
      moving: half === undefined || isMoving(lane, mark, now),
      gap: half === undefined ? 0 : yield* gapIn(half, place.address, flights),
      signer: half !== undefined
    }
    yield* show(view)
    yield* Metric.update(
      unlandedGauge({ network: place.network, address: place.address }),
      flights.filter(({ inclusion }) => inclusion === undefined).length
    )
    return view
  })

  const bookkeeping = Effect.fnUntraced(function* (network: string) {
    const since = (yield* Clock.currentTimeMillis) - dayMillis
    yield* Metric.update(spentGas({ network }), yield* store.spent(network, since))
    for (const caller of budgeted) {
      yield* Metric.update(spentByCaller({ network, caller }), yield* store.spent(network, since, caller))
    }
  })

  const capacities = admission === undefined ? Effect.void : showingCapacities(admission)

  /** Those of the schemes, and those on record whose signers are none of theirs. */
  const places = Effect.map(store.lanesInUse, (names): ReadonlyArray<Place> => {
    const own = new Set(lanes.map(({ address, network }) => PaymentStore.LaneName(network, address)))
    const slotless = new Set(networks.map((network) => PaymentStore.LaneName(network, "")))
    const others = names.filter((name) => !own.has(name) && !slotless.has(name))
    return [...lanes, ...others.map(placeOf)]
  })

  return {
    look: Effect.andThen(capacities, Effect.forEach(networks, bookkeeping, { discard: true })).pipe(
      Effect.andThen(places),
      Effect.flatMap((all) => Effect.forEach(all, lookAt))
    )
  }
}

/** What the lanes land, as far as was seen, and how many payments each has turned away. */
const showingCapacities = (admission: LaneAdmission["Service"]): Effect.Effect<void> => {
  const told = new Map<string, number>()
  return Effect.flatMap(admission.views, (views) =>
    Effect.forEach(
      views,
      ({ landingMillis, lane, perSecond, turnedAway }) => {
        const [network = "", address = ""] = lane.split(" ")
        const place = { network, address }
        const more = turnedAway - (told.get(lane) ?? 0)
        told.set(lane, turnedAway)
        return Effect.all(
          [
            Metric.update(capacityGauge(place), perSecond),
            Metric.update(landingGauge(place), landingMillis / 1000),
            Metric.update(turnedAwayCounter(place), more)
          ],
          { discard: true }
        )
      },
      { discard: true }
    )
  )
}

interface Place {
  readonly network: string
  readonly address: string
}

const placeOf = (lane: string): Place => {
  const network = lane.slice(0, lane.indexOf(" "))
  return { network, address: lane.slice(network.length + 1) }
}

/** The most numbers that are counted. */
const longestGap = 1_000n

/** How many numbers from the chain's count up to the last transaction on its way have none; 0 where the chain does not answer. */
const gapIn = (half: SchemeFacilitator, address: string, flights: ReadonlyArray<PaymentStore.LaneTransaction>) => {
  const numbers = new Set(flights.map(({ number }) => number))
  const last = flights.findLast(({ inclusion }) => inclusion === undefined)?.number
  if (last === undefined) return Effect.succeed(0)
  return Effect.match(half.nextSlot(address, "included"), {
    onFailure: () => 0,
    onSuccess: (counted) => {
      let gap = 0
      const end = last < counted + longestGap ? last : counted + longestGap
      for (let number = counted; number < end; number++) if (!numbers.has(number)) gap++
      return gap
    }
  })
}

/** Nothing is sent for it any more: the lane's worker asks the chain for its end. */
const isConcluded = ({ authorization, since }: PaymentStore.StoredPayment, now: number): boolean =>
  since !== undefined && authorization.validBefore * 1000 <= now

const travelling = (flights: ReadonlyArray<PaymentStore.LaneTransaction>): number =>
  flights.flatMap(({ payments }) => payments).filter(({ status }) => status === "planned" || status === "sent").length

const waitingGauge = seriesOf((attributes) =>
  Metric.gauge("pontage_lane_waiting", { attributes, description: "Payments that wait in a signer's queue" })
)

const flightsGauge = seriesOf((attributes) =>
  Metric.gauge("pontage_lane_flights", { attributes, description: "A signer's transactions that are not final yet" })
)

const unlandedGauge = seriesOf((attributes) =>
  Metric.gauge("pontage_lane_flights_unlanded", {
    attributes,
    description: "A signer's transactions that are in no block yet"
  })
)

const capacityGauge = seriesOf((attributes) =>
  Metric.gauge("pontage_lane_capacity", {
    attributes,
    description: "Payments a second that a lane lands while more wait than it has places for, as far as was seen"
  })
)

const landingGauge = seriesOf((attributes) =>
  Metric.gauge("pontage_lane_landing_seconds", {
    attributes,
    description: "How long a payment takes to land that waits for nobody, as far as was seen"
  })
)

const turnedAwayCounter = seriesOf((attributes) =>
  Metric.counter("pontage_lane_turned_away_total", {
    attributes,
    description: "Payments that were told to come again because they would have expired in a lane's queue",
    incremental: true
  })
)

const movingGauge = seriesOf((attributes) =>
  Metric.gauge("pontage_lane_moving", {
    attributes,
    description: "1, or 0 when the first in the queue has waited for a minute"
  })
)

const spentGas = seriesOf((attributes) =>
  Metric.gauge("pontage_gas_spent_24h", {
    attributes,
    description: "What settling has cost in 24 hours, in the chain's smallest native unit",
    bigint: true
  })
)

const spentByCaller = seriesOf((attributes) =>
  Metric.gauge("pontage_caller_gas_spent_24h", {
    attributes,
    description: "What settling has cost in 24 hours for a caller with a ceiling, in the chain's smallest native unit",
    bigint: true
  })
)

const show = ({ address, flights, moving, network, waiting }: LaneView): Effect.Effect<void> =>
  Effect.all(
    [
      Metric.update(waitingGauge({ network, address }), waiting),
      Metric.update(flightsGauge({ network, address }), flights),
      Metric.update(movingGauge({ network, address }), moving ? 1 : 0)
    ],
    { discard: true }
  )
