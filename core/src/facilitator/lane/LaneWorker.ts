/**
 * Works one lane while its lease holds: resumes the transactions on record, submits payments of the queue, and tracks all of them. All
 * its knowledge comes from the records, so it drops its state and begins again whenever the records are another worker's or
 * unavailable.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import type * as Semaphore from "effect/Semaphore"

import * as BoundedMap from "../../platform/BoundedMap.ts"
import type { SchemeFacilitator } from "../../scheme/SchemeFacilitator.ts"
import type * as FairShare from "../queue/FairShare.ts"
import * as LaneCapacity from "../queue/LaneCapacity.ts"
import type { VerifiedPayments } from "../queue/VerifiedPayments.ts"
import type { WaitingCallers } from "../queue/WaitingCallers.ts"
import type { Lease } from "../store/LaneLeases.ts"
import type { PaymentStore, StoredPayment } from "../store/PaymentStore.ts"
import * as Signals from "../store/Signals.ts"
import * as BatchWindow from "./BatchWindow.ts"
import * as ChainView from "./ChainView.ts"
import * as Confirmation from "./Confirmation.ts"
import * as Finality from "./Finality.ts"
import * as LaneQueue from "./LaneQueue.ts"
import type { LaneState, Stopped } from "./LaneState.ts"
import * as OrphanedLanes from "./OrphanedLanes.ts"
import * as PaymentReading from "./PaymentReading.ts"
import * as SetAsidePayments from "./SetAsidePayments.ts"
import * as SignerFunds from "./SignerFunds.ts"
import * as SlotGaps from "./SlotGaps.ts"
import * as SlotNumbers from "./SlotNumbers.ts"
import type { SpendLimits } from "./SpendLimits.ts"
import * as Submission from "./Submission.ts"
import { type RemainingWork, type TrackedTransaction, wasSent } from "./TrackedTransaction.ts"

/** A lane to be worked. */
export interface LaneToWork {
  readonly store: PaymentStore["Service"]
  readonly scheme: SchemeFacilitator
  /** The signer; empty for a family without slots. */
  readonly address: string
  /** The signer is not configured any more: pending transactions are watched, and nothing is signed. */
  readonly orphaned?: boolean
  readonly verified: VerifiedPayments
  readonly waitingCallers: WaitingCallers
  readonly limits: SpendLimits
  /** One lane of a network at a time decides what it may spend. */
  readonly spendLock: Semaphore.Semaphore
  /** The start of this process; Unix milliseconds. */
  readonly startedAt: number
}

/** Where payers send their own transactions, one payer may take a 32nd of the capacity, and one caller a half. */
const sharesOf = (capacity: number): FairShare.Limits => ({
  payer: Math.max(1, Math.floor(capacity / 32)),
  caller: Math.max(1, Math.floor(capacity / 2))
})
/** The most late payers that a lane remembers. */
const mostLate = 10_000
/** The poll interval of the queue when no signal arrives; signals may be lost. */
const queuePause = Duration.seconds(1)
/** The pause between rounds of finality. */
const finalityPause = Duration.seconds(1)
/** The pause before a worker begins again: longer each time, unless it had worked for ten seconds. */
const firstRestartPause = Duration.millis(250)
const longestRestartPause = Duration.seconds(2)
const steadyMillis = Duration.toMillis("10 seconds")
/** The pause between attempts to reach a chain at the beginning. */
const chainPause = Duration.millis(500)
/** The pause while all waiting payments are held back by their shares: each look reads them. */
const heldPause = Duration.millis(100)

/** Works until the lease ends. A defect stops a lane no longer than an unavailable store does: the records hold all that matters. */
export const work = Effect.fnUntraced(function* (lane: LaneToWork, lease: Lease): Effect.fn.Return<void> {
  let pause = firstRestartPause
  while (lease.isValid()) {
    const began = yield* Clock.currentTimeMillis
    yield* Effect.catchCause(Effect.scoped(workOnce(lane, lease)), (stopped) =>
      Cause.hasInterruptsOnly(stopped) ? Effect.interrupt : logRestart(lease, stopped)
    )
    if ((yield* Clock.currentTimeMillis) >= began + steadyMillis) pause = firstRestartPause
    yield* Effect.sleep(pause)
    pause = Duration.min(Duration.times(pause, 2), longestRestartPause)
  }
})

const logRestart = ({ lane }: Lease, stopped: Cause.Cause<Stopped>) =>
  (Cause.hasDies(stopped) ? Effect.logError : Effect.logWarning)(`the worker of the lane ${lane} begins again`, stopped)

