/**
 * Metrics of webhooks.
 */
import type { PaymentStore } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"

import { seriesOf } from "./MetricSeries.ts"

const deliveries = seriesOf((attributes) =>
  Metric.counter("pontage_webhook_deliveries_total", {
    attributes,
    description: "Attempts to deliver a webhook: delivered, failed, or given up",
    incremental: true
  })
)

const backlog = seriesOf((attributes) =>
  Metric.gauge("pontage_webhook_backlog", {
    attributes,
    description: "Webhooks on record that no process has delivered yet"
  })
)

const oldest = seriesOf((attributes) =>
  Metric.gauge("pontage_webhook_oldest_seconds", {
    attributes,
    description: "Age of the oldest webhook on record that no process has delivered yet"
  })
)

/** Outcome of an attempt. */
export type DeliveryOutcome = "delivered" | "failed" | "given_up"

/** Counts attempts. */
export const attempted = (outcome: DeliveryOutcome, attempts = 1): Effect.Effect<void> =>
  Metric.update(deliveries({ outcome }), attempts)

/** Shows the undelivered webhooks on record, at this time (Unix milliseconds). */
export const backlogged = ({ count, oldest: since }: PaymentStore.NoticeBacklog, now: number): Effect.Effect<void> =>
  Effect.andThen(
    Metric.update(backlog({}), count),
    Metric.update(oldest({}), since === undefined ? 0 : Math.max(0, Math.floor((now - since) / 1000)))
  )
