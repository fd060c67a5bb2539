/**
 * Metrics of the lanes, by the signer of each: its queue, its transactions, its capacity, and the costs of its network.
 */
import type { LaneAdmission } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"

import { seriesOf } from "./MetricSeries.ts"

/** A lane by its network and its signer's address. */
export interface Lane {
  readonly network: string
  readonly address: string
}

/** Counts of one lane. */
export interface LaneCounts {
  /** Payments in the queue. */
  readonly waiting: number
  /** Transactions that are not final. */
  readonly transactions: number
  /** Transactions that are in no block. */
  readonly pending: number
  readonly moving: boolean
}

/** Shows the counts of a lane. */
export const show = ({ address, network }: Lane, counts: LaneCounts): Effect.Effect<void> => {
  const lane = { network, address }
  return Effect.all(
    [
      Metric.update(waitingGauge(lane), counts.waiting),
      Metric.update(transactionsGauge(lane), counts.transactions),
      Metric.update(pendingGauge(lane), counts.pending),
      Metric.update(movingGauge(lane), counts.moving ? 1 : 0)
    ],
    { discard: true }
  )
}

/** Shows the native coin that settling on a network has cost in 24 hours: in total, or for one caller. */
export const showSpent = (network: string, amount: bigint, caller?: string): Effect.Effect<void> =>
  Metric.update(caller === undefined ? spentGauge({ network }) : callerSpentGauge({ network, caller }), amount)

/** Shows the measured capacity of each lane, and counts the payments that each has turned away since the last call. */
export const showCapacities = (admission: LaneAdmission["Service"]): Effect.Effect<void> => {
  const counted = new Map<string, number>()
  return Effect.flatMap(admission.views, (views) =>
    Effect.forEach(
      views,
      ({ inclusionMillis, lane: name, perSecond, turnedAway }) => {
        const [network = "", address = ""] = name.split(" ")
        const lane = { network, address }
        const more = turnedAway - (counted.get(name) ?? 0)
        counted.set(name, turnedAway)
        return Effect.all(
          [
            Metric.update(capacityGauge(lane), perSecond),
            Metric.update(inclusionGauge(lane), inclusionMillis / 1000),
            Metric.update(turnedAwayCounter(lane), more)
          ],
          { discard: true }
        )
      },
      { discard: true }
    )
  )
}

const waitingGauge = seriesOf((attributes) =>
  Metric.gauge("pontage_lane_waiting", { attributes, description: "Payments in a signer's queue" })
)

const transactionsGauge = seriesOf((attributes) =>
  Metric.gauge("pontage_lane_transactions", { attributes, description: "Transactions of a signer that are not final" })
)

const pendingGauge = seriesOf((attributes) =>
  Metric.gauge("pontage_lane_transactions_pending", {
    attributes,
    description: "Transactions of a signer that are in no block"
  })
)

const capacityGauge = seriesOf((attributes) =>
  Metric.gauge("pontage_lane_capacity", {
    attributes,
    description: "Payments a second that a lane includes when its queue is full, as measured"
  })
)

const inclusionGauge = seriesOf((attributes) =>
  Metric.gauge("pontage_lane_inclusion_seconds", {
    attributes,
    description: "Time until a payment is included when the queue is empty, as measured"
  })
)

const turnedAwayCounter = seriesOf((attributes) =>
  Metric.counter("pontage_lane_turned_away_total", {
    attributes,
    description: "Payments that were refused for now because they would have expired in a lane's queue",
    incremental: true
  })
)

const movingGauge = seriesOf((attributes) =>
  Metric.gauge("pontage_lane_moving", {
    attributes,
    description: "1, or 0 when the first payment in the queue has waited for a minute"
  })
)

const spentGauge = seriesOf((attributes) =>
  Metric.gauge("pontage_gas_spent_24h", {
    attributes,
    description: "Cost of settling in 24 hours, in the chain's smallest native unit",
    bigint: true
  })
)

const callerSpentGauge = seriesOf((attributes) =>
  Metric.gauge("pontage_caller_gas_spent_24h", {
    attributes,
    description: "Cost of settling in 24 hours for a caller with a ceiling, in the chain's smallest native unit",
    bigint: true
  })
)
