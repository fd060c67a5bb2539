/**
 * Works one lane while its lease holds: takes up the flights that are on record, has payments of the queue depart, and
 * watches all of them. Everything it knows it has from the records, so whenever these are another's or cannot be asked it
 * drops what it knows and begins anew.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import type * as Semaphore from "effect/Semaphore"

import * as BoundedMap from "../../platform/BoundedMap.ts"
import type { FacilitatorUnavailable } from "../../protocol/ProtocolError.ts"
import type { SchemeFacilitator } from "../../scheme/SchemeFacilitator.ts"
import { marginSeconds } from "../OfferCheck.ts"
import * as FairShare from "../queue/FairShare.ts"
import type { VerifiedPayments } from "../queue/VerifiedPayments.ts"
import type { WaitingCallers } from "../queue/WaitingCallers.ts"
import type { Lease } from "../store/LaneLeases.ts"
import type { LaneTransaction, PaymentStore, StoredPayment } from "../store/PaymentStore.ts"
import * as Signals from "../store/Signals.ts"
import { follow } from "./Confirmation.ts"
import * as Finality from "./Finality.ts"
import {
  type Arrivals,
  enterQueued,
  hasPlace,
  inTheAir,
  isCrowded,
  isRefused,
  type LaneState,
  mostLate,
  placesTaken,
  type Stopped,
  transactionsOf
} from "./LaneState.ts"
import { released } from "./OrphanedLanes.ts"
import { strand } from "./OrphanedPayments.ts"
import * as PaymentReading from "./PaymentReading.ts"
import * as SlotGaps from "./SlotGaps.ts"
import * as SlotWatch from "./SlotWatch.ts"
import type { SpendLimits } from "./SpendLimits.ts"
import { depart, putBack } from "./Submission.ts"
import { type TrackedTransaction, isOpen, type BatchedPayment, wasSent } from "./TrackedTransaction.ts"

/** A lane to be worked. */
export interface LaneToWork {
  readonly store: PaymentStore["Service"]
  readonly half: SchemeFacilitator
  /** The signer; empty for a family without slots. */
  readonly address: string
  /** The signer is not configured any more: what is on its way is watched, and nothing is signed. */
  readonly orphaned?: boolean
  readonly examined: VerifiedPayments
  readonly awaited: WaitingCallers
  readonly ceilings: SpendLimits
  /** One lane of a network at a time decides what it may still spend. */
  readonly spending: Semaphore.Semaphore
  /** When this process began to settle; Unix milliseconds. */
  readonly startedAt: number
}

/** Of a capacity where payers send their own, one payer may take a 32nd, and one caller a half. */
const sharesOf = (capacity: number): FairShare.Limits => ({
  payer: Math.max(1, Math.floor(capacity / 32)),
  caller: Math.max(1, Math.floor(capacity / 2))
})
/** Hints may be lost: the queue is looked into so often without one. */
const queuePause = Duration.seconds(1)
/** Between rounds of looking after settled flights. */
const finalityPause = Duration.seconds(1)
/** Before a worker begins anew: longer each time, unless it had worked for a while. */
const firstRestartPause = Duration.millis(250)
const longestRestartPause = Duration.seconds(2)
/** Milliseconds. */
const aWhile = Duration.toMillis("10 seconds")
/** Between attempts to reach a chain at the beginning. */
const chainPause = Duration.millis(500)
/** So many payments are looked at in one go at most. */
const longestQueue = 500
/** Where all that wait are held back by their shares: each look reads them. */
const heldPause = Duration.millis(100)
/** A lane that is full is looked into so often for those that cannot wait; milliseconds. */
const fullPause = Duration.toMillis("1 second")

/**
 * Works until the lease ends. A defect stops a lane no longer than records that cannot be asked: all that matters is in
 * them.
 */
export const work = Effect.fnUntraced(function* (lane: LaneToWork, lease: Lease): Effect.fn.Return<void> {
  let pause = firstRestartPause
  while (lease.isValid()) {
    const began = yield* Clock.currentTimeMillis
    yield* Effect.catchCause(Effect.scoped(workOnce(lane, lease)), (stopped) =>
      Cause.hasInterruptsOnly(stopped) ? Effect.interrupt : logRestart(lease, stopped)
    )
    if ((yield* Clock.currentTimeMillis) >= began + aWhile) pause = firstRestartPause
    yield* Effect.sleep(pause)
    pause = Duration.min(Duration.times(pause, 2), longestRestartPause)
  }
})

