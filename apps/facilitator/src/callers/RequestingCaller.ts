/**
 * The caller of the current request: its rights, and the cost of its requests. Each request takes a token before any work. A
 * refused payment counts against its buyer's origin, as the caller names it.
 */
import type { PaymentRequirements } from "@pontage/core"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"

import { TooManyRequests } from "../http/FacilitatorFault.ts"
import type { RateTerms } from "./CallerTerms.ts"
import type { Rate, RateLimiter } from "./RateLimiter.ts"
import * as RateLimits from "./RateLimiter.ts"
import * as RecentKeys from "./RecentKeys.ts"

/**
 * Kinds of requests. Each has its own bucket, so that a flood of payments does not prevent a server from reporting the ends of
 * executions.
 */
export type RequestKind = "payments" | "runs" | "records"

/**
 * Extra tokens for a refused report of an execution's end, because it read the records in vain.
 */
export const refusalCost = 4

/**
 * The part of a caller's rate for bad payments from one origin, and the part of its burst that is reserved for payers who have
 * paid before. Bad payments cost other origins nothing, since a caller cannot choose its visitors.
 */
const placePart = 1 / 2
const keptPart = 1 / 4

/** The caller of the current request. */
export class RequestingCaller extends Context.Service<
  RequestingCaller,
  {
    /** Whether the caller may verify, claim and settle payments to this payee in this asset. */
    readonly mayHavePaid: (requirements: PaymentRequirements.PaymentRequirements) => boolean
    readonly limits: CallerLimits
  }
>()("@pontage/facilitator/RequestingCaller") {}

/** The limits on a caller and on its payers. */
export interface CallerLimits {
  /** Takes a token for a request. */
  readonly admit: (errand: RequestKind) => Effect.Effect<void, TooManyRequests>
  /** Takes further tokens for a request that did the work of several. */
  readonly count: (errand: RequestKind, tokens: number) => Effect.Effect<void>
  /** Charges for a refused report of an end. */
  readonly penalise: (errand: RequestKind) => Effect.Effect<void>
  /**
   * Admits a payment from this origin. Payers who have paid from it before are always admitted. All payments without an origin
   * share one. A refused payment costs its caller nothing.
   */
  readonly admitBuyer: (buyer: string | undefined, payer: string | undefined) => Effect.Effect<void, TooManyRequests>
  /**
   * Counts a refused payment against this origin. The payer that it names, signed or not, loses its trust there until it pays
   * again: addresses are public, and a trusted one must not open the door for ever.
   */
  readonly blame: (buyer: string | undefined, payer: string | undefined) => Effect.Effect<void>
  /** Trusts this payer at this origin after a good payment. */
  readonly trust: (buyer: string | undefined, payer: string) => Effect.Effect<void>
  /** Admits a payment of this payer, whose signature is not verified yet. */
  readonly admitPayer: (payer: string) => Effect.Effect<void, TooManyRequests>
  /** Counts a payment of this payer after its signature was verified. */
  readonly countPayer: (payer: string) => Effect.Effect<void>
  /** Whether payers have limits. */
  readonly limitsPayers: boolean
}

/** No limits. */
export const unlimited: CallerLimits = {
  admit: () => Effect.void,
  count: () => Effect.void,
  penalise: () => Effect.void,
  admitBuyer: () => Effect.void,
  blame: () => Effect.void,
  trust: () => Effect.void,
  admitPayer: () => Effect.void,
  countPayer: () => Effect.void,
  limitsPayers: false
}

/**
 * State of the limits. Each caller has its own share of the memory for origins and payers, which other callers cannot use up.
 */
export interface Limiters {
  readonly callers: RateLimiter
  /** Origins of payments. */
  readonly buyers: RateLimiter
  readonly payers: RateLimiter
  /** Payers of good payments, by their callers and origins. */
  readonly trusted: RecentKeys.RecentKeys
}

/** Limiters without history. */
export const makeLimiters = (callers: number = RateLimits.defaultCapacity): Limiters => ({
  callers: RateLimits.make(callers),
  buyers: RateLimits.make(),
  payers: RateLimits.make(),
  trusted: RecentKeys.make(RateLimits.defaultCapacity)
})

/**
 * Limits by a key: a caller's name, or an address. Buckets are separate for each key, so that other callers and their payers
 * cannot use them up, and separate for callers and payers.
 */
export const limitsOf = (limiters: Limiters, key: string, { payerRate, rate }: RateTerms): CallerLimits => {
  const buckets = { payments: `payments ${key}`, runs: `runs ${key}`, records: `records ${key}` }
  const charge = (errand: RequestKind, tokens: number) => limiters.callers.charge(buckets[errand], rate, tokens)
  return {
    admit: (errand) =>
      Effect.flatMap(limiters.callers.take(buckets[errand], rate, 1), (wait) =>
        wait === undefined ? Effect.void : Effect.fail(tooMany("this caller sends requests", rate.perSecond, wait))
      ),
    count: charge,
    penalise: (errand) => charge(errand, refusalCost),
    admitBuyer: (buyer, payer) =>
      payer !== undefined && limiters.trusted.has(key, regular(buyer, payer))
        ? Effect.void
        : Effect.flatMap(
            unprovenWait(limiters, { key, bucket: buckets.payments, place: placeOf(buyer), rate }),
            (wait) =>
              wait === undefined
                ? Effect.void
                : Effect.andThen(
                    charge("payments", -1),
                    Effect.fail(tooMany("this origin sends bad payments", rate.perSecond * placePart, wait))
                  )
          ),
    blame: (buyer, payer) =>
      Effect.suspend(() => {
        if (payer !== undefined) limiters.trusted.forget(key, regular(buyer, payer))
        return limiters.buyers.charge(placeOf(buyer), partOf(rate, placePart), 1, key)
      }),
    trust: (buyer, payer) => Effect.sync(() => limiters.trusted.add(key, regular(buyer, payer))),
    admitPayer: (payer) =>
      Effect.flatMap(limiters.payers.take(payer, payerRate, 0, key), (wait) =>
        wait === undefined ? Effect.void : Effect.fail(tooMany("this payer pays", payerRate.perSecond, wait))
      ),
    countPayer: (payer) => limiters.payers.charge(payer, payerRate, 1, key),
    limitsPayers: true
  }
}

/** Payments without an origin share one. */
const placeOf = (buyer: string | undefined): string => buyer ?? ""

const regular = (buyer: string | undefined, payer: string): string => `${placeOf(buyer)} ${payer}`

const partOf = ({ burst, perSecond }: Rate, part: number): Rate => ({
  burst: burst * part,
  perSecond: perSecond * part
})

interface Unproven {
  /** The caller's. */
  readonly key: string
  readonly bucket: string
  readonly place: string
  readonly rate: Rate
}

/** Seconds that a payment of an unknown payer has to wait: for the debt of its origin, or for the caller's bucket to fill. */
const unprovenWait = (
  { buyers, callers }: Limiters,
  { bucket, key, place, rate }: Unproven
): Effect.Effect<number | undefined> =>
  Effect.flatMap(buyers.take(place, partOf(rate, placePart), 0, key), (wait) =>
    wait === undefined ? callers.wait(bucket, rate, Math.floor(rate.burst * keptPart)) : Effect.succeed(wait)
  )

const tooMany = (who: string, perSecond: number, retryAfter: number) =>
  new TooManyRequests({
    message: `${who} more often than ${perSecond} times a second; retry in ${retryAfter} s`,
    retryAfter
  })
