/**
 * Token buckets in this process: no store is asked, so the limits hold when it is down. Each key has a bucket that fills at
 * its rate up to its burst. What is charged after the work may leave a debt, which has to be filled first. Memory is
 * bounded: of too many buckets one that was used long ago is forgotten, which favours whoever it limits. Buckets of several
 * owners share that room fairly (`SharedRoom`): the strangers at one owner's door make it forget none of another's.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import * as SharedRoom from "./SharedRoom.ts"

/** How fast a bucket fills, in tokens a second, and how much it holds. */
export interface Rate {
  readonly perSecond: number
  readonly burst: number
}

/** Buckets by their keys, and by their owners where there are several. */
export interface RateLimiter {
  /** Takes tokens, or none and tells how many seconds to wait. Taking none asks whether the bucket is in debt. */
  readonly take: (key: string, rate: Rate, tokens: number, owner?: string) => Effect.Effect<number | undefined>
  /** How many seconds it takes until the bucket holds so many; `undefined` where it does. It takes none. */
  readonly wait: (key: string, rate: Rate, tokens: number, owner?: string) => Effect.Effect<number | undefined>
  /** Takes tokens that may not be there: the debt is at most as deep as the bucket. Fewer than none are given back. */
  readonly charge: (key: string, rate: Rate, tokens: number, owner?: string) => Effect.Effect<void>
}

/** The buckets that are remembered unless it is said otherwise: a few megabytes. */
export const defaultCapacity = 20_000

/**
 * Thousandths of tokens at a time in milliseconds: whole numbers, so that no fraction is ever lost. It changes in its place:
 * what is long-lived and gets new parts with every request costs the garbage collector more than the request costs us.
 */
interface Bucket {
  thousandths: number
  at: number
}

/** Makes an empty limiter. */
export const make = (capacity: number = defaultCapacity): RateLimiter => {
  const buckets = SharedRoom.make<Bucket>(capacity)

  let latest: Bucket | undefined

  /** The bucket as it is filled by now. The one that was used last is at its place already. */
  const use = (owner: string, key: string, rate: Rate, now: number): Bucket => {
    const bucket = buckets.find(owner, key) ?? { thousandths: rate.burst * 1000, at: now }
    fill(bucket, rate, now)
    if (bucket !== latest) buckets.keep(owner, key, bucket)
    latest = bucket
    return bucket
  }

  const look = (owner: string, key: string, rate: Rate, tokens: number, taken: number) =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      const bucket = use(owner, key, rate, now)
      const missing = tokens * 1000 - bucket.thousandths
      if (missing > 0) return Math.ceil(missing / (1000 * rate.perSecond))
      bucket.thousandths -= taken * 1000
      return undefined
    })

  return {
    take: (key, rate, tokens, owner = "") => look(owner, key, rate, tokens, tokens),
    wait: (key, rate, tokens, owner = "") => look(owner, key, rate, tokens, 0),
    charge: (key, rate, tokens, owner = "") =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        const bucket = use(owner, key, rate, now)
        bucket.thousandths = within(rate, bucket.thousandths - tokens * 1000)
      })
  }
}

const within = ({ burst }: Rate, thousandths: number): number =>
  Math.min(burst * 1000, Math.max(-burst * 1000, thousandths))

/** A clock that is set back fills nothing. */
const fill = (bucket: Bucket, { burst, perSecond }: Rate, now: number): void => {
  bucket.thousandths = Math.min(burst * 1000, bucket.thousandths + Math.max(0, now - bucket.at) * perSecond)
  bucket.at = now
}