const logRestart = ({ lane }: Lease, stopped: Cause.Cause<Stopped>) =>
  (Cause.hasDies(stopped) ? Effect.logError : Effect.logWarning)(`the work in the lane ${lane} begins anew`, stopped)

const workOnce = Effect.fnUntraced(function* (lane: LaneToWork, lease: Lease) {
  const own = yield* board(lane, lease)
  const broken = Deferred.makeUnsafe<never, Stopped>()
  const fibers = yield* FiberSet.make()
  /** Whatever fails in the background ends the work. */
  const background = (effect: Effect.Effect<void, Stopped>): Effect.Effect<unknown> =>
    FiberSet.run(
      fibers,
      Effect.catchCause(effect, (stopped) => Deferred.failCause(broken, stopped))
    )
  for (const aboard of own.flights.values()) yield* background(follow(own, aboard, false))
  yield* background(lookAfter(own, (aboard, sentJustNow) => background(follow(own, aboard, sentJustNow))))
  const takeUp = Effect.fnUntraced(function* (queued: ReadonlyArray<StoredPayment>) {
    if (own.orphaned === true) yield* letGo(own, queued)
    else for (const aboard of yield* depart(own, queued)) yield* background(follow(own, aboard, true))
    for (const one of queued) if (own.stranded.has(one.paymentId)) yield* background(strand(own, one))
  })
  yield* Effect.raceFirst(serveQueue(own, takeUp), Deferred.await(broken))
})

/** Payments that were never sent leave a lane without a signer; the others stay in it until their ends are proven. */
const letGo = (work: LaneState, queued: ReadonlyArray<StoredPayment>): Effect.Effect<void, Stopped> =>
  Effect.suspend(() => {
    for (const one of queued) if (wasSent(one)) work.stranded.add(one.paymentId)
    return enterQueued(work, queued.filter((one) => !wasSent(one)).map(released))
  })

/** Everything there is on record of the lane. */
const board = Effect.fnUntraced(function* (lane: LaneToWork, lease: Lease): Effect.fn.Return<LaneState, Stopped> {
  const { address, half, store } = lane
  const capacity = transactionsOf(half)
  const work: LaneState = {
    ...lane,
    lease,
    capacity,
    shares: address === "" ? (half.shares ?? sharesOf(capacity)) : undefined,
    late: BoundedMap.oldestOut(mostLate),
    flights: new Map(),
    stranded: new Set(),
    landings: Signals.make(),
    next: 0n,
    slots: SlotWatch.make(),
    refusal: undefined,
    gasMoney: undefined,
    payable: Number.POSITIVE_INFINITY,
    isFull: false,
    holdsBack: false,
    impatientAt: 0,
    company: 0,
    arrivals: { count: 0, firstAt: 0, lastAt: 0 },
    pace: undefined,
    landingMillis: 0,
    surveyed: undefined
  }
  const isOrphan = work.orphaned === true
  const counted = address === "" || isOrphan ? 0n : yield* countSlots(work)
  if (!isOrphan) work.next = yield* store.openLane(lease, yield* SlotGaps.believed(work, counted))
  const now = yield* Clock.currentTimeMillis
  for (const flight of yield* store.flights(lease.lane)) {
    work.flights.set(flight.number, { ...(yield* read(half, flight, now)), orphaned: isOrphan })
  }
  yield* SlotGaps.skip(work, counted)
  return work
})

/**
 * What is in blocks counts: a transaction that only waits in a pool may wait for ever, and the lane would wait behind it.
 * While the chain cannot be asked nothing waits in the lane that was never sent.
 */
const countSlots = Effect.fnUntraced(function* (work: LaneState): Effect.fn.Return<bigint, Stopped> {
  const { address, half, lease, store } = work
  while (true) {
    const counted = yield* Effect.result(half.nextSlot(address, "included"))
    if (counted._tag === "Success") return counted.success
    const queued = yield* store.queued(lease.lane, longestQueue)
    const unsent = queued.filter((one) => !wasSent(one))
    yield* putBack(work, unsent, counted.failure.message)
    yield* Effect.sleep(chainPause)
  }
})

/**
 * A flight as it is on record. Payments that the scheme cannot read any more are carried along: the bytes are sent for them too,
 * and the others have their ends.
 */
