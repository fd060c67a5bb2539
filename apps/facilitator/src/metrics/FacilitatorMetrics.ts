/**
 * What the service counts, for Prometheus.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Metric from "effect/Metric"

import { seriesOf } from "./MetricSeries.ts"

/** What is asked of the facilitator. */
export type Operation = "verify" | "settle" | "claim" | "finish"

const answers = seriesOf((attributes) =>
  Metric.counter("pontage_facilitator_answers_total", {
    attributes,
    description: "Answers, by operation and by their outcome: an execution or state, a code, a reason, or a fault",
    incremental: true
  })
)

const inFlight = seriesOf((attributes) =>
  Metric.gauge("pontage_facilitator_in_flight", {
    attributes,
    description: "Requests that are being worked on, by operation"
  })
)

const seconds = seriesOf((attributes) =>
  Metric.histogram("pontage_facilitator_seconds", {
    attributes,
    description: "How long an answer took, by operation",
    boundaries: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30]
  })
)

const rpcRequests = seriesOf((attributes) =>
  Metric.counter("pontage_rpc_requests_total", {
    attributes,
    description: "Questions to a chain's RPC, by network and method",
    incremental: true
  })
)

const gasBalance = seriesOf((attributes) =>
  Metric.gauge("pontage_signer_gas_balance", {
    attributes,
    description: "What a signer has left for gas, in the chain's smallest native unit",
    bigint: true
  })
)

const watched = (operation: Operation) => ({ underWay: inFlight({ operation }), took: seconds({ operation }) })

const operations = {
  verify: watched("verify"),
  settle: watched("settle"),
  claim: watched("claim"),
  finish: watched("finish")
} satisfies Record<Operation, unknown>

/**
 * Counts an answer, how long it took, and that it was under way meanwhile. `outcomeOf` names a successful answer; a
 * failure is named by its `error`.
 */
export const measured = <A, E extends { readonly error: string }, R>(
  operation: Operation,
  outcomeOf: (answer: A) => string,
  work: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.withFiber((fiber) => {
      const { context } = fiber
      const clock = fiber.getRef(Clock.Clock)
      const { took, underWay } = operations[operation]
      const started = clock.currentTimeMillisUnsafe()
      underWay.modifyUnsafe(1, context)
      return Effect.onExit(restore(work), (exit) =>
        Effect.sync(() => {
          underWay.modifyUnsafe(-1, context)
          answers({ operation, outcome: outcomeIn(exit, outcomeOf) }).updateUnsafe(1, context)
          took.updateUnsafe((clock.currentTimeMillisUnsafe() - started) / 1000, context)
        })
      )
    })
  )

const outcomeIn = <A, E extends { readonly error: string }>(
  exit: Exit.Exit<A, E>,
  outcomeOf: (answer: A) => string
): string => {
  if (Exit.isSuccess(exit)) return outcomeOf(exit.value)
  const failure = exit.cause.reasons.find((reason) => reason._tag === "Fail")
  if (failure !== undefined) return failure.error.error
  return exit.cause.reasons.some((reason) => reason._tag === "Die") ? "defect" : "abandoned"
}

/** Remembers what the signers have left. */
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

/** Counts a question to a chain's RPC; for a scheme's `onRequest`. */
export const rpcRequest = (network: string, method: string): void =>
  rpcRequests({ network, method }).updateUnsafe(1, Context.empty())
