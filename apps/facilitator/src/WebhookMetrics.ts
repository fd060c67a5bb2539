/**
 * What is counted of webhooks.
 */
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"

import { seriesOf } from "./MetricSeries.ts"

const deliveries = seriesOf((attributes) =>
  Metric.counter("pontage_webhook_deliveries_total", {
    attributes,
    description: "Attempts to tell a caller of a payment's end: told, failed, postponed, or given up",
    incremental: true
  })
)

const backlog = seriesOf((attributes) =>
  Metric.gauge("pontage_webhook_backlog", {
    attributes,
    description: "Ends that this process has tried to tell and could not yet"
  })
)

const oldest = seriesOf((attributes) =>
  Metric.gauge("pontage_webhook_oldest_seconds", {
    attributes,
    description: "The age of the oldest end that this process could not tell yet"
  })
)

/**
 * What became of an attempt.
 *
 * @category models
 */
export type Outcome = "told" | "failed" | "postponed" | "given_up"

/**
 * Counts an attempt.
 *
 * @category combinators
 */
export const attempted = (outcome: Outcome): Effect.Effect<void> => Metric.update(deliveries({ outcome }), 1)

/**
 * Shows what is untold: how many, and since when (Unix milliseconds).
 *
 * @category combinators
 */
export const untold = (times: Iterable<number>, now: number): Effect.Effect<void> => {
  let count = 0
  let first = now
  for (const time of times) {
    count += 1
    first = Math.min(first, time)
  }
  return Effect.andThen(Metric.update(backlog({}), count), Metric.update(oldest({}), Math.floor((now - first) / 1000)))
}
