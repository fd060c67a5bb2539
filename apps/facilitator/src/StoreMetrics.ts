/**
 * What is counted of the records. Every change of a payment's state is counted once, by the process that made it: the sum
 * over all processes is the number of entries in the payments' histories, unless a process died or lost its connection
 * between a write and its answer.
 */
import type { Settlement } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"

import { seriesOf } from "./MetricSeries.ts"

const transitions = seriesOf(
  Metric.counter("pontage_payment_transitions_total", {
    description: "Changes of payments' states, by the state that was reached",
    incremental: true
  })
)

const seconds = seriesOf(
  Metric.histogram("pontage_store_seconds", {
    description: "How long the store took, by method",
    boundaries: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]
  })
)

const failures = seriesOf(
  Metric.counter("pontage_store_failures_total", {
    description: "Questions that the store did not answer, by method",
    incremental: true
  })
)

const leasesLost = seriesOf(
  Metric.counter("pontage_store_leases_lost_total", {
    description: "Writes that the store refused because the lane had passed on, by method",
    incremental: true
  })
)

/**
 * Counts payments that have reached a state.
 *
 * @category combinators
 */
export const reached = (status: Settlement.PaymentState, payments = 1): Effect.Effect<void> =>
  payments === 0 ? Effect.void : Metric.update(transitions({ status }), payments)

/**
 * Measures a method of the store.
 *
 * @category combinators
 */
export const timed =
  (method: string) =>
  <A, E extends { readonly _tag: string }>(work: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Effect.flatMap(Clock.currentTimeNanos, (started) =>
      Effect.onExit(
        Effect.tapError(work, ({ _tag }) =>
          Metric.update((_tag === "LeaseLost" ? leasesLost : failures)({ method }), 1)
        ),
        () =>
          Effect.flatMap(Clock.currentTimeNanos, (ended) =>
            Metric.update(seconds({ method }), Number(ended - started) / 1e9)
          )
      )
    )
