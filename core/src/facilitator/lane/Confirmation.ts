/**
 * Tracks a lane transaction until its slot is used and the outcome of all its payments is known. A missing answer is never an end:
 * the same bytes are sent again. Bytes that offer too little are replaced in the same slot by bytes that offer more; once the
 * validity of all payments is over, a noop takes the slot; and if a foreign transaction has used it, the payments go back to the
 * queue.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

import type { ChainHead, SubmitResult } from "../../scheme/SchemeFacilitator.ts"
import * as Checkpoint from "../Checkpoint.ts"
import { marginSeconds } from "../OfferCheck.ts"
import type { StateChange } from "../store/PaymentStore.ts"
import { noteLate } from "./LanePlaces.ts"
import {
  isFirst,
  isTaken,
  type LaneState,
  notifyOfSlot,
  record,
  recordPayments,
  send,
  sendReplacement,
  type Stopped,
  turnOf
} from "./LaneState.ts"
import * as Replacement from "./Replacement.ts"
import * as SlotGaps from "./SlotGaps.ts"
import {
  type BatchedPayment,
  isDone,
  isEmpty,
  isOpen,
  isSlotOpen,
  isUnresolved,
  lastAttempt,
  type TrackedTransaction,
  validBefore
} from "./TrackedTransaction.ts"

/** Pauses between observations: short at first, since many chains include within milliseconds or a second. */
const firstPause = Duration.millis(8)
const longestPause = Duration.millis(500)
/** The latest first observation after sending, however long the last inclusion took; milliseconds. */
const latestFirstLook = 250
/** The pause between observations, and between repeated sends, of a transaction that is not first in its lane. */
const pauseBehind = Duration.seconds(5)
/** An unseen transaction is sent again after this number of observations. */
const looksBeforeResend = 10
/** Observations without a receipt, since the chain counted the slot as used, after which a foreign transaction has used it. */
const looksBeforeDisplaced = 12
/** Observations between two attempts to prove the end of payments whose validity is over. */
const looksBetweenConclusions = 4
/** Bytes at the head of the lane offer too little when they are pending for this number of blocks and this time. */
const patienceInBlocks = 3n
const patience = Duration.toMillis("6 seconds")
/** The pause while payments wait for a final block to prove that they are unused. */
const proofPause = Duration.seconds(2)
/** Payments of a displaced transaction that are concluded at once. */
const concurrency = 16

/** The memory between two observations. */
interface Progress {
  looks: number
  /** Observations since the chain counted the slot as used. */
  looksSinceUsed: number
  /** The last change of bytes; Unix milliseconds. */
  changedAt: number
  /** The node has called the bytes outdated. */
  outdated: boolean
}

/** Tracks until the transaction is resolved. Bytes that are on record and may not have been sent are sent first. */
export const track = Effect.fnUntraced(function* (
  state: LaneState,
  transaction: TrackedTransaction,
  sentJustNow: boolean
): Effect.fn.Return<void, Stopped> {
  const began = yield* Clock.currentTimeMillis
  const progress: Progress = { looks: 0, looksSinceUsed: 0, changedAt: began, outdated: false }
  const isNext = sentJustNow && isFirst(state, transaction)
  if (isNext) yield* beforeFirstLook(state)
  else yield* recordSent(state, transaction)
  if (!sentJustNow && isSlotOpen(transaction)) yield* resend(state, transaction, progress)
  let pause = firstPause
  while (true) {
    if (isSlotOpen(transaction) && state.address !== "" && !isFirst(state, transaction)) {
      yield* turnOf(state, transaction, pauseBehind)
      pause = firstPause
    }
    yield* observe(state, transaction)
    if (isNext && transaction.inclusion !== undefined) {
      state.lastInclusion.millis = (yield* Clock.currentTimeMillis) - began
    }
    yield* recordSent(state, transaction)
    if (!isUnresolved(transaction)) return
    progress.looks++
    if (isSlotOpen(transaction)) yield* repair(state, transaction, progress)
    const isProofDue = yield* waitsForProof(transaction)
    if (isProofDue || progress.looks % looksBetweenConclusions === 0) {
      yield* checkInclusion(state, transaction)
      yield* checkSlot(state, transaction)
      yield* endByTime(state, transaction)
    }
    if (!isUnresolved(transaction)) return
    yield* Effect.sleep(isProofDue ? proofPause : pause)
    pause = Duration.min(Duration.times(pause, 2), longestPause)
  }
})

