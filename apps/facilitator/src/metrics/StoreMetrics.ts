/**
 * Metrics of the records. The process that changes a payment's state counts the change once, so the sum over all processes is
 * the number of entries in the payments' histories, unless a process died or lost its connection between a write and its
 * response.
 */
import { Delivery, type PaymentStore, type Settlement } from "@pontage/core"
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Metric from "effect/Metric"

import { seriesOf } from "./MetricSeries.ts"

const transitions = seriesOf((attributes) =>
  Metric.counter("pontage_payment_transitions_total", {
    attributes,
    description: "Changes of payments' states, by the new state",
    incremental: true
  })
)

const methods = seriesOf((attributes) =>
  Metric.counter("pontage_payments_total", {
    attributes,
    description: "Payments that reached a state, by network and by the way to pay; without those that are planned",
    incremental: true
  })
)

const seconds = seriesOf((attributes) =>
  Metric.histogram("pontage_store_seconds", {
    attributes,
    description: "Duration of a call of the store, by method",
    boundaries: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]
  })
)

const failures = seriesOf((attributes) =>
  Metric.counter("pontage_store_failures_total", {
    attributes,
    description: "Failed calls of the store, by method",
    incremental: true
  })
)

const leasesLost = seriesOf((attributes) =>
  Metric.counter("pontage_store_leases_lost_total", {
    attributes,
    description: "Writes that the store refused because the lane's lease had passed to another process, by method",
    incremental: true
  })
)

/** Counts payments that reached a state. */
export const reached = (status: Settlement.PaymentState, payments = 1): Effect.Effect<void> =>
  payments === 0 ? Effect.void : Metric.update(transitions({ status }), payments)

type Counted = Pick<PaymentStore.StoredPayment, "authorization" | "requirements">

/**
 * Counts a payment by its way to pay, which the name of what it uses up says: `userop:` for a user operation, `permit2:` for Permit2. A
 * plain nonce is that of an authorization. Of payment channels, deposits are counted apart from the jobs that move nothing of a payer's.
 */
export const paid = (payment: Counted, status: Settlement.PaymentState): Effect.Effect<void> => {
  const { network } = payment.requirements
  return Effect.asVoid(Metric.update(methods({ network, method: methodOf(payment), status }), 1))
}

const methodOf = ({ authorization: { amount, nonce }, requirements }: Counted): string => {
  if (Delivery.isPush(requirements)) return "push"
  if (requirements.scheme === "batch-settlement") return amount > 0n ? "channel_deposit" : "channel_job"
  if (nonce.startsWith("userop:")) return "user_operation"
  return nonce.startsWith("permit2:") ? "permit2" : "authorization"
}

/** Measures a method of the store. Returns a wrapper for its calls. */
export const timed = (
  method: string
): (<A, E extends { readonly _tag: string }>(work: Effect.Effect<A, E>) => Effect.Effect<A, E>) => {
  const duration = seconds({ method })
  return (work) =>
    Effect.contextWith((context: Context.Context<never>) =>
      Effect.flatMap(Clock.currentTimeNanos, (started) =>
        Effect.onExit(work, (exit) =>
          Effect.map(Clock.currentTimeNanos, (ended) => {
            const failure = Exit.isFailure(exit)
              ? exit.cause.reasons.find((reason) => reason._tag === "Fail")
              : undefined
            if (failure !== undefined) {
              const counted = failure.error._tag === "LeaseLost" ? leasesLost : failures
              counted({ method }).updateUnsafe(1, context)
            }
            duration.updateUnsafe(Number(ended - started) / 1e9, context)
          })
        )
      )
    )
}