const read = Effect.fnUntraced(function* (half: SchemeFacilitator, flight: LaneTransaction, now: number) {
  const { attempts, lane, inclusion, number, payments } = flight
  const travellers: Array<BatchedPayment> = []
  const opaque: Array<StoredPayment> = []
  for (const stored of payments) {
    const payment = yield* Effect.result(PaymentReading.ofRecord(half, stored))
    if (payment._tag === "Success") travellers.push({ stored, payment: payment.success, concluded: false })
    else {
      opaque.push(stored)
      const message = `${stored.paymentId} in the transaction ${number} of ${lane} cannot be read; its end stays open until it can`
      yield* Effect.logError(message, payment.failure)
    }
  }
  const earlier = travellers.filter(({ payment }) => payment.recalled === true).length
  if (earlier > 0) {
    yield* Effect.logWarning(
      `${earlier} payments in the transaction ${number} of ${lane} are not settled under today's settings; they are watched to their ends`
    )
  }
  const aboard: TrackedTransaction = {
    number,
    attempts,
    travellers,
    opaque,
    inclusion,
    lostAt: undefined,
    cancelled: false,
    unmarked: false,
    begunAt: now,
    doubtful: false
  }
  return aboard
})

const serveQueue = (
  work: LaneState,
  take: (queued: ReadonlyArray<StoredPayment>) => Effect.Effect<void, Stopped>
): Effect.Effect<never, Stopped> =>
  Effect.scoped(
    Effect.gen(function* () {
      const { lease, store } = work
      const clock = yield* Clock.Clock
      const ear = yield* store.signals.listen(lease.lane)
      yield* Effect.acquireRelease(
        Effect.sync(() => store.signals.hear(lease.lane, () => tally(work.arrivals, clock.currentTimeMillisUnsafe()))),
        (stop) => Effect.sync(stop)
      )
      while (true) {
        const queued = yield* inCompany(work)
        if (queued.length > 0) yield* take(queued)
        else if (work.holdsBack) yield* Effect.sleep(heldPause)
        else yield* Effect.raceFirst(ear.next, Effect.sleep(queuePause))
      }
    })
  )

/**
 * What there is room for, after waiting for company where payments travel together. One that is alone after one that was
 * alone does not wait: where few pay, nobody would come.
 */
const inCompany = Effect.fnUntraced(function* (work: LaneState) {
  const { batches } = work.half
  if (batches === undefined || work.orphaned === true) return yield* waiting(work)
  const first = yield* waiting(work, 2)
  if (work.isFull || first.length === 0) return first
  if (first.length === 1 && work.company === 1) {
    work.arrivals.count = Math.max(0, work.arrivals.count - 1)
    return first
  }
  yield* gather(work, batches)
  work.pace = paceOf(work.arrivals)
  work.arrivals.count = 0
  const all = yield* waiting(work)
  work.company = all.length
  return all
})

const tally = (arrivals: Arrivals, now: number): void => {
  if (arrivals.count++ === 0) arrivals.firstAt = now
  arrivals.lastAt = now
}

/** How far apart they came, in milliseconds; of one alone that is not known. */
const paceOf = ({ count, firstAt, lastAt }: Arrivals): number | undefined =>
  count < 2 ? undefined : (lastAt - firstAt) / (count - 1)

/** In so many looks the window goes by, but no timer is shorter than a millisecond. */
const looksAtArrivals = 10

/** Who has not come for so many times as long as they come apart is not expected any more. */
const pacesAwaited = 4

/**
 * Waits for company: no longer than the window, and no longer than any can be expected. That is when a transaction is full;
 * or when from one look to the next nobody else has come, and there are as many as last time or nobody has come for long.
 * Arrivals are counted by their hints; one that is lost has the others wait for the whole window.
 */
const gather = Effect.fnUntraced(function* (
  work: LaneState,
  { maximum, windowMillis }: NonNullable<SchemeFacilitator["batches"]>
) {
  const looks = Math.max(1, Math.min(looksAtArrivals, Math.floor(windowMillis)))
  for (let look = 0; look < looks; look++) {
    const { count } = work.arrivals
    if (count >= maximum) return
    yield* Effect.sleep(Duration.millis(windowMillis / looks))
    if (work.arrivals.count === count && isComplete(work, yield* Clock.currentTimeMillis)) return
  }
})

