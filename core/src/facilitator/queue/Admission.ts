/**
 * The admission to a lane's queue, for payments whose turn comes before their validity is over. A payment that would expire in the queue is
 * refused when it arrives, with the time after which it may be sent again. While a lane has free places every payment is admitted,
 * and so is one that is next in turn although others have filled the queue.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

import { FacilitatorUnavailable } from "../../protocol/ProtocolError.ts"
import { isDead, isSettled } from "../../protocol/Settlement.ts"
import type { SchemeFacilitator } from "../../scheme/SchemeFacilitator.ts"
import { marginSeconds } from "../OfferCheck.ts"
import {
  type NewPayment,
  type PaymentStore,
  type QueueShare,
  settledAt,
  type StoredPayment
} from "../store/PaymentStore.ts"
import * as LaneCapacity from "./LaneCapacity.ts"
import * as QueuePosition from "./QueuePosition.ts"

/** A payment that arrives. */
export type Arrival = Pick<NewPayment, "authorization" | "caller" | "paymentId">

/** The throughput of a lane. */
export interface LaneStatistics {
  readonly lane: string
  /** Payments a second that are included while more wait than the lane has places for. */
  readonly perSecond: number
  /** Milliseconds from intake to inclusion for a payment that waits for no place. */
  readonly inclusionMillis: number
  /** Payments refused because they would have expired in its queue. */
  readonly turnedAway: number
}

/** The admission to the lanes of a facilitator. */
export interface Admission {
  /** Fails for a payment that would expire in this lane's queue. Counts nothing: the payment is not verified yet. */
  readonly judge: (
    scheme: SchemeFacilitator,
    lane: string,
    arrival: Arrival
  ) => Effect.Effect<void, FacilitatorUnavailable>
  /** Counts a verified payment that is about to wait in this lane. */
  readonly admit: (scheme: SchemeFacilitator, lane: string, arrival: Arrival) => Effect.Effect<void>
  /** Observes the record of an included payment. Each payment is told once. */
  readonly observe: (included: StoredPayment) => void
  /** The lanes that were judged so far. */
  readonly views: Effect.Effect<ReadonlyArray<LaneStatistics>>
}

interface Lane {
  readonly name: string
  readonly capacity: LaneCapacity.LaneCapacity
  /** While it holds fewer payments than this, waiting or pending, none waits for a place. */
  readonly transactions: number
  /** The payments that wait in it: read from the store, and counted since; and the same by callers and payers. */
  waiting: number
  shares: Array<QueueShare>
  askedAt: number
  turnedAway: number
}

/** The highest age of the counts; milliseconds. */
const freshness = Duration.toMillis("250 millis")
/** The watched payments that are looked up together with the counts. */
const lookedUp = 8
/** The factor by which the estimate of a queue may be too low before a payment in it expires. */
const caution = 1.3
/** The longest wait in a queue, whatever the validity: buyers wait no longer; milliseconds. */
const longestQueue = Duration.toMillis("2 minutes")
/** The highest `retryAfter` of a refused payment; seconds. */
const longestRetry = 60