/** An observation before half of the time that the last inclusion took would rarely show anything. */
const beforeFirstLook = ({ lastInclusion: { millis } }: LaneState): Effect.Effect<void> =>
  millis < Duration.toMillis(firstPause)
    ? Effect.void
    : Effect.sleep(Duration.max(firstPause, Duration.millis(Math.min(millis / 2, latestFirstLook))))

/** Observes once, and records every change. */
const observe = Effect.fnUntraced(function* (
  state: LaneState,
  transaction: TrackedTransaction
): Effect.fn.Return<void, Stopped> {
  const observation = yield* state.chain.observe(transaction)
  if (observation === undefined) return
  const isNew = observation.inclusion !== undefined && transaction.inclusion === undefined
  const seen = transaction.payments.flatMap((batched, index) =>
    isOpen(batched) ? state.chain.changesBy(batched, observation.observations[index]) : []
  )
  if (!isNew && seen.length === 0) return
  const changes = transaction.unrecorded ? [...markedSent(transaction), ...seen.map(fromSent)] : seen
  yield* Checkpoint.pass("observed")
  yield* record(state, transaction, {
    changes,
    ...(isNew && observation.inclusion && { inclusion: observation.inclusion })
  })
  transaction.unrecorded = false
  yield* Checkpoint.pass("included")
})

/** Records that a node has the bytes, unless the records say so. */
const recordSent = Effect.fnUntraced(function* (
  state: LaneState,
  transaction: TrackedTransaction
): Effect.fn.Return<void, Stopped> {
  if (!transaction.unrecorded) return
  yield* recordPayments(state, transaction, markedSent(transaction))
  transaction.unrecorded = false
  yield* Checkpoint.pass("marked-sent")
})

const markedSent = ({ payments, unreadable }: TrackedTransaction, note?: string): ReadonlyArray<StateChange> => {
  const change = { from: ["planned"], to: "sent", ...(note !== undefined && { note }) } as const
  return [...payments.map(({ stored }) => stored), ...unreadable]
    .filter(({ status }) => status === "planned")
    .map(({ paymentId }) => Object.assign({ paymentId }, change))
}

/** The change of a payment that is recorded as sent in the same step. */
const fromSent = (change: StateChange): StateChange => ({ ...change, from: ["sent"] })

/** A reorganisation may take the block back while payments are open: then the slot is open again. */
const checkInclusion = Effect.fnUntraced(function* (
  state: LaneState,
  transaction: TrackedTransaction
): Effect.fn.Return<void, Stopped> {
  if (transaction.inclusion === undefined) return
  if ((yield* state.chain.isCanonical(transaction.inclusion.block)) !== false) return
  const observation = yield* state.chain.observe(transaction)
  if (observation !== undefined) yield* record(state, transaction, { inclusion: observation.inclusion ?? null })
})

/**
 * The same of a foreign transaction while a payment that stayed in its slot is open: later ones wait for the slot, and `Finality` looks
 * at resolved transactions alone. A node that counts too few has the bytes sent once more, and shows the slot as used then.
 */
const checkSlot = Effect.fnUntraced(function* (
  state: LaneState,
  transaction: TrackedTransaction
): Effect.fn.Return<void> {
  const { displacedAt, inclusion, number } = transaction
  if (displacedAt === undefined || inclusion !== undefined || state.address === "") return
  const counted = yield* state.chain.nextSlot
  if (counted !== undefined && counted <= number) transaction.displacedAt = undefined
})

