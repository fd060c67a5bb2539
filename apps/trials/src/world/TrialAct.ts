/**
 * The common plot of the trials: buyers buy, something happens meanwhile, and when it is over and everything that was under
 * way has ended, the books are audited.
 */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"

import type { Finding, Rules } from "../audit/Audit.ts"
import * as CrossingAudit from "../audit/CrossingAudit.ts"
import type { Testimony } from "../audit/PaymentStory.ts"
import * as TrialLoad from "./TrialLoad.ts"
import * as TrialWorld from "./TrialWorld.ts"

/** The buyers and their facilitators. */
export interface Options extends Partial<TrialLoad.Options> {
  /** Where the books are read at the end is the first of them. */
  readonly facilitators: readonly [string, ...ReadonlyArray<string>]
  /** Default 20. */
  readonly concurrency?: number
  /** Least number of payments; more are made while the act goes on. */
  readonly payments: number
  readonly rules?: Rules
  /** Time limit of the end, in milliseconds; default 60 000. */
  readonly drainMillis?: number
}

/** The result of an act under load. */
export interface ActResult<A> {
  /** The act's own result. */
  readonly result: A
  readonly counts: TrialLoad.PurchaseCounts
  readonly findings: ReadonlyArray<Finding | CrossingAudit.Finding>
  readonly said: Testimony
  /** Seconds until nothing was pending. */
  readonly drainSeconds: number
}

/** Has something happen while buyers buy. */
export const underLoad = <A, E, R>(
  world: TrialWorld.TrialWorld,
  options: Options,
  act: Effect.Effect<A, E, R>
): Effect.Effect<ActResult<A>, E, R> =>
  Effect.scoped(
    Effect.gen(function* () {
      const counts = TrialLoad.none()
      let isOver = false
      const { mostBuyers = Number.POSITIVE_INFINITY, patienceMillis } = world.options
      const { concurrency = 20, drainMillis = patienceMillis ?? 60_000, payments, rules = {}, ...load } = options
      const patient = patienceMillis === undefined ? {} : { patienceMillis }
      const buying = yield* Effect.forkScoped(
        TrialLoad.run(
          { ...world.load, ...patient, ...load, concurrency: Math.min(concurrency, mostBuyers) },
          counts,
          (begun) => isOver && begun >= payments
        )
      )
      const result = yield* act
      isOver = true
      yield* Fiber.join(buying)
      const [first] = options.facilitators
      const { findings, millis, said } = yield* TrialWorld.audited(world, first, {
        ...rules,
        patienceMillis: drainMillis
      })
      return { result, counts, findings, said, drainSeconds: Math.round(millis / 1000) }
    })
  )

/** The figures that all trials show. */
export const figures = ({ counts, drainSeconds, said }: ActResult<unknown>) => ({
  payments: said.books.length,
  ...counts,
  "paid by user operations": said.chain.transfers.filter(({ nonce }) => nonce?.startsWith("userop:") === true).length,
  "paid by Permit2": said.chain.transfers.filter(({ nonce }) => nonce?.startsWith("permit2:") === true).length,
  ...CrossingAudit.figures(said),
  transactions: said.chain.transactions.length,
  reverted: said.chain.transactions.filter(({ reverted }) => reverted).length,
  "drain, seconds": drainSeconds
})
