/**
 * What is counted of webhooks.
 */
import type { PaymentStore } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"

import { seriesOf } from "./MetricSeries.ts"

const deliveries = seriesOf((attributes) =>
  Metric.counter("pontage_webhook_deliveries_total", {
    attributes,
    description: "Attempts to tell a caller of a payment's end: told, failed, or given up",
    incremental: true
  })
)

const backlog = seriesOf((attributes) =>
  Metric.gauge("pontage_webhook_backlog", {
    attributes,
    description: "Ends in the records that no caller has been told of yet, by any process"
  })
)

const oldest = seriesOf((attributes) =>
  Metric.gauge("pontage_webhook_oldest_seconds", {
    attributes,
    description: "The age of the oldest end in the records that no caller has been told of yet"
  })
)

/** What became of an attempt. */
export type Outcome = "told" | "failed" | "given_up"

/** Counts attempts. */
export const attempted = (outcome: Outcome, attempts = 1): Effect.Effect<void> =>
  Metric.update(deliveries({ outcome }), attempts)

/** Shows what is untold, at this time (Unix milliseconds). */
export const untold = ({ count, oldest: since }: PaymentStore.NoticeBacklog, now: number): Effect.Effect<void> =>
  Effect.andThen(
    Metric.update(backlog({}), count),
    Metric.update(oldest({}), since === undefined ? 0 : Math.max(0, Math.floor((now - since) / 1000)))
  )
