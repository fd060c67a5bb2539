/**
 * Keeps the execution that a claim was granted alive while the handler works, and reports its end. The facilitator
 * counts a holder without renewal for 60 seconds as failed, so a slow handler's lease is renewed every 20 seconds.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as FiberSet from "effect/FiberSet"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"

import type { Claim, Facilitator, PaymentRequest, ExecutionEnd } from "../../facilitator/Facilitator.ts"
import type { PaymentFailure } from "../../protocol/PaymentFailure.ts"

/** A granted claim. */
export interface GrantedClaim {
  readonly request: PaymentRequest
  readonly claim: Claim
  readonly paymentId: string
  readonly isDraw?: boolean
}

/** The fibers that renew and report executions; they outlive their requests. */
export interface ExecutionLeases {
  readonly facilitator: Facilitator["Service"]
  readonly leases: FiberSet.FiberSet
  readonly reports: FiberSet.FiberSet
  /** One fiber for each claim that is being given back. */
  readonly returns: FiberSet.FiberSet
  /** Payments that this process has served and whose end is not reported yet. */
  readonly unreported: Set<string>
}

/** An execution in progress. Only the first end counts. */
export interface GrantedExecution {
  /** Ends the execution and starts to report it. */
  readonly end: (outcome: ExecutionEnd) => Effect.Effect<void>
  /**
   * Ends the execution; completes when the end is reported or the retries are used up, with whether the facilitator has recorded it. `charge`: the most that a draw is charged.
   */
  readonly finish: (outcome: ExecutionEnd, charge?: bigint) => Effect.Effect<boolean>
}

const renewal = Duration.seconds(20)

/** Milliseconds after its request for which a grant is believed: half of a lease is left then, or more, and it is renewed in time. */
export const believedMillis = 30_000

const closeTimeout = "5 seconds"

/**
 * Retries after 0.5, 1, 2, 4 and then every 5 seconds, for as long as an execution is owed after the payment (10
 * minutes): a facilitator that was down must not grant again after a resource was served.
 */
const pauses = Schedule.min([Schedule.exponential("500 millis"), Schedule.spaced("5 seconds")])
const repeats = 122

/** Creates the sets of fibers. When the scope closes, pending reports get 5 seconds, and every lease lapses. */
export const make = Effect.fnUntraced(function* (
  facilitator: Facilitator["Service"]
): Effect.fn.Return<ExecutionLeases, never, Scope.Scope> {
  const leases = yield* FiberSet.make()
  const reports = yield* FiberSet.make()
  const returns = yield* FiberSet.make()
  yield* Effect.addFinalizer(() => Effect.timeoutOption(FiberSet.awaitEmpty(reports), closeTimeout))
  return { facilitator, leases, reports, returns, unreported: new Set() }
})

/** Starts to renew an execution's lease. */
export const start = (executions: ExecutionLeases, granted: GrantedClaim): Effect.Effect<GrantedExecution> =>
  Effect.map(FiberSet.run(executions.leases, renew(executions, granted)), (lease) => {
    let ended = false
    const report = (outcome: ExecutionEnd, charge?: bigint) =>
      Effect.suspend(() => {
        if (ended) return Effect.undefined
        ended = true
        const reporting = Effect.andThen(Fiber.interrupt(lease), reported(executions, granted, outcome, charge))
        return FiberSet.run(executions.reports, reporting)
      })
    return {
      end: (outcome) => Effect.asVoid(report(outcome)),
      finish: (outcome, charge) =>
        Effect.flatMap(report(outcome, charge), (fiber) =>
          fiber === undefined
            ? Effect.succeed(false)
            : Effect.map(Fiber.await(fiber), (exit) => Exit.isSuccess(exit) && exit.value)
        )
    }
  })

/**
 * Renews the lease. A renewal in progress is not interrupted: if the end were reported before it arrived, it would take
 * the execution again.
 */
const renew = (
  { facilitator }: ExecutionLeases,
  { claim, isDraw, paymentId, request }: GrantedClaim
): Effect.Effect<void> => {
  const { credits } = facilitator
  // A draw is renewed by its name: the deposit that came with it may be past its time by then.
  const once: Effect.Effect<unknown, PaymentFailure> =
    isDraw === true && credits !== undefined ? credits.renew(paymentId, claim.id) : facilitator.claim(request, claim)
  return Effect.sleep(renewal).pipe(Effect.andThen(Effect.uninterruptible(Effect.ignore(once))), Effect.forever)
}

const reported = (
  { facilitator, unreported }: ExecutionLeases,
  { claim, paymentId }: GrantedClaim,
  outcome: ExecutionEnd,
  charge: bigint | undefined
) =>
  Effect.suspend(() => {
    if (outcome === "served") unreported.add(paymentId)
    return facilitator.finish(paymentId, claim.id, outcome, charge)
  }).pipe(
    Effect.retry({ schedule: pauses, times: repeats, while: (error) => error._tag !== "ValidationError" }),
    Effect.as(true),
    Effect.catch((error) =>
      Effect.as(
        Effect.logWarning(`the end (${outcome}) of payment ${paymentId} could not be reported: ${error.message}`),
        false
      )
    ),
    Effect.ensuring(Effect.sync(() => outcome === "served" && unreported.delete(paymentId)))
  )

/** Delay before a claim is given back. The buyer's repeat usually comes sooner and takes the claim over. */
const beforeGivingBack = "1 second"

/**
 * Limit on claims that are given back at the same time: any stranger can leave one open while the facilitator is
 * silent.
 */
const returnsAtOnce = 1_000

/**
 * Gives back a claim whose request got no response, as soon as the facilitator responds: another process of the shop
 * then need not wait for its lease. A process that ends, or exceeds the limit, leaves the rest to the lease.
 */
export const giveBack = (
  { facilitator, returns }: ExecutionLeases,
  { claim, paymentId }: Pick<GrantedClaim, "claim" | "paymentId">
): Effect.Effect<void> => {
  const returning = facilitator
    .finish(paymentId, claim.id, "unanswered")
    .pipe(
      Effect.retry({ schedule: pauses, times: repeats, while: (error) => error._tag !== "ValidationError" }),
      Effect.ignore,
      Effect.delay(beforeGivingBack)
    )
  return Effect.flatMap(FiberSet.size(returns), (size) =>
    size >= returnsAtOnce ? Effect.void : Effect.asVoid(FiberSet.run(returns, returning))
  )
}
