/**
 * The throughput of a lane as far as it was observed: some of the payments that are taken in are watched until they are included. A
 * payment that found a free place shows how long an inclusion takes; one that waited shows, by the number before it, how fast the
 * queue moves. While little was observed, the lane's places and the time of an inclusion stand for it, and before the first
 * observation a guess. A payment that is pending for long counts before it is included, so that a chain that stands still is noticed.
 *
 * A queue moves in steps: a block includes many payments at once, in transactions of one each or of many. A payment that waited for the
 * next block alone had few before it, and yet a whole step went with it. The size of a step is counted by the blocks of this process's
 * own payments; the settings promise more than a transaction may hold.
 */

import * as BoundedMap from "../../platform/BoundedMap.ts"
import type { SchemeFacilitator } from "../../scheme/SchemeFacilitator.ts"

/** The throughput of one lane. Times are Unix milliseconds. */
export interface LaneCapacity {
  /** Milliseconds from intake to inclusion for a payment that waits for no place. */
  readonly inclusionMillis: (now: number) => number
  /** Payments a second while more wait than the lane has places for. */
  readonly perSecond: (now: number) => number
  /** Milliseconds between two payments that leave the queue. */
  readonly intervalMillis: (now: number) => number
  /** Whether one more payment can be watched. */
  readonly isWatching: () => boolean
  /** Watches a payment that was taken in just now, with this position in the queue; 0 if none waits. */
  readonly watch: (paymentId: string, before: number, now: number) => void
  /** The watched payments, oldest first. */
  readonly watched: () => ReadonlyArray<string>
  /** A watched payment was included at this time. */
  readonly included: (paymentId: string, at: number) => void
  /** A payment of the lane, watched or not, was included in this block at this time. Each payment counts once. */
  readonly includedIn: (block: bigint, at: number) => void
  /** A watched payment has expired at this time: the queue was slow, or the payment failed for its own reason. */
  readonly expired: (paymentId: string, at: number) => void
  /** A watched payment has left the lane for another reason. */
  readonly left: (paymentId: string) => void
}

/** The most payments that are watched at once: each is looked up now and then. */
const mostWatched = 32
/** The assumed time of an inclusion before one was observed; milliseconds. */
const guessedMillis = 5_000
/**
 * The weight of an inclusion among those before it. One that took longer may have waited for payments that came at the same moment, so
 * it counts little.
 */
const weightOf = { quicker: 0.5, slower: 0.05 }
/** The half-life of observations of the queue; milliseconds. */
const halfLifeMillis = 20_000

/** The most blocks whose payments are counted at once: the worker may record the ends of some blocks in another order. */
const mostBlocks = 16

interface Watched {
  readonly before: number
  readonly since: number
}

/** A lane without observations; `places` is the most pending payments. */
export const make = (places: number): LaneCapacity => {
  const watched = new Map<string, Watched>()
  let landing: number | undefined
  /** The last inclusion of a watched payment; Unix milliseconds. */
  let lastInclusion = 0
  /** The wait of payments that waited, and the payments that went before them meanwhile. */
  let queue = { millis: 0, payments: 0, at: 0 }

  const steps = makeSteps()

  const oldest = (isQueued: boolean): Watched | undefined => {
    for (const one of watched.values()) if (one.before > 0 === isQueued) return one
    return undefined
  }
  /** The time that a payment is pending while no other was included: a delay of one alone is its own. */
  const still = (one: Watched | undefined, now: number) =>
    one === undefined ? 0 : now - Math.max(one.since, lastInclusion)
  const seenMillis = () => landing ?? guessedMillis
  const inclusionMillis = (now: number) => Math.max(seenMillis(), still(oldest(false), now))
  /** The expectation counts as much as this number of observed payments. */
  const weight = Math.min(places, mostWatched)
  const faded = (now: number) => fadedSince(queue.at, now)
  /** Milliseconds for each payment of a queue. */
  const pace = (now: number): number => {
    const share = faded(now)
    const expected = (inclusionMillis(now) / places) * weight
    const seen = (queue.millis * share + expected) / (queue.payments * share + weight)
    const first = oldest(true)
    const open = first === undefined ? 0 : (now - first.since - seenMillis()) / Math.max(first.before, steps.size(now))
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
    const waited = Math.max(0, millis - seenMillis())
    // On average a payment stands in the middle of its step.
    const moved = Math.max(before, (1 + steps.size(at)) / 2)
    queue = { millis: queue.millis * share + waited, payments: queue.payments * share + moved, at }
  }
  return {
    inclusionMillis,
    perSecond: (now) => 1_000 / Math.max(pace(now), 0.001),
    intervalMillis: pace,
    isWatching: () => watched.size < mostWatched,
    watch: (paymentId, before, now) => void watched.set(paymentId, { before, since: now }),
    watched: () => [...watched.keys()],
    included: (paymentId, at) => {
      const known = watched.get(paymentId)
      watched.delete(paymentId)
      if (known === undefined) return
      lastInclusion = Math.max(lastInclusion, at)
      included(known, at)
    },
    includedIn: steps.includedIn,
    expired: (paymentId, at) => {
      const known = watched.get(paymentId)
      watched.delete(paymentId)
      if (known !== undefined && known.before > 0) included(known, at)
    },
    left: (paymentId) => void watched.delete(paymentId)
  }
}

/** The part that an observation of this time still has. */
const fadedSince = (since: number, now: number): number => 0.5 ** (Math.max(0, now - since) / halfLifeMillis)

/** The steps in which a queue moves: the payments that were included in one block. */
interface Steps extends Pick<LaneCapacity, "includedIn"> {
  /** The payments of a step, as a payment finds it on average; 1 while none was observed. */
  readonly size: (now: number) => number
}

const makeSteps = (): Steps => {
  const blocks = BoundedMap.oldestOut<bigint, number>(mostBlocks)
  /** The observed payments, and the sum of the sizes of the steps that each of them found. */
  let seen = { payments: 0, sizes: 0, at: 0 }
  return {
    size: (now) => {
      const share = fadedSince(seen.at, now)
      return (seen.sizes * share + 1) / (seen.payments * share + 1)
    },
    includedIn: (block, at) => {
      const before = blocks.get(block) ?? 0
      blocks.set(block, before + 1)
      const share = fadedSince(seen.at, at)
      // It finds those before it, and each of them finds it.
      seen = {
        payments: seen.payments * share + 1,
        sizes: seen.sizes * share + 2 * before + 1,
        at: Math.max(at, seen.at)
      }
    }
  }
}

/** Most pending transactions of one signer: nodes promise to hold about this number for one account. */
const defaultTransactions = 16
/** The same where payers send their own transactions. */
const slotlessTransactions = 256

/** The most pending transactions of one lane. */
export const transactionsOf = ({ capacity, lanes }: Pick<SchemeFacilitator, "capacity" | "lanes">): number =>
  capacity ?? (lanes.length === 0 ? slotlessTransactions : defaultTransactions)
