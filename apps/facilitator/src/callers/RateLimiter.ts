/**
 * Token buckets in this process, independent of the store, so the limits hold when it is down. Each key has a bucket that
 * fills at its rate up to its burst. A charge after the work may leave a debt, which has to be filled first. Memory is
 * bounded: beyond it the least recently used bucket is forgotten, which lifts its limit. Owners share the memory fairly
 * (`SharedRoom`), so requests for one owner never make it forget buckets of another.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import * as SharedRoom from "./SharedRoom.ts"

/** A bucket's refill in tokens a second, and its size in tokens. */
export interface Rate {
  readonly perSecond: number
  readonly burst: number
}

/** Buckets by their keys, and by their owners if there are several. */
export interface RateLimiter {
  /** Takes tokens; or takes none and returns the seconds to wait. Zero tokens check whether the bucket is in debt. */
  readonly take: (key: string, rate: Rate, tokens: number, owner?: string) => Effect.Effect<number | undefined>
  /** Seconds until the bucket holds this number of tokens; `undefined` if it does now. It takes none. */
  readonly wait: (key: string, rate: Rate, tokens: number, owner?: string) => Effect.Effect<number | undefined>
  /** Takes tokens even if they are missing; the debt is at most the bucket's size. A negative number gives tokens back. */
  readonly charge: (key: string, rate: Rate, tokens: number, owner?: string) => Effect.Effect<void>
}

/** Default number of buckets in memory: a few megabytes. */
export const defaultCapacity = 20_000

/**
 * A bucket's content in thousandths of tokens at a time in milliseconds: whole numbers, so that no fraction is lost. It is
 * mutable, because a long-lived object with new parts at every request costs the garbage collector more than the request.
 */
interface Bucket {
  thousandths: number
  at: number
}

/** Makes an empty limiter. */
export const make = (capacity: number = defaultCapacity): RateLimiter => {
  const buckets = SharedRoom.make<Bucket>(capacity)

  let latest: Bucket | undefined

  /** The bucket, filled up to now. The most recently used one needs no new position. */
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

/** Fills the bucket. A clock that is set back fills nothing. */
const fill = (bucket: Bucket, { burst, perSecond }: Rate, now: number): void => {
  bucket.thousandths = Math.min(burst * 1000, bucket.thousandths + Math.max(0, now - bucket.at) * perSecond)
  bucket.at = now
}
