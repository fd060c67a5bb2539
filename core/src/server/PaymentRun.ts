/**
 * The run that a claim was granted: kept alive while the handler works, and reported when it ends. A holder the
 * facilitator does not hear of for 60 seconds counts as failed, so a slow handler is spoken for every 20.
 */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FiberSet from "effect/FiberSet"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"

import type { Claim, Facilitator, Outcome, PaymentRequest } from "../facilitator/Facilitator.ts"

/**
 * A granted claim.
 *
 * @category models
 */
export interface GrantedClaim {
  readonly request: PaymentRequest
  readonly claim: Claim
  readonly paymentId: string
}

/**
 * What runs are kept with: fibers that outlive their requests.
 *
 * @category models
 */
export interface Keeper {
  readonly facilitator: Facilitator["Service"]
  readonly leases: FiberSet.FiberSet
  readonly reports: FiberSet.FiberSet
}

/**
 * A run under way. The first end counts, later ones do nothing.
 *
 * @category models
 */
export interface PaymentRun {
  /** Ends the run and starts to report it. */
  readonly end: (outcome: Outcome) => Effect.Effect<void>
  /** Ends the run; completes when that is reported, or cannot be. */
  readonly finish: (outcome: Outcome) => Effect.Effect<void>
}

const renewal = "20 seconds"
const farewell = "5 seconds"

/** 0.5 + 1 + 2 + ... + 32 seconds: about a minute. */
const pauses = Schedule.exponential("500 millis")
const repeats = 7

/**
 * A keeper that, when its scope closes, waits a while for the reports under way and lets every lease lapse.
 *
 * @category constructors
 */
export const keep = Effect.fnUntraced(function* (
  facilitator: Facilitator["Service"]
): Effect.fn.Return<Keeper, never, Scope.Scope> {
  const leases = yield* FiberSet.make()
  const reports = yield* FiberSet.make()
  yield* Effect.addFinalizer(() => Effect.timeoutOption(FiberSet.awaitEmpty(reports), farewell))
  return { facilitator, leases, reports }
})

/**
 * Starts to keep a run.
 *
 * @category constructors
 */
export const start = (keeper: Keeper, granted: GrantedClaim): Effect.Effect<PaymentRun> =>
  Effect.map(FiberSet.run(keeper.leases, renew(keeper, granted)), (lease) => {
    let ended = false
    const report = (outcome: Outcome) =>
      Effect.suspend(() => {
        if (ended) return Effect.undefined
        ended = true
        const telling = Effect.andThen(Fiber.interrupt(lease), reported(keeper, granted, outcome))
        return FiberSet.run(keeper.reports, telling)
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
const renew = ({ facilitator }: Keeper, { claim, request }: GrantedClaim): Effect.Effect<void> =>
  Effect.sleep(renewal).pipe(
    Effect.andThen(Effect.uninterruptible(Effect.ignore(facilitator.claim(request, claim)))),
    Effect.forever
  )

const reported = ({ facilitator }: Keeper, { claim, paymentId }: GrantedClaim, outcome: Outcome) =>
  facilitator.finish(paymentId, claim.id, outcome).pipe(
    Effect.retry({ schedule: pauses, times: repeats, while: (error) => error._tag !== "ValidationError" }),
    Effect.catch((error) =>
      Effect.logWarning(`the end of ${paymentId} (${outcome}) could not be reported: ${error.message}`)
    ),
    Effect.asVoid
  )
