/**
 * The run that a claim was granted: kept alive while the handler works, and reported when it ends. A holder the
 * facilitator does not hear of for 60 seconds counts as failed, so a slow handler is spoken for every 20.
 */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FiberSet from "effect/FiberSet"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"

import type { Claim, Facilitator, PaymentRequest, ExecutionEnd } from "../../facilitator/Facilitator.ts"

/** A granted claim. */
export interface GrantedClaim {
  readonly request: PaymentRequest
  readonly claim: Claim
  readonly paymentId: string
}

/** The fibers of runs, which outlive their requests. */
export interface ExecutionLeases {
  readonly facilitator: Facilitator["Service"]
  readonly leases: FiberSet.FiberSet
  readonly reports: FiberSet.FiberSet
  /** One fiber for each claim that is being given back. */
  readonly returns: FiberSet.FiberSet
  /** Payments that this process has served, and whose facilitator does not know it yet. */
  readonly unreported: Set<string>
}

/** A run under way. The first end counts, later ones do nothing. */
export interface GrantedExecution {
  /** Ends the run and starts to report it. */
  readonly end: (outcome: ExecutionEnd) => Effect.Effect<void>
  /** Ends the run; completes when that is reported, or cannot be. */
  readonly finish: (outcome: ExecutionEnd) => Effect.Effect<void>
}

const renewal = "20 seconds"
const closeTimeout = "5 seconds"

/**
 * 0.5, 1, 2, 4 and then every 5 seconds, for as long as a run is owed after the payment (10 minutes): a facilitator that was
 * away must not grant again what was served.
 */
const pauses = Schedule.min([Schedule.exponential("500 millis"), Schedule.spaced("5 seconds")])
const repeats = 122

/** A keeper that, when its scope closes, waits a while for the reports under way and lets every lease lapse. */
export const make = Effect.fnUntraced(function* (
  facilitator: Facilitator["Service"]
): Effect.fn.Return<ExecutionLeases, never, Scope.Scope> {
  const leases = yield* FiberSet.make()
  const reports = yield* FiberSet.make()
  const returns = yield* FiberSet.make()
  yield* Effect.addFinalizer(() => Effect.timeoutOption(FiberSet.awaitEmpty(reports), closeTimeout))
  return { facilitator, leases, reports, returns, unreported: new Set() }
})

/** Starts to keep a run. */
export const start = (executions: ExecutionLeases, granted: GrantedClaim): Effect.Effect<GrantedExecution> =>
  Effect.map(FiberSet.run(executions.leases, renew(executions, granted)), (lease) => {
    let ended = false
    const report = (outcome: ExecutionEnd) =>
      Effect.suspend(() => {
        if (ended) return Effect.undefined
        ended = true
        const telling = Effect.andThen(Fiber.interrupt(lease), reported(executions, granted, outcome))
        return FiberSet.run(executions.reports, telling)
      })
    return {
      end: (outcome) => Effect.asVoid(report(outcome)),
      finish: (outcome) =>
        Effect.flatMap(report(outcome), (fiber) =>
          fiber === undefined ? Effect.void : Effect.asVoid(Fiber.await(fiber))
        )
    }
  })

/**
 * A renewal that is under way is let finish: were the end reported before it arrived, it would take the run again.
 */
const renew = ({ facilitator }: ExecutionLeases, { claim, request }: GrantedClaim): Effect.Effect<void> =>
  Effect.sleep(renewal).pipe(
    Effect.andThen(Effect.uninterruptible(Effect.ignore(facilitator.claim(request, claim)))),
    Effect.forever
  )

const reported = (
  { facilitator, unreported }: ExecutionLeases,
  { claim, paymentId }: GrantedClaim,
  outcome: ExecutionEnd
) =>
  Effect.suspend(() => {
    if (outcome === "served") unreported.add(paymentId)
    return facilitator.finish(paymentId, claim.id, outcome)
  }).pipe(
    Effect.retry({ schedule: pauses, times: repeats, while: (error) => error._tag !== "ValidationError" }),
    Effect.catch((error) =>
      Effect.logWarning(`the end of ${paymentId} (${outcome}) could not be reported: ${error.message}`)
    ),
    Effect.ensuring(Effect.sync(() => outcome === "served" && unreported.delete(paymentId))),
    Effect.asVoid
  )

/** The buyer's repeat usually comes sooner, and takes the claim over; then there is nothing to give back. */
const beforeGivingBack = "1 second"

/** The limit on claims that are given back at the same time: any stranger can leave one open while the facilitator is silent. */
const returnsAtOnce = 1_000

/**
 * Gives a claim back whose asking got no answer, as soon as the facilitator can be asked: another process of the shop then
 * need not wait for its lease. A process that ends leaves the rest to the lease, and so does one that has too many to give back.
 */
export const giveBack = (
  { facilitator, returns }: ExecutionLeases,
  { claim, paymentId }: Pick<GrantedClaim, "claim" | "paymentId">
): Effect.Effect<void> => {
  const giving = facilitator
    .finish(paymentId, claim.id, "unanswered")
    .pipe(
      Effect.retry({ schedule: pauses, times: repeats, while: (error) => error._tag !== "ValidationError" }),
      Effect.ignore,
      Effect.delay(beforeGivingBack)
    )
  return Effect.flatMap(FiberSet.size(returns), (size) =>
    size >= returnsAtOnce ? Effect.void : Effect.asVoid(FiberSet.run(returns, giving))
  )
}