/** The admission to lanes whose payments are in this store. */
export const make = (store: PaymentStore["Service"]): Admission => {
  const lanes = new Map<string, Lane>()
  const laneOf = (scheme: SchemeFacilitator, name: string): Lane => {
    const known = lanes.get(name)
    if (known !== undefined) return known
    const transactions = LaneCapacity.transactionsOf(scheme)
    const capacity = LaneCapacity.make(transactions * (scheme.batches?.maximum ?? 1))
    const lane: Lane = { name, capacity, transactions, waiting: 0, shares: [], askedAt: -Infinity, turnedAway: 0 }
    lanes.set(name, lane)
    return lane
  }
  return {
    judge: Effect.fnUntraced(function* (scheme, name, arrival) {
      const now = yield* store.now
      const lane = laneOf(scheme, name)
      if (now >= lane.askedAt + freshness) yield* count(store, lane, now)
      const excess = excessOf(lane, arrival, now)
      if (excess <= 0) return
      lane.turnedAway++
      return yield* busy(scheme.network, excess)
    }),
    admit: (scheme, name, arrival) =>
      Effect.map(store.now, (now) => {
        const lane = laneOf(scheme, name)
        const { authorization, caller, paymentId } = arrival
        const place = lane.capacity.isWatching() ? beforeIn(lane, arrival) : undefined
        // Where payers send their own, a payment may wait for its payer's earlier ones alone: that says nothing of the queue.
        if (place === 0 || (place !== undefined && scheme.lanes.length > 0)) lane.capacity.watch(paymentId, place, now)
        if (lane.waiting === 0) return
        lane.waiting++
        lane.shares.push({ caller, payer: authorization.payer, waiting: 1 })
      }),
    observe: (included) => {
      const { block, lane, paymentId } = included
      const at = settledAt(included)
      const capacity = lane === undefined ? undefined : lanes.get(lane)?.capacity
      if (capacity === undefined || block === undefined || at === undefined) return
      capacity.includedIn(block.number, at)
      capacity.included(paymentId, at)
    },
    views: Effect.map(store.now, (now) =>
      [...lanes.values()].map(({ capacity, name, turnedAway }) => ({
        lane: name,
        perSecond: capacity.perSecond(now),
        inclusionMillis: capacity.inclusionMillis(now),
        turnedAway
      }))
    )
  }
}

/** Counts a lane anew, and looks up the watched payments. */
const count = Effect.fnUntraced(function* (
  store: PaymentStore["Service"],
  lane: Lane,
  now: number
): Effect.fn.Return<void, FacilitatorUnavailable> {
  lane.askedAt = now
  const { capacity, name, transactions } = lane
  const load = (yield* store.loads([name])).get(name) ?? 0
  lane.shares = load < transactions ? [] : [...(yield* store.waitingBy(name))]
  lane.waiting = lane.shares.reduce((sum, { waiting }) => sum + waiting, 0)
  for (const paymentId of capacity.watched().slice(0, lookedUp)) {
    const payment = yield* store.find(paymentId)
    if (payment === undefined || payment.lane !== name) capacity.left(paymentId)
    else if (isSettled(payment.status)) capacity.included(paymentId, settledAt(payment) ?? now)
    else if (payment.status === "expired") capacity.expired(paymentId, now)
    else if (isDead(payment.status)) capacity.left(paymentId)
  }
})

/** The position in the queue: the payments that leave it up to and including this one; 0 if none waits. */
const beforeIn = ({ shares, waiting }: Lane, { authorization: { payer }, caller }: Arrival): number =>
  waiting === 0 ? 0 : 1 + QueuePosition.before(shares, { caller, payer })

/**
 * The milliseconds by which the queue is too long for this payment; at most 0 if it is short enough. The turns are counted only if the
 * payment could not wait for the whole queue.
 */
const excessOf = (lane: Lane, arrival: Arrival, now: number): number => {
  const { capacity, waiting } = lane
  const left = (arrival.authorization.validBefore - marginSeconds) * 1000 - now
  // A payment whose validity is over is refused for that, not for the queue.
  if (left <= 0) return 0
  const room = Math.min(left, longestQueue) - capacity.inclusionMillis(now)
  const excess = (before: number) => (before <= 1 ? 0 : before * capacity.intervalMillis(now) * caution - room)
  return excess(waiting + 1) <= 0 ? 0 : excess(beforeIn(lane, arrival))
}

const busy = (network: string, excess: number) => {
  const retryAfter = Math.min(longestRetry, Math.max(1, Math.ceil(excess / 1000)))
  return new FacilitatorUnavailable({
    message: `more payments wait for the signers on ${network} than they can send before this one expires; nothing was sent, come again in ${retryAfter} seconds`,
    retryAfter
  })
}