const workOnce = Effect.fnUntraced(function* (lane: LaneToWork, lease: Lease) {
  const state = yield* load(lane, lease)
  const broken = Deferred.makeUnsafe<never, Stopped>()
  const fibers = yield* FiberSet.make()
  /** Any failure in the background ends the work. */
  const background = (effect: Effect.Effect<void, Stopped>): Effect.Effect<unknown> =>
    FiberSet.run(
      fibers,
      Effect.catchCause(effect, (stopped) => Deferred.failCause(broken, stopped))
    )
  const track = (transaction: TrackedTransaction, sentJustNow: boolean) =>
    background(Confirmation.track(state, transaction, sentJustNow))
  for (const transaction of state.transactions.values()) yield* track(transaction, false)
  yield* background(watchFinality(state, track))
  const take = Effect.fnUntraced(function* (queued: ReadonlyArray<StoredPayment>) {
    if (state.orphaned === true) yield* LaneQueue.putBack(state, queued, ...OrphanedLanes.withoutSigner)
    else for (const transaction of yield* Submission.submit(state, queued)) yield* track(transaction, true)
    for (const one of queued) {
      if (state.setAsidePayments.has(one.paymentId)) yield* background(SetAsidePayments.setAside(state, one))
    }
  })
  yield* Effect.raceFirst(serveQueue(state, take), Deferred.await(broken))
})

/** Loads the state of the lane from the records. */
const load = Effect.fnUntraced(function* (lane: LaneToWork, lease: Lease): Effect.fn.Return<LaneState, Stopped> {
  const { address, scheme, store } = lane
  const isOrphan = lane.orphaned === true
  const capacity = LaneCapacity.transactionsOf(scheme)
  const transactions = new Map<bigint, TrackedTransaction>()
  const remaining: RemainingWork = { transactions, awaited: undefined }
  const state: LaneState = {
    ...lane,
    lease,
    capacity,
    shares: address === "" ? (scheme.shares ?? sharesOf(capacity)) : undefined,
    late: BoundedMap.oldestOut(mostLate),
    transactions,
    remaining,
    setAsidePayments: new Set(),
    turns: Signals.make(),
    chain: ChainView.make({ ...lane, now: store.now, transactions }),
    funds: SignerFunds.make(scheme, address),
    slots: SlotNumbers.make(0n),
    window: scheme.batches && BatchWindow.make(scheme.batches),
    backlog: { isFull: false, holdsBack: false, lookedAt: 0 },
    node: { rejection: undefined },
    lastInclusion: { millis: 0 }
  }
  const counted = address === "" || isOrphan ? 0n : yield* countSlots(state)
  if (!isOrphan) state.slots.next = yield* store.openLane(lease, yield* SlotGaps.believed(state, counted))
  const now = yield* Clock.currentTimeMillis
  for (const onRecord of yield* store.openTransactions(lease.lane)) {
    const transaction = yield* PaymentReading.ofTransaction(scheme, onRecord, now)
    transactions.set(onRecord.number, isOrphan ? { ...transaction, orphaned: remaining } : transaction)
  }
  yield* SlotGaps.skip(state, counted)
  return state
})

/**
 * Counts transactions in blocks alone: one that waits in a pool may wait for ever, and the lane would wait behind it. While the chain
 * cannot be queried, payments that were never sent leave the lane.
 */
const countSlots = Effect.fnUntraced(function* (state: LaneState): Effect.fn.Return<bigint, Stopped> {
  const { address, lease, scheme, store } = state
  while (true) {
    const counted = yield* Effect.result(scheme.nextSlot(address, "included"))
    if (counted._tag === "Success") return counted.success
    const queued = yield* store.queued(lease.lane, LaneQueue.longestRead)
    const unsent = queued.filter((one) => !wasSent(one))
    yield* LaneQueue.putBack(state, unsent, counted.failure.message)
    yield* Effect.sleep(chainPause)
  }
})

const serveQueue = (
  state: LaneState,
  take: (queued: ReadonlyArray<StoredPayment>) => Effect.Effect<void, Stopped>
): Effect.Effect<never, Stopped> =>
  Effect.scoped(
    Effect.gen(function* () {
      const { backlog, lease, store, window } = state
      const clock = yield* Clock.Clock
      const signal = yield* store.signals.listen(lease.lane)
      yield* Effect.acquireRelease(
        Effect.sync(() => store.signals.subscribe(lease.lane, () => window?.arrived(clock.currentTimeMillisUnsafe()))),
        (stop) => Effect.sync(stop)
      )
      while (true) {
        const queued = yield* LaneQueue.next(state)
        if (queued.length > 0) yield* take(queued)
        else if (backlog.holdsBack) yield* Effect.sleep(heldPause)
        else yield* Effect.raceFirst(signal.next, Effect.sleep(queuePause))
      }
    })
  )

const watchFinality = Effect.fnUntraced(function* (
  state: LaneState,
  track: (transaction: TrackedTransaction, sentJustNow: boolean) => Effect.Effect<unknown>
): Effect.fn.Return<void, Stopped> {
  const memory = Finality.remember()
  while (true) {
    yield* Effect.sleep(finalityPause)
    yield* Effect.forEach(yield* Finality.round(state, memory), (transaction) => track(transaction, false), {
      discard: true
    })
    yield* Effect.forEach(yield* SlotGaps.heal(state), (transaction) => track(transaction, true), { discard: true })
  }
})
