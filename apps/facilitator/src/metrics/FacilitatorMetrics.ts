/**
 * Metrics of the service's requests, for Prometheus.
 */
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Metric from "effect/Metric"

import { seriesOf } from "./MetricSeries.ts"

/** Operations of the facilitator. */
export type Operation = "verify" | "settle" | "claim" | "finish" | "draw" | "window" | "voucher"

const responses = seriesOf((attributes) =>
  Metric.counter("pontage_facilitator_responses_total", {
    attributes,
    description: "Responses, by operation and by outcome: an execution or state, a code, a reason, or a fault",
    incremental: true
  })
)

const openRequests = seriesOf((attributes) =>
  Metric.gauge("pontage_facilitator_in_flight", {
    attributes,
    description: "Requests without a response yet, by operation"
  })
)

const seconds = seriesOf((attributes) =>
  Metric.histogram("pontage_facilitator_seconds", {
    attributes,
    description: "Time until the response, by operation",
    boundaries: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30]
  })
)

const rpcRequests = seriesOf((attributes) =>
  Metric.counter("pontage_rpc_requests_total", {
    attributes,
    description: "Requests to a chain's node, by network and method",
    incremental: true
  })
)

const gasBalance = seriesOf((attributes) =>
  Metric.gauge("pontage_signer_gas_balance", {
    attributes,
    description: "A signer's balance for gas, in the chain's smallest native unit",
    bigint: true
  })
)

const watched = (operation: Operation) => ({ open: openRequests({ operation }), duration: seconds({ operation }) })

const operations = {
  verify: watched("verify"),
  settle: watched("settle"),
  claim: watched("claim"),
  finish: watched("finish"),
  draw: watched("draw"),
  window: watched("window"),
  voucher: watched("voucher")
} satisfies Record<Operation, unknown>

/**
 * Counts an operation, its duration, and that it is open meanwhile. `outcomeOf` names a success; `error` names a failure.
 */
export const measured = <A, E extends { readonly error: string }, R>(
  operation: Operation,
  outcomeOf: (value: A) => string,
  work: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.withFiber((fiber) => {
      const { context } = fiber
      const clock = fiber.getRef(Clock.Clock)
      const { duration, open } = operations[operation]
      const started = clock.currentTimeMillisUnsafe()
      open.modifyUnsafe(1, context)
      return Effect.onExit(restore(work), (exit) =>
        Effect.sync(() => {
          open.modifyUnsafe(-1, context)
          responses({ operation, outcome: outcomeIn(exit, outcomeOf) }).updateUnsafe(1, context)
          duration.updateUnsafe((clock.currentTimeMillisUnsafe() - started) / 1000, context)
        })
      )
    })
  )

const outcomeIn = <A, E extends { readonly error: string }>(
  exit: Exit.Exit<A, E>,
  outcomeOf: (value: A) => string
): string => {
  if (Exit.isSuccess(exit)) return outcomeOf(exit.value)
  const failure = exit.cause.reasons.find((reason) => reason._tag === "Fail")
  if (failure !== undefined) return failure.error.error
  return exit.cause.reasons.some((reason) => reason._tag === "Die") ? "defect" : "abandoned"
}

/** Shows the balances of the signers. */
export const balances = (
  chains: ReadonlyArray<{
    readonly network: string
    readonly signers: ReadonlyArray<{ readonly address: string; readonly balance: string }>
  }>
): Effect.Effect<void> =>
  Effect.forEach(
    chains.flatMap(({ network, signers }) => signers.map((signer) => ({ network, ...signer }))),
    ({ address, balance, network }) => Metric.update(gasBalance({ network, address }), BigInt(balance)),
    { discard: true }
  )

/** A counter of requests to chains' nodes, in the metrics of the context; for a scheme's `onRequest`. */
export const rpcCounter: Effect.Effect<(network: string, method: string) => void> = Effect.contextWith(
  (context: Context.Context<never>) =>
    Effect.succeed((network, method) => rpcRequests({ network, method }).updateUnsafe(1, context))
)
