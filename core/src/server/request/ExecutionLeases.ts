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
  /** The amount that a draw by its voucher has reserved. Absent for a further window of a stream, which is never granted again. */
  readonly amount?: string
}

/** A served execution whose end is not reported yet. `charge`: of a draw; default all that it reserved. */
export interface Unreported {
  readonly charge: bigint | undefined
}

/** The fibers that renew and report executions; they outlive their requests. */
export interface ExecutionLeases {
  readonly facilitator: Facilitator["Service"]
  readonly leases: FiberSet.FiberSet
  readonly reports: FiberSet.FiberSet
  /** One fiber for each claim that is being given back. */
  readonly returns: FiberSet.FiberSet
  /** Executions that this process has served and whose end is not reported yet, by `nameOf`. */
  readonly unreported: Map<string, Unreported>
}

/** An execution in progress. Only the first end counts. */
export interface GrantedExecution {
  /** Ends the execution and starts to report it. */
  readonly end: (outcome: ExecutionEnd, charge?: bigint) => Effect.Effect<void>
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
  return { facilitator, leases, reports, returns, unreported: new Map() }
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
      end: (outcome, charge) => Effect.asVoid(report(outcome, charge)),
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

/**
 * The name of what a claim executes. A draw's id has the voucher alone, which the ledger grants for each amount that fits: another amount
 * is another draw.
 */
const nameOf = ({ amount, isDraw, paymentId }: GrantedClaim): string | undefined => {
  if (isDraw !== true) return paymentId
  return amount === undefined ? undefined : `${paymentId} ${amount}`
}

/** The served execution that a claim was granted once more, because its end is not reported yet. */
export const servedBefore = ({ unreported }: ExecutionLeases, granted: GrantedClaim): Unreported | undefined => {
  const name = nameOf(granted)
  const served = name === undefined ? undefined : unreported.get(name)
  // A draw that cost nothing left its voucher as it was: the next request comes with the same one.
  return served?.charge === 0n ? undefined : served
}

const reported = (
  executions: ExecutionLeases,
  granted: GrantedClaim,
  outcome: ExecutionEnd,
  charge: bigint | undefined
): Effect.Effect<boolean> => {
  const reporting = told(executions, granted, outcome, charge)
  const name = outcome === "served" ? nameOf(granted) : undefined
  if (name === undefined) return reporting
  const { unreported } = executions
  const own: Unreported = { charge }
  // A later draw by the same voucher may have been served meanwhile, and be reported after this one.
  const forget = Effect.sync(() => unreported.get(name) === own && unreported.delete(name))
  return Effect.ensuring(
    Effect.andThen(
      Effect.sync(() => unreported.set(name, own)),
      reporting
    ),
    forget
  )
}

const told = (
  { facilitator }: ExecutionLeases,
  { claim, paymentId }: GrantedClaim,
  outcome: ExecutionEnd,
  charge: bigint | undefined
) =>
  Effect.suspend(() => facilitator.finish(paymentId, claim.id, outcome, charge)).pipe(
    Effect.retry({ schedule: pauses, times: repeats, while: (error) => error._tag !== "ValidationError" }),
    Effect.as(true),
    Effect.catch((error) =>
      Effect.as(
        Effect.logWarning(`the end (${outcome}) of payment ${paymentId} could not be reported: ${error.message}`),
        false
      )
    )
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
