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
import * as LaneCapacity from "../queue/LaneCapacity.ts"
import type { VerifiedPayments } from "../queue/VerifiedPayments.ts"
import type { WaitingCallers } from "../queue/WaitingCallers.ts"
import type { Lease } from "../store/LaneLeases.ts"
import type { LaneTransaction, PaymentStore, StoredPayment } from "../store/PaymentStore.ts"
import * as Signals from "../store/Signals.ts"
import { track } from "./Confirmation.ts"
import * as Finality from "./Finality.ts"
import {
  type Arrivals,
  recordQueued,
  hasPlace,
  pendingIn,
  isCrowded,
  isRefused,
  type LaneState,
  mostLate,
  placesTaken,
  type Stopped
} from "./LaneState.ts"
import { released } from "./OrphanedLanes.ts"
import { setAside } from "./OrphanedPayments.ts"
import * as PaymentReading from "./PaymentReading.ts"
import * as SlotGaps from "./SlotGaps.ts"
import * as SlotWatch from "./SlotWatch.ts"
import type { SpendLimits } from "./SpendLimits.ts"
import { submit, putBack } from "./Submission.ts"
import { type TrackedTransaction, isOpen, type BatchedPayment, wasSent } from "./TrackedTransaction.ts"

/** A lane to be worked. */
export interface LaneToWork {
  readonly store: PaymentStore["Service"]
  readonly scheme: SchemeFacilitator
  /** The signer; empty for a family without slots. */
  readonly address: string
  /** The signer is not configured any more: what is on its way is watched, and nothing is signed. */
  readonly orphaned?: boolean
  readonly verified: VerifiedPayments
  readonly waitingCallers: WaitingCallers
  readonly limits: SpendLimits
  /** One lane of a network at a time decides what it may still spend. */
  readonly spendLock: Semaphore.Semaphore
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
  for (const transaction of own.transactions.values()) yield* background(track(own, transaction, false))
  yield* background(lookAfter(own, (transaction, sentJustNow) => background(track(own, transaction, sentJustNow))))
  const takeUp = Effect.fnUntraced(function* (queued: ReadonlyArray<StoredPayment>) {
    if (own.orphaned === true) yield* letGo(own, queued)
    else for (const transaction of yield* submit(own, queued)) yield* background(track(own, transaction, true))
    for (const one of queued) if (own.orphanedPayments.has(one.paymentId)) yield* background(setAside(own, one))
  })
  yield* Effect.raceFirst(serveQueue(own, takeUp), Deferred.await(broken))
})

/** Payments that were never sent leave a lane without a signer; the others stay in it until their ends are proven. */
const letGo = (state: LaneState, queued: ReadonlyArray<StoredPayment>): Effect.Effect<void, Stopped> =>
  Effect.suspend(() => {
    for (const one of queued) if (wasSent(one)) state.orphanedPayments.add(one.paymentId)
    return recordQueued(state, queued.filter((one) => !wasSent(one)).map(released))
  })

