/** Metrics of payments whose money goes on to another network and is not delivered there for good. */
import { type PaymentStore, Settlement } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"

import { seriesOf } from "./MetricSeries.ts"

const open = seriesOf((attributes) =>
  Metric.gauge("pontage_delivery_open", {
    attributes,
    description: "Payments whose money has left their network and has not arrived on the other one for good, by state"
  })
)

/** A pair of networks. */
export interface Crossing {
  readonly from: string
  readonly to: string
}

/** Shows the open deliveries of these crossings; a state without any is shown as 0. */
export const show = (
  crossings: ReadonlyArray<Crossing>,
  deliveries: ReadonlyArray<PaymentStore.OpenDeliveries>
): Effect.Effect<void> =>
  Effect.forEach(
    crossings.flatMap(({ from, to }) => Settlement.DeliveryStatus.literals.map((status) => ({ from, to, status }))),
    ({ from, status, to }) => {
      const known = deliveries.find((one) => one.from === from && one.to === to && one.status === status)
      return Metric.update(open({ from, to, status }), known?.count ?? 0)
    },
    { discard: true }
  )
