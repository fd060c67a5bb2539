/**
 * The caller of the request that is being answered: what it may do, and what its request costs it. A request takes a token
 * before any work; a payment that is refused takes more afterwards, so that who brings bad payments is slowed down first.
 */
import type { PaymentRequirements } from "@pontage/core"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"

import type { RateTerms } from "./CallerTerms.ts"
import { TooManyRequests } from "./FacilitatorFault.ts"
import type { RateLimiter } from "./RateLimiter.ts"

/**
 * What is asked for. Each has a bucket of its own, so that a flood of payments does not keep a server from telling how the
 * runs of others ended.
 *
 * @category models
 */
export type Errand = "payments" | "runs" | "records"

/**
 * What a refused payment costs its caller on top: it made us check a signature or ask a chain for nothing.
 *
 * @category constants
 */
export const refusalCost = 4

/**
 * The caller.
 *
 * @category services
 */
export class AskingCaller extends Context.Service<
  AskingCaller,
  {
    /** Whether it may verify, claim and settle payments to this payee in this asset. */
    readonly mayHavePaid: (requirements: PaymentRequirements.PaymentRequirements) => boolean
    readonly limits: CallerLimits
  }
>()("@pontage/facilitator/AskingCaller") {}

/**
 * The limits on a caller and on its payers.
 *
 * @category models
 */
export interface CallerLimits {
  /** Takes a token for a request. */
  readonly admit: (errand: Errand) => Effect.Effect<void, TooManyRequests>
  /** The request was worth so many tokens more than the one it took. */
  readonly count: (errand: Errand, tokens: number) => Effect.Effect<void>
  /** The caller brought something that was refused. */
  readonly penalise: (errand: Errand) => Effect.Effect<void>
  /** Whether payments of this payer, who is not proven yet, are looked at now. */
  readonly admitPayer: (payer: string) => Effect.Effect<void, TooManyRequests>
  /** The payer is proven: this payment was its own, and counts. */
  readonly countPayer: (payer: string) => Effect.Effect<void>
  /** Whether payers are limited at all. */
  readonly limitsPayers: boolean
}

/**
 * No limits.
 *
 * @category constants
 */
export const unlimited: CallerLimits = {
  admit: () => Effect.void,
  count: () => Effect.void,
  penalise: () => Effect.void,
  admitPayer: () => Effect.void,
  countPayer: () => Effect.void,
  limitsPayers: false
}

/**
 * The limits on whoever is behind this key: a caller's name, or an address. Callers are told apart first, so that no caller
 * and no payer of another can use up what is this one's. Their buckets and those of payers are kept apart too.
 *
 * @category constructors
 */
export const limitsOf = (
  limiters: { readonly callers: RateLimiter; readonly payers: RateLimiter },
  key: string,
  { payerRate, rate }: RateTerms
): CallerLimits => {
  const buckets = { payments: `payments ${key}`, runs: `runs ${key}`, records: `records ${key}` }
  const charge = (errand: Errand, tokens: number) => limiters.callers.charge(buckets[errand], rate, tokens)
  return {
    admit: (errand) =>
      Effect.flatMap(limiters.callers.take(buckets[errand], rate, 1), (wait) =>
        wait === undefined ? Effect.void : Effect.fail(tooMany("this caller asks", rate.perSecond, wait))
      ),
    count: charge,
    penalise: (errand) => charge(errand, refusalCost),
    admitPayer: (payer) =>
      Effect.flatMap(limiters.payers.take(`${key} ${payer}`, payerRate, 0), (wait) =>
        wait === undefined ? Effect.void : Effect.fail(tooMany("this payer pays", payerRate.perSecond, wait))
      ),
    countPayer: (payer) => limiters.payers.charge(`${key} ${payer}`, payerRate, 1),
    limitsPayers: true
  }
}

const tooMany = (who: string, perSecond: number, retryAfter: number) =>
  new TooManyRequests({
    message: `${who} more often than ${perSecond} times a second; come back in ${retryAfter} s`,
    retryAfter
  })