/** They may come apart as they do this time, or as they did the last time: neither alone says much. */
const isComplete = ({ arrivals, company, pace }: LaneState, now: number): boolean => {
  if (company > 0 && arrivals.count >= company) return true
  const latest = paceOf(arrivals)
  if (pace === undefined || latest === undefined) return false
  return now - arrivals.lastAt > pacesAwaited * Math.max(pace, latest)
}

/** So many of those that wait, and no more than there is room for. Where more wait, callers and payers take turns. */
const waiting = Effect.fnUntraced(function* (
  work: LaneState,
  most = longestQueue
): Effect.fn.Return<ReadonlyArray<StoredPayment>, FacilitatorUnavailable> {
  const now = yield* Clock.currentTimeMillis
  if (work.orphaned === true) return yield* inTurn(work, longestQueue)
  const limit = Math.min(roomIn(work, now) * (work.half.batches?.maximum ?? 1), most)
  work.holdsBack = false
  if (limit === 0) return yield* impatient(work, now)
  const queued = yield* inTurn(work, work.shares === undefined ? limit : longestQueue)
  const chosen = FairShare.choose(queued, limit, inFlight(work, now), work.shares, isLateIn(work, now))
  if (chosen.length === Math.min(queued.length, limit)) return chosen
  work.holdsBack = true
  const departing = new Set(chosen)
  return [...chosen, ...queued.filter((one) => !departing.has(one) && isUp(one, now))]
})

/** Whose payers may have one transaction on its way at a time. */
const isLateIn = (work: LaneState, now: number): ((payer: string) => boolean) =>
  isCrowded(work, now) ? () => true : (payer) => now < (work.late.get(payer) ?? 0)

/** The oldest in the queue; where there are more than so many, those whose turn it is. */
const inTurn = Effect.fnUntraced(function* ({ lease, shares, store, stranded }: LaneState, limit: number) {
  const depth = limit + stranded.size
  const oldest = yield* store.queued(lease.lane, depth)
  const queued = oldest.length < depth ? oldest : yield* store.queuedInTurn(lease.lane, depth, shares?.payer ?? depth)
  return queued.filter(({ paymentId }) => !stranded.has(paymentId))
})

/** What counts for the shares of payers and callers: a payer's transactions until they end, a caller's while they have places. */
const inFlight = (work: LaneState, now: number): FairShare.InFlight => {
  const all = inTheAir(work)
  return { ofPayers: openIn(all), ofCallers: openIn(all.filter((aboard) => hasPlace(work, aboard, now))) }
}

const openIn = (flights: ReadonlyArray<TrackedTransaction>): ReadonlyArray<StoredPayment> =>
  flights.flatMap(({ travellers }) => travellers.filter(isOpen).map(({ stored }) => stored))

const isUp = ({ authorization }: StoredPayment, now: number): boolean =>
  authorization.validBefore * 1000 <= now + marginSeconds * 1000

/** Those that need no room: their time is up, or the lane's signer is refused and they leave it. */
const impatient = Effect.fnUntraced(function* (work: LaneState, now: number) {
  if (now < work.impatientAt + fullPause) return []
  work.impatientAt = now
  const queued = yield* inTurn(work, longestQueue)
  return queued.filter((one) => isRefused(work) || isUp(one, now))
})

/** A lane that was full has room again when half of it is free: what departs together shares the questions and the records. */
const roomIn = (work: LaneState, now: number): number => {
  const capacity = Math.min(work.capacity, work.payable)
  const room = Math.max(0, capacity - placesTaken(work, now))
  work.isFull = room === 0 || (work.isFull && room * 2 < capacity)
  return work.isFull ? 0 : room
}

const lookAfter = Effect.fnUntraced(function* (
  work: LaneState,
  takeUp: (aboard: TrackedTransaction, sentJustNow: boolean) => Effect.Effect<unknown>
): Effect.fn.Return<void, Stopped> {
  const memory: Finality.Memory = { trusted: [] }
  while (true) {
    yield* Effect.sleep(finalityPause)
    yield* Effect.forEach(yield* Finality.round(work, memory), (aboard) => takeUp(aboard, false), { discard: true })
    yield* Effect.forEach(yield* SlotGaps.heal(work), (aboard) => takeUp(aboard, true), { discard: true })
  }
})