const repair = Effect.fnUntraced(function* (
  state: LaneState,
  transaction: TrackedTransaction,
  progress: Progress
): Effect.fn.Return<void, Stopped> {
  if (progress.looks % looksBeforeResend === 0 || !isFirst(state, transaction)) {
    yield* resend(state, transaction, progress)
  }
  if (progress.looksSinceUsed > 0 && state.address !== "") yield* checkDisplaced(state, transaction, progress)
  if (isSlotOpen(transaction) && state.address !== "" && isFirst(state, transaction)) {
    yield* replaceIfDue(state, transaction, progress)
  }
})

const resend = Effect.fnUntraced(function* (
  state: LaneState,
  transaction: TrackedTransaction,
  progress: Progress
): Effect.fn.Return<void, Stopped> {
  const result = yield* send(state, transaction)
  noteResult(progress, result)
  if (isTaken(result)) yield* recordPayments(state, transaction, markedSent(transaction, "sent again"))
})

const noteResult = (progress: Progress, { _tag }: SubmitResult): void => {
  progress.outdated = _tag === "Outdated"
  if (_tag === "SlotUsed") progress.looksSinceUsed = Math.max(progress.looksSinceUsed, 1)
}

/** The slot counts as used, and none of our bytes is shown: after a while a foreign transaction has used it. */
const checkDisplaced = Effect.fnUntraced(function* (
  state: LaneState,
  transaction: TrackedTransaction,
  progress: Progress
): Effect.fn.Return<void, Stopped> {
  if (progress.looksSinceUsed++ < looksBeforeDisplaced) return
  const counted = yield* state.chain.nextSlot
  progress.looksSinceUsed = 0
  if (counted === undefined || counted <= transaction.number) return
  const chainHead = yield* state.chain.head
  if (chainHead === undefined) return
  yield* SlotGaps.skip(state, counted)
  yield* giveUpSlot(state, transaction, chainHead.head.number)
})

/**
 * Payments with a proven end, and those whose validity is over, stay in their transaction; the others go back to the queue. The
 * transaction stays open until its slot is used for good (`Finality`): the foreign transaction may be taken back, or may have been
 * ours all the same.
 */
const giveUpSlot = Effect.fnUntraced(function* (
  state: LaneState,
  transaction: TrackedTransaction,
  head: bigint
): Effect.fn.Return<void, Stopped> {
  const now = yield* Clock.currentTimeMillis
  const open = transaction.payments.filter(isOpen)
  const ends = yield* Effect.forEach(open, (batched) => state.chain.conclusionOf(transaction, batched), { concurrency })
  const changes = open.flatMap((batched, index): ReadonlyArray<StateChange> => {
    const end = ends[index] ?? []
    return end.length === 0 ? backToQueue(batched, now) : end
  })
  const slot = `the slot ${transaction.number} of ${state.lease.lane}`
  yield* Effect.logWarning(`${slot} was used by a foreign transaction`)
  if (changes.length > 0) yield* record(state, transaction, { changes })
  transaction.displacedAt = head
  notifyOfSlot(state)
})

/** The change that makes a payment wait for another slot: none when its validity is nearly over. */
export const backToQueue = ({ stored }: BatchedPayment, now: number): ReadonlyArray<StateChange> =>
  stored.authorization.validBefore * 1000 > now + marginSeconds * 1000
    ? [
        {
          paymentId: stored.paymentId,
          from: [stored.status],
          to: "accepted",
          note: "its slot was used by a foreign transaction"
        }
      ]
    : []