/** Everything there is on record of the lane. */
const board = Effect.fnUntraced(function* (lane: LaneToWork, lease: Lease): Effect.fn.Return<LaneState, Stopped> {
  const { address, scheme, store } = lane
  const capacity = LaneCapacity.transactionsOf(scheme)
  const state: LaneState = {
    ...lane,
    lease,
    capacity,
    shares: address === "" ? (scheme.shares ?? sharesOf(capacity)) : undefined,
    late: BoundedMap.oldestOut(mostLate),
    transactions: new Map(),
    orphanedPayments: new Set(),
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
  const isOrphan = state.orphaned === true
  const counted = address === "" || isOrphan ? 0n : yield* countSlots(state)
  if (!isOrphan) state.next = yield* store.openLane(lease, yield* SlotGaps.believed(state, counted))
  const now = yield* Clock.currentTimeMillis
  for (const onRecord of yield* store.openTransactions(lease.lane)) {
    state.transactions.set(onRecord.number, { ...(yield* read(scheme, onRecord, now)), orphaned: isOrphan })
  }
  yield* SlotGaps.skip(state, counted)
  return state
})

/**
 * What is in blocks counts: a transaction that only waits in a pool may wait for ever, and the lane would wait behind it.
 * While the chain cannot be asked nothing waits in the lane that was never sent.
 */
const countSlots = Effect.fnUntraced(function* (state: LaneState): Effect.fn.Return<bigint, Stopped> {
  const { address, scheme, lease, store } = state
  while (true) {
    const counted = yield* Effect.result(scheme.nextSlot(address, "included"))
    if (counted._tag === "Success") return counted.success
    const queued = yield* store.queued(lease.lane, longestQueue)
    const unsent = queued.filter((one) => !wasSent(one))
    yield* putBack(state, unsent, counted.failure.message)
    yield* Effect.sleep(chainPause)
  }
})

/**
 * A flight as it is on record. Payments that the scheme cannot read any more are carried along: the bytes are sent for them too,
 * and the others have their ends.
 */
const read = Effect.fnUntraced(function* (scheme: SchemeFacilitator, onRecord: LaneTransaction, now: number) {
  const { attempts, inclusion, lane, number } = onRecord
  const payments: Array<BatchedPayment> = []
  const unreadable: Array<StoredPayment> = []
  for (const stored of onRecord.payments) {
    const payment = yield* Effect.result(PaymentReading.ofRecord(scheme, stored))
    if (payment._tag === "Success") payments.push({ stored, payment: payment.success, concluded: false })
    else {
      unreadable.push(stored)
      const message = `${stored.paymentId} in the transaction ${number} of ${lane} cannot be read; its end stays open until it can`
      yield* Effect.logError(message, payment.failure)
    }
  }
  const earlier = payments.filter(({ payment }) => payment.recalled === true).length
  if (earlier > 0) {
    yield* Effect.logWarning(
      `${earlier} payments in the transaction ${number} of ${lane} are not settled under today's settings; they are watched to their ends`
    )
  }
  const transaction: TrackedTransaction = {
    number,
    attempts,
    payments,
    unreadable,
    inclusion,
    replacedAt: undefined,
    cancelled: false,
    unrecorded: false,
    begunAt: now,
    doubtful: false
  }
  return transaction
})

const serveQueue = (
  state: LaneState,
  take: (queued: ReadonlyArray<StoredPayment>) => Effect.Effect<void, Stopped>
): Effect.Effect<never, Stopped> =>
  Effect.scoped(
    Effect.gen(function* () {
      const { lease, store } = state
      const clock = yield* Clock.Clock
      const ear = yield* store.signals.listen(lease.lane)
      yield* Effect.acquireRelease(
        Effect.sync(() =>
          store.signals.subscribe(lease.lane, () => tally(state.arrivals, clock.currentTimeMillisUnsafe()))
        ),
        (stop) => Effect.sync(stop)
      )
      while (true) {
        const queued = yield* inCompany(state)
        if (queued.length > 0) yield* take(queued)
        else if (state.holdsBack) yield* Effect.sleep(heldPause)
        else yield* Effect.raceFirst(ear.next, Effect.sleep(queuePause))
      }
    })
  )

/**
 * What there is room for, after waiting for company where payments travel together. One that is alone after one that was
 * alone does not wait: where few pay, nobody would come.
 */
const inCompany = Effect.fnUntraced(function* (state: LaneState) {
  const { batches } = state.scheme
  if (batches === undefined || state.orphaned === true) return yield* waiting(state)
  const first = yield* waiting(state, 2)
  if (state.isFull || first.length === 0) return first
  if (first.length === 1 && state.company === 1) {
    state.arrivals.count = Math.max(0, state.arrivals.count - 1)
    return first
  }
  yield* gather(state, batches)
  state.pace = paceOf(state.arrivals)
  state.arrivals.count = 0
  const all = yield* waiting(state)
  state.company = all.length
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
  state: LaneState,
  { maximum, windowMillis }: NonNullable<SchemeFacilitator["batches"]>
) {
  const looks = Math.max(1, Math.min(looksAtArrivals, Math.floor(windowMillis)))
  for (let look = 0; look < looks; look++) {
    const { count } = state.arrivals
    if (count >= maximum) return
    yield* Effect.sleep(Duration.millis(windowMillis / looks))
    if (state.arrivals.count === count && isComplete(state, yield* Clock.currentTimeMillis)) return
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
  state: LaneState,
  most = longestQueue
): Effect.fn.Return<ReadonlyArray<StoredPayment>, FacilitatorUnavailable> {
  const now = yield* Clock.currentTimeMillis
  if (state.orphaned === true) return yield* inTurn(state, longestQueue)
  const limit = Math.min(roomIn(state, now) * (state.scheme.batches?.maximum ?? 1), most)
  state.holdsBack = false
  if (limit === 0) return yield* impatient(state, now)
  const queued = yield* inTurn(state, state.shares === undefined ? limit : longestQueue)
  const chosen = FairShare.choose(queued, limit, inFlight(state, now), state.shares, isLateIn(state, now))
  if (chosen.length === Math.min(queued.length, limit)) return chosen
  state.holdsBack = true
  const departing = new Set(chosen)
  return [...chosen, ...queued.filter((one) => !departing.has(one) && isUp(one, now))]
})

/** Whose payers may have one transaction on its way at a time. */
const isLateIn = (state: LaneState, now: number): ((payer: string) => boolean) =>
  isCrowded(state, now) ? () => true : (payer) => now < (state.late.get(payer) ?? 0)

/** The oldest in the queue; where there are more than so many, those whose turn it is. */
const inTurn = Effect.fnUntraced(function* ({ lease, shares, store, orphanedPayments }: LaneState, limit: number) {
  const depth = limit + orphanedPayments.size
  const oldest = yield* store.queued(lease.lane, depth)
  const queued = oldest.length < depth ? oldest : yield* store.queuedInTurn(lease.lane, depth, shares?.payer ?? depth)
  return queued.filter(({ paymentId }) => !orphanedPayments.has(paymentId))
})

/** What counts for the shares of payers and callers: a payer's transactions until they end, a caller's while they have places. */
const inFlight = (state: LaneState, now: number): FairShare.InFlight => {
  const all = pendingIn(state)
  return { ofPayers: openIn(all), ofCallers: openIn(all.filter((transaction) => hasPlace(state, transaction, now))) }
}

const openIn = (transactions: ReadonlyArray<TrackedTransaction>): ReadonlyArray<StoredPayment> =>
  transactions.flatMap(({ payments }) => payments.filter(isOpen).map(({ stored }) => stored))

const isUp = ({ authorization }: StoredPayment, now: number): boolean =>
  authorization.validBefore * 1000 <= now + marginSeconds * 1000

/** Those that need no room: their time is up, or the lane's signer is refused and they leave it. */
const impatient = Effect.fnUntraced(function* (state: LaneState, now: number) {
  if (now < state.impatientAt + fullPause) return []
  state.impatientAt = now
  const queued = yield* inTurn(state, longestQueue)
  return queued.filter((one) => isRefused(state) || isUp(one, now))
})

/** A lane that was full has room again when half of it is free: what departs together shares the questions and the records. */
const roomIn = (state: LaneState, now: number): number => {
  const capacity = Math.min(state.capacity, state.payable)
  const room = Math.max(0, capacity - placesTaken(state, now))
  state.isFull = room === 0 || (state.isFull && room * 2 < capacity)
  return state.isFull ? 0 : room
}

const lookAfter = Effect.fnUntraced(function* (
  state: LaneState,
  takeUp: (transaction: TrackedTransaction, sentJustNow: boolean) => Effect.Effect<unknown>
): Effect.fn.Return<void, Stopped> {
  const memory: Finality.Memory = { trusted: [] }
  while (true) {
    yield* Effect.sleep(finalityPause)
    yield* Effect.forEach(yield* Finality.round(state, memory), (transaction) => takeUp(transaction, false), {
      discard: true
    })
    yield* Effect.forEach(yield* SlotGaps.heal(state), (transaction) => takeUp(transaction, true), { discard: true })
  }
})
