/**
 * The caller of the request that is being answered: what it may do, and what its request costs it. A request takes a token
 * before any work. A payment that is refused is held against the place that it came from, as its caller tells it.
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
 * The kinds of requests. Each has a bucket of its own, so that a flood of payments does not keep a server from telling how the
 * runs of others ended.
 */
export type RequestKind = "payments" | "runs" | "records"

/**
 * The tokens that a report of a run's end costs its caller on top where it is refused: it made us look into the records for nothing.
 */
export const refusalCost = 4

/**
 * The part of a caller's rate that bad payments from one place may use, and the part of its burst that is kept for payers
 * who have paid before. Bad payments cost nobody else anything: a caller has no say in who knocks at its door.
 */
const placePart = 1 / 2
const keptPart = 1 / 4

/** The caller. */
export class RequestingCaller extends Context.Service<
  RequestingCaller,
  {
    /** Whether it may verify, claim and settle payments to this payee in this asset. */
    readonly mayHavePaid: (requirements: PaymentRequirements.PaymentRequirements) => boolean
    readonly limits: CallerLimits
  }
>()("@pontage/facilitator/RequestingCaller") {}

/** The limits on a caller and on its payers. */
export interface CallerLimits {
  /** Takes a token for a request. */
  readonly admit: (errand: RequestKind) => Effect.Effect<void, TooManyRequests>
  /** The request was worth so many tokens more than the one it took. */
  readonly count: (errand: RequestKind, tokens: number) => Effect.Effect<void>
  /** The caller told of an end that was refused. */
  readonly penalise: (errand: RequestKind) => Effect.Effect<void>
  /**
   * Whether payments from this place are looked at now. Those of payers who have paid from there before always are, whatever
   * else comes from there. Without a place all that come so are of one. A payment that is turned away costs its caller nothing.
   */
  readonly admitBuyer: (buyer: string | undefined, payer: string | undefined) => Effect.Effect<void, TooManyRequests>
  /**
   * From this place came a payment that was refused. The payer that it names, signed or not, has to pay from there once more
   * to count as one who has paid before: names are public, and whoever bears one must not be looked at for ever.
   */
  readonly blame: (buyer: string | undefined, payer: string | undefined) => Effect.Effect<void>
  /** This payer's payment from this place was good. */
  readonly trust: (buyer: string | undefined, payer: string) => Effect.Effect<void>
  /** Whether payments of this payer, who is not proven yet, are looked at now. */
  readonly admitPayer: (payer: string) => Effect.Effect<void, TooManyRequests>
  /** The payer is proven: this payment was its own, and counts. */
  readonly countPayer: (payer: string) => Effect.Effect<void>
  /** Whether payers are limited at all. */
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
 * The memory of the limits. Of places and payers each caller has a part of its own that no other one's strangers use up.
 */
export interface Limiters {
  readonly callers: RateLimiter
  /** Places that payments come from. */
  readonly buyers: RateLimiter
  readonly payers: RateLimiter
  /** Payers whose payments were good, by their callers and the places they came from. */
  readonly trusted: RecentKeys.RecentKeys
}

/** Limiters of their own. */
export const makeLimiters = (callers: number = RateLimits.defaultCapacity): Limiters => ({
  callers: RateLimits.make(callers),
  buyers: RateLimits.make(),
  payers: RateLimits.make(),
  trusted: RecentKeys.make(RateLimits.defaultCapacity)
})

/**
 * The limits on whoever is behind this key: a caller's name, or an address. Callers are told apart first, so that no caller
 * and no payer of another can use up what is this one's. Their buckets and those of payers are kept apart too.
 */
export const limitsOf = (limiters: Limiters, key: string, { payerRate, rate }: RateTerms): CallerLimits => {
  const buckets = { payments: `payments ${key}`, runs: `runs ${key}`, records: `records ${key}` }
  const charge = (errand: RequestKind, tokens: number) => limiters.callers.charge(buckets[errand], rate, tokens)
  return {
    admit: (errand) =>
      Effect.flatMap(limiters.callers.take(buckets[errand], rate, 1), (wait) =>
        wait === undefined ? Effect.void : Effect.fail(tooMany("this caller asks", rate.perSecond, wait))
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
                    Effect.fail(tooMany("bad payments come", rate.perSecond * placePart, wait))
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

/** All that come without a place are of one. */
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

/** How long a payment of a payer nobody knows has to wait: for the debt of its place, or for the caller's bucket to fill. */
const unprovenWait = (
  { buyers, callers }: Limiters,
  { bucket, key, place, rate }: Unproven
): Effect.Effect<number | undefined> =>
  Effect.flatMap(buyers.take(place, partOf(rate, placePart), 0, key), (wait) =>
    wait === undefined ? callers.wait(bucket, rate, Math.floor(rate.burst * keptPart)) : Effect.succeed(wait)
  )

const tooMany = (who: string, perSecond: number, retryAfter: number) =>
  new TooManyRequests({
    message: `${who} more often than ${perSecond} times a second; come back in ${retryAfter} s`,
    retryAfter
  })
