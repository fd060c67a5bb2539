/**
 * How many payments a lane lands in a second, as far as it was seen: some of those that are taken in are watched until they land. A
 * payment that found a free place tells how long a landing takes; one that waited tells with how many went before it how fast the queue
 * moves. As long as little was seen, the lane's places and the time of a landing stand for it, and before anything was seen a guess.
 * What has been under way for long counts before it has included, so that a chain that stands still is noticed.
 */

import type { SchemeFacilitator } from "../../scheme/SchemeFacilitator.ts"

/** What a lane can do. */
export interface LaneCapacity {
  /** Milliseconds from the intake of a payment to its landing where it waits for nobody. */
  readonly landingMillis: (now: number) => number
  /** Payments a second while there are more than it has places for. */
  readonly perSecond: (now: number) => number
  /** Milliseconds between two that leave a queue. */
  readonly paceMillis: (now: number) => number
  /** Whether one more is watched: of many payments some are. */
  readonly isWatching: () => boolean
  /** Watches a payment that was taken in just now, and has this place in the queue; 0 where nobody waits. */
  readonly watch: (paymentId: string, before: number, now: number) => void
  /** Those that are watched, the oldest first. */
  readonly watched: () => ReadonlyArray<string>
  /** A watched payment has included at this time (Unix milliseconds). */
  readonly included: (paymentId: string, at: number) => void
  /** A watched payment has expired at this time: the queue was that slow, or it had a trouble of its own. */
  readonly expired: (paymentId: string, at: number) => void
  /** A watched payment has left the lane for another reason. */
  readonly left: (paymentId: string) => void
}

/** So many are watched at once: each is looked up now and then. */
const mostWatched = 32
/** What a landing is taken to take before one was seen; milliseconds. */
const guessedMillis = 5_000
/**
 * How much a landing counts among those before it. One that took longer may have waited for others that came at the same moment, so it
 * counts little.
 */
const weightOf = { quicker: 0.5, slower: 0.05 }
/** After how long half of what was seen of the queue is forgotten. */
const halfLifeMillis = 20_000

interface Watched {
  readonly before: number
  readonly since: number
}

/** A lane of which nothing was seen: so many payments may be on their way in it at once. */
export const make = (places: number): LaneCapacity => {
  const watched = new Map<string, Watched>()
  let landing: number | undefined
  /** When the last one included that was watched; Unix milliseconds. */
  let lastLanding = 0
  /** Of payments that waited: the time that they waited, and the payments that went before them meanwhile. */
  let queue = { millis: 0, payments: 0, at: 0 }

  const oldest = (isQueued: boolean): Watched | undefined => {
    for (const one of watched.values()) if (one.before > 0 === isQueued) return one
    return undefined
  }
  /** How long one has been under way while no other has included: what one alone waits for is its own trouble. */
  const still = (one: Watched | undefined, now: number) =>
    one === undefined ? 0 : now - Math.max(one.since, lastLanding)
  const seenLanding = () => landing ?? guessedMillis
  const landingMillis = (now: number) => Math.max(seenLanding(), still(oldest(false), now))
  /** What is expected counts as much as so many payments that were seen. */
  const weight = Math.min(places, mostWatched)
  const faded = (now: number) => 0.5 ** (Math.max(0, now - queue.at) / halfLifeMillis)
  /** Milliseconds for each payment of a queue. */
  const pace = (now: number): number => {
    const share = faded(now)
    const expected = (landingMillis(now) / places) * weight
    const seen = (queue.millis * share + expected) / (queue.payments * share + weight)
    const first = oldest(true)
    const open = first === undefined ? 0 : (now - first.since - seenLanding()) / first.before
    return Math.max(seen, open)
  }
  const included = ({ before, since }: Watched, at: number) => {
    const millis = Math.max(0, at - since)
    if (before === 0) {
      const known = landing ?? millis
      landing = known + weightOf[millis < known ? "quicker" : "slower"] * (millis - known)
      return
    }
    const share = faded(at)
    const waited = Math.max(0, millis - seenLanding())
    queue = { millis: queue.millis * share + waited, payments: queue.payments * share + before, at }
  }
  return {
    landingMillis,
    perSecond: (now) => 1_000 / Math.max(pace(now), 0.001),
    paceMillis: pace,
    isWatching: () => watched.size < mostWatched,
    watch: (paymentId, before, now) => void watched.set(paymentId, { before, since: now }),
    watched: () => [...watched.keys()],
    included: (paymentId, at) => {
      const known = watched.get(paymentId)
      watched.delete(paymentId)
      if (known === undefined) return
      lastLanding = Math.max(lastLanding, at)
      included(known, at)
    },
    expired: (paymentId, at) => {
      const known = watched.get(paymentId)
      watched.delete(paymentId)
      if (known !== undefined && known.before > 0) included(known, at)
    },
    left: (paymentId) => void watched.delete(paymentId)
  }
}

/** Most pending transactions of one signer: nodes promise to hold about this number for one account. */
const defaultTransactions = 16
/** The same where payers send their own transactions. */
const slotlessTransactions = 256

/** The most pending transactions of one lane. */
export const transactionsOf = ({ capacity, lanes }: Pick<SchemeFacilitator, "capacity" | "lanes">): number =>
  capacity ?? (lanes.length === 0 ? slotlessTransactions : defaultTransactions)