/** Replaces the bytes at the head of the lane when they are outdated, offer too little, or serve no valid payment any more. */
const replaceIfDue = Effect.fnUntraced(function* (
  state: LaneState,
  transaction: TrackedTransaction,
  progress: Progress
): Effect.fn.Return<void, Stopped> {
  if (state.orphaned === true) return
  const now = yield* Clock.currentTimeMillis
  if (!progress.outdated && now - progress.changedAt < patience) return
  const chainHead = yield* state.chain.head
  if (chainHead === undefined) return
  const { head } = chainHead
  const isOver = head.time >= validBefore(transaction) && !transaction.cancelled && !isEmpty(transaction)
  // New bytes would lack a payment that cannot be read: until it is over, the old bytes are sent.
  if (transaction.unreadable.length > 0 && !isOver && !transaction.cancelled) return
  const isLate = progress.outdated || head.number - lastAttempt(transaction).head >= patienceInBlocks
  if (!isOver && !isLate) return
  progress.changedAt = now
  // Bytes that cannot be replaced now are looked at again when they are sent again.
  progress.outdated = false
  const most = isOver || isNoop(transaction) ? undefined : yield* Replacement.mostFor(state, transaction)
  const priced = Replacement.replacing(transaction, chainHead, most)
  if (priced === undefined) return
  if (isOver) transaction.cancelled = true
  yield* signReplacement(state, transaction, priced, progress)
})

/** Whether its new bytes only use its number up: no payment of it needs others. */
const isNoop = ({ cancelled, payments, unreadable }: TrackedTransaction): boolean =>
  cancelled || (unreadable.length === 0 && payments.every(isDone))

const signReplacement = Effect.fnUntraced(function* (
  state: LaneState,
  transaction: TrackedTransaction,
  chainHead: ChainHead,
  progress: Progress
): Effect.fn.Return<void, Stopped> {
  const { address, lease, scheme } = state
  const { noop } = scheme
  const slot = { lane: address, number: transaction.number }
  const payments = transaction.payments.map(({ payment }) => payment)
  const preparing = isNoop(transaction)
    ? Effect.map(noop(slot, chainHead), (prepared) => ({ prepared, count: payments.length }))
    : scheme.prepare(payments, slot, chainHead, undefined, transaction.attempts[0])
  const subject = `the transaction ${transaction.number} of ${lease.lane}`
  const preparation = yield* Effect.catch(preparing, (error) =>
    Effect.as(Effect.logWarning(`${subject} could not be signed again`, error), undefined)
  )
  if (preparation === undefined) return
  if (preparation.count !== payments.length) {
    return yield* Effect.logWarning(
      `${subject} could be signed again with only ${preparation.count} of its ${payments.length} payments`
    )
  }
  const { prepared } = preparation
  const allowance = isNoop(transaction) ? undefined : yield* Replacement.allowanceFor(state, transaction, prepared.cost)
  const result = yield* sendReplacement(state, transaction, prepared, allowance)
  if (result !== undefined) noteResult(progress, result)
})

/** Seconds between the end of a validity and the query for its proven end. */
const conclusionDelay = 2

/** Whether the slot is used and the validity of all payments is over: only a final block is waited for. */
const waitsForProof = (transaction: TrackedTransaction): Effect.Effect<boolean> =>
  Effect.map(
    Clock.currentTimeMillis,
    (now) => transaction.inclusion !== undefined && (validBefore(transaction) + conclusionDelay) * 1000 <= now
  )

/** Ends payments by proof once their validity is over. */
const endByTime = Effect.fnUntraced(function* (
  state: LaneState,
  transaction: TrackedTransaction
): Effect.fn.Return<void, Stopped> {
  const now = yield* Clock.currentTimeMillis
  const late = transaction.payments.filter(
    (batched) => isOpen(batched) && (batched.payment.authorization.validBefore + conclusionDelay) * 1000 <= now
  )
  if (late.length === 0) return
  const ends = yield* Effect.forEach(late, (batched) => state.chain.conclusionOf(transaction, batched))
  const changes = ends.flat()
  if (changes.length === 0) return
  yield* record(state, transaction, { changes })
  noteLate(
    state,
    late.map(({ stored }) => stored),
    now
  )
})
