/**
 * Watches a flight until its slot is used and the outcome of every payment in it is known. No answer is never an end. What
 * was sent is sent again as it is; bytes that offer too little are replaced by dearer ones in the same slot; a flight whose
 * payments' validity is over gives its slot up to a transaction that does nothing; and a slot that a stranger has used
 * sends its payments back to the queue.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

import { refuse } from "../../protocol/PaymentError.ts"
import type { ChainUnavailable } from "../../protocol/ProtocolError.ts"
import { isSettled } from "../../protocol/Settlement.ts"
import { invalid } from "../../protocol/ValidationError.ts"
import type {
  Conclusion,
  PaymentObservation,
  ObservedPayment,
  TransactionObservation,
  SubmitResult,
  ChainHead
} from "../../scheme/SchemeFacilitator.ts"
import * as Checkpoint from "../Checkpoint.ts"
import { marginSeconds } from "../OfferCheck.ts"
import type { Advance } from "../store/PaymentStore.ts"
import {
  enter,
  enterPayments,
  isFirst,
  isTaken,
  type LaneState,
  noteLate,
  send,
  sendInstead,
  type Stopped,
  tellOfSlot,
  turnOf
} from "./LaneState.ts"
import * as Replacement from "./Replacement.ts"
import * as SlotGaps from "./SlotGaps.ts"
import {
  type TrackedTransaction,
  isEmpty,
  isInTheAir,
  isOpen,
  isUnderWay,
  lastAttempt,
  passengerOf,
  type BatchedPayment,
  validBefore
} from "./TrackedTransaction.ts"

/** Between looks at the chain: quick at first, since many chains include within milliseconds or a second. */
const firstPause = Duration.millis(8)
const longestPause = Duration.millis(500)
/** However long the last one took to land, the next one is looked for after so many milliseconds. */
const latestFirstLook = 250
/** What is not next to land is looked for, and sent again, so seldom. */
const patienceBehind = Duration.seconds(5)
/** A transaction that is nowhere to be seen is sent again after so many looks. */
const looksBeforeResend = 10
/** So many looks without a receipt, once the chain counts the slot as used, show that a stranger has used it. */
const looksBeforeLost = 12
/** The last word on a payment whose validity is over is asked for after so many looks again. */
const looksBetweenConclusions = 4
/** Blocks that may pass before bytes at the head of the lane are taken to offer too little. */
const patienceInBlocks = 3n
/** Between looks at payments that wait for a final block to prove that nothing became of them. */
const proofPause = Duration.seconds(2)
/** How many payments are asked for at once. */
const concurrency = 16
/** How long they wait at least: blocks may be quick. */
const patience = Duration.toMillis("6 seconds")

/** What a watch remembers between looks. */
interface Watch {
  looks: number
  /** Looks since the chain counted the slot as used. */
  looksSinceUsed: number
  /** When bytes were last changed, and the chain's head then. */
  changedAt: number
  /** The node has said that the bytes are no good as they are. */
  outdated: boolean
}

/**
 * Watches until nothing of the flight is under way. Bytes that were written down and may not have been sent are sent first.
 */
export const follow = Effect.fnUntraced(function* (
  work: LaneState,
  aboard: TrackedTransaction,
  sentJustNow: boolean
): Effect.fn.Return<void, Stopped> {
  const began = yield* Clock.currentTimeMillis
  const watch: Watch = { looks: 0, looksSinceUsed: 0, changedAt: began, outdated: false }
  const isNext = sentJustNow && isFirst(work, aboard)
  if (isNext) yield* bide(work)
  else yield* mark(work, aboard)
  if (!sentJustNow && isInTheAir(aboard)) yield* resend(work, aboard, watch)
  let pause = firstPause
  while (true) {
    if (isInTheAir(aboard) && work.address !== "" && !isFirst(work, aboard)) {
      yield* turnOf(work, aboard, patienceBehind)
      pause = firstPause
    }
    yield* look(work, aboard)
    if (isNext && aboard.inclusion !== undefined) work.landingMillis = (yield* Clock.currentTimeMillis) - began
    yield* mark(work, aboard)
    if (!isUnderWay(aboard)) return
    watch.looks++
    if (isInTheAir(aboard)) yield* mend(work, aboard, watch)
    const isProofDue = yield* waitsForProof(aboard)
    if (isProofDue || watch.looks % looksBetweenConclusions === 0) {
      yield* checkLanding(work, aboard)
      yield* endByTime(work, aboard)
    }
    if (!isUnderWay(aboard)) return
    yield* Effect.sleep(isProofDue ? proofPause : pause)
    pause = Duration.min(Duration.times(pause, 2), longestPause)
  }
})

/** Chains have their pace: before half of the time that the last one took, a look would hardly show anything. */
const bide = ({ landingMillis }: LaneState): Effect.Effect<void> =>
  landingMillis < Duration.toMillis(firstPause)
    ? Effect.void
    : Effect.sleep(Duration.max(firstPause, Duration.millis(Math.min(landingMillis / 2, latestFirstLook))))

/** Looks once, and writes down what is to be seen. A chain that cannot be asked shows nothing. */
export const look = Effect.fnUntraced(function* (
  work: LaneState,
  aboard: TrackedTransaction
): Effect.fn.Return<void, Stopped> {
  const observation = yield* sight(work, aboard)
  if (observation === undefined) return
  const news = observation.inclusion !== undefined && aboard.inclusion === undefined
  const seen = aboard.travellers.flatMap((traveller, index) =>
    isOpen(traveller) ? advancesOf(work, traveller, observation.observations[index]) : []
  )
  if (!news && seen.length === 0) return
  const advances = aboard.unmarked ? [...markedSent(aboard), ...seen.map(fromSent)] : seen
  yield* Checkpoint.pass("observed")
  yield* enter(work, aboard, { advances, ...(news && observation.inclusion && { inclusion: observation.inclusion }) })
  aboard.unmarked = false
  yield* Checkpoint.pass("landed")
})

/** Writes down that a node has the bytes, if that is not written yet. */
const mark = Effect.fnUntraced(function* (
  work: LaneState,
  aboard: TrackedTransaction
): Effect.fn.Return<void, Stopped> {
  if (!aboard.unmarked) return
  yield* enterSent(work, aboard)
  aboard.unmarked = false
  yield* Checkpoint.pass("marked-sent")
})

const enterSent = (work: LaneState, aboard: TrackedTransaction, note?: string): Effect.Effect<void, Stopped> =>
  enterPayments(work, aboard, markedSent(aboard, note))

const markedSent = ({ opaque, travellers }: TrackedTransaction, note?: string): ReadonlyArray<Advance> => {
  const change = { from: ["planned"], to: "sent", ...(note !== undefined && { note }) } as const
  return [...travellers.map(({ stored }) => stored), ...opaque]
    .filter(({ status }) => status === "planned")
    .map(({ paymentId }) => Object.assign({ paymentId }, change))
}

/** The change of a payment that is marked as sent in the same step. */
const fromSent = (change: Advance): Advance => ({ ...change, from: ["sent"] })

/** What the chain shows of a flight; `undefined` when it cannot be asked. */
export const sight = (
  { half, startedAt }: LaneState,
  aboard: TrackedTransaction
): Effect.Effect<TransactionObservation | undefined> =>
  Effect.catch(
    half.observe(
      aboard.travellers.map((traveller) => passengerOf(traveller, headOf(aboard), startedAt)),
      aboard.attempts
    ),
    (error) => Effect.as(Effect.logDebug("the chain could not be asked for a flight", error), undefined)
  )

const headOf = ({ attempts }: TrackedTransaction): bigint => attempts[0]?.head ?? 0n

/**
 * The change that an observation makes of a payment: none while it is pending. An unbound payment that somebody else has
 * sent is settled and opens nothing here: its bytes may have bought something at another facilitator, which counts the same
 * transfer. A bound one is its payer's alone, by the salt. For which nothing was prepared here, nobody here has sent it.
 */
export const advancesOf = (
  work: LaneState,
  { payment, stored: { history, paymentId, since, status } }: BatchedPayment,
  seen: PaymentObservation | undefined
): ReadonlyArray<Advance> => {
  if (seen === undefined || seen._tag === "Pending") return []
  const { transaction } = seen
  if (seen._tag === "Failed") return [{ paymentId, from: [status], to: "failed", transaction, refusal: seen.error }]
  const isOthers = (seen.external || since === undefined) && !isOfThisLane(work, transaction)
  const note = `block ${seen.block.number}${isOthers ? ", sent by another" : ""}`
  // What was granted while the payment was settled by us stays so, whichever transaction a reorganisation puts first.
  const wasSettled = history.some((one) => isSettled(one.status))
  const opensNothing = isOthers && payment.authorization.binding === undefined && !wasSettled
  const refusal = opensNothing ? sentByAnother(transaction) : undefined
  return [
    { paymentId, from: [status], to: "included", transaction, block: seen.block, note, ...(refusal && { refusal }) }
  ]
}

/** A payment that was sent stays in its lane: where another flight of the lane has made its transfer, it was ours. */
const isOfThisLane = ({ flights }: LaneState, transaction: string): boolean =>
  [...flights.values()].some(({ attempts }) => attempts.some((attempt) => attempt.transaction === transaction))

const sentByAnother = (transaction: string) =>
  invalid(
    "already_used",
    transaction,
    `the payee has the money, but somebody else has sent the transfer (${transaction}); a payment that is not bound to its request opens nothing then`
  )

/** The block of a landing may be taken back while payments of the flight are still open: then its slot is open again. */
const checkLanding = Effect.fnUntraced(function* (
  work: LaneState,
  aboard: TrackedTransaction
): Effect.fn.Return<void, Stopped> {
  if (aboard.inclusion === undefined) return
  const isThere = yield* Effect.catch(work.half.isCanonical(aboard.inclusion.block), () => Effect.undefined)
  if (isThere !== false) return
  const observation = yield* sight(work, aboard)
  if (observation !== undefined) yield* enter(work, aboard, { inclusion: observation.inclusion ?? null })
})

const mend = Effect.fnUntraced(function* (
  work: LaneState,
  aboard: TrackedTransaction,
  watch: Watch
): Effect.fn.Return<void, Stopped> {
  if (watch.looks % looksBeforeResend === 0 || !isFirst(work, aboard)) yield* resend(work, aboard, watch)
  if (watch.looksSinceUsed > 0 && work.address !== "") yield* checkLost(work, aboard, watch)
  if (isInTheAir(aboard) && work.address !== "" && isFirst(work, aboard)) yield* renew(work, aboard, watch)
})

const resend = Effect.fnUntraced(function* (
  work: LaneState,
  aboard: TrackedTransaction,
  watch: Watch
): Effect.fn.Return<void, Stopped> {
  const submission = yield* send(work, aboard)
  yield* hear(watch, submission)
  if (isTaken(submission)) yield* enterSent(work, aboard, "sent again")
})

const hear = (watch: Watch, { _tag }: SubmitResult): Effect.Effect<void> =>
  Effect.sync(() => {
    watch.outdated = _tag === "Outdated"
    if (_tag === "SlotUsed") watch.looksSinceUsed = Math.max(watch.looksSinceUsed, 1)
  })

/** The slot counts as used, and none of our transactions is to be seen: after a while it was a stranger's. */
const checkLost = Effect.fnUntraced(function* (
  work: LaneState,
  aboard: TrackedTransaction,
  watch: Watch
): Effect.fn.Return<void, Stopped> {
  if (watch.looksSinceUsed++ < looksBeforeLost) return
  const counted = yield* Effect.catch(work.half.nextSlot(work.address, "included"), () => Effect.undefined)
  watch.looksSinceUsed = 0
  if (counted === undefined || counted <= aboard.number) return
  const chainHead = yield* Effect.catch(work.half.chainHead, () => Effect.undefined)
  if (chainHead === undefined) return
  yield* SlotGaps.skip(work, counted)
  yield* lose(work, aboard, chainHead.head.number)
})

/**
 * Payments whose end is to be seen keep their flight, like those whose validity is over; the others go back to the queue.
 * The flight stays open until its slot is used for good (`Finality`): the stranger's transaction may be taken back, or
 * have been ours all the same.
 */
const lose = Effect.fnUntraced(function* (
  work: LaneState,
  aboard: TrackedTransaction,
  head: bigint
): Effect.fn.Return<void, Stopped> {
  const now = yield* Clock.currentTimeMillis
  const open = aboard.travellers.filter(isOpen)
  const ends = yield* Effect.forEach(open, (traveller) => concluded(work, aboard, traveller), { concurrency })
  const advances = open.flatMap((traveller, index): ReadonlyArray<Advance> => {
    const end = ends[index] ?? []
    return end.length === 0 ? backToQueue(traveller, now) : end
  })
  yield* Effect.logWarning(`the slot ${aboard.number} of ${work.lease.lane} was used by a transaction that is not ours`)
  if (advances.length > 0) yield* enter(work, aboard, { advances })
  aboard.lostAt = head
  tellOfSlot(work)
})

/** The change that has a payment wait for another slot: none when its validity is as good as over. */
export const backToQueue = ({ stored }: BatchedPayment, now: number): ReadonlyArray<Advance> =>
  stored.authorization.validBefore * 1000 > now + marginSeconds * 1000
    ? [{ paymentId: stored.paymentId, from: [stored.status], to: "accepted", note: slotLost }]
    : []

const slotLost = "its slot was used by a foreign transaction"

/** Changes the bytes at the head of the lane when they are no good any more. */
const renew = Effect.fnUntraced(function* (
  work: LaneState,
  aboard: TrackedTransaction,
  watch: Watch
): Effect.fn.Return<void, Stopped> {
  if (work.orphaned === true) return
  const now = yield* Clock.currentTimeMillis
  const waited = now - watch.changedAt >= patience
  if (!watch.outdated && !waited) return
  const chainHead = yield* Effect.catch(work.half.chainHead, () => Effect.undefined)
  if (chainHead === undefined) return
  const { head } = chainHead
  const isOver = head.time >= validBefore(aboard) && !aboard.cancelled && !isEmpty(aboard)
  // What cannot be read can be left out of new bytes unseen: until it is over the old ones are sent.
  if (aboard.opaque.length > 0 && !isOver && !aboard.cancelled) return
  const isLate = watch.outdated || head.number - lastAttempt(aboard).head >= patienceInBlocks
  if (!isOver && !isLate) return
  watch.changedAt = now
  const most = isOver || carriesNothing(aboard) ? undefined : yield* Replacement.mostFor(work, aboard)
  const dearer = Replacement.dearerThan(aboard, chainHead, most)
  if (dearer === undefined) return
  yield* isOver ? cancel(work, aboard, dearer, watch) : bump(work, aboard, dearer, watch)
})

/** Then its bytes do nothing but free their number. */
const carriesNothing = (aboard: TrackedTransaction): boolean => isEmpty(aboard) || aboard.cancelled

const bump = Effect.fnUntraced(function* (
  work: LaneState,
  aboard: TrackedTransaction,
  chainHead: ChainHead,
  watch: Watch
): Effect.fn.Return<void, Stopped> {
  const { address, half } = work
  const { noop } = half
  const slot = { lane: address, number: aboard.number }
  const payments = aboard.travellers.map(({ payment }) => payment)
  const preparing = carriesNothing(aboard)
    ? Effect.map(noop(slot, chainHead), (prepared) => ({ prepared, count: payments.length }))
    : half.prepare(payments, slot, chainHead, undefined, aboard.attempts[0])
  const preparation = yield* Effect.catch(preparing, (error) =>
    Effect.as(
      Effect.logWarning(`the flight ${aboard.number} of ${work.lease.lane} could not be signed again`, error),
      undefined
    )
  )
  if (preparation === undefined) return
  if (preparation.count !== payments.length) {
    const some = `only ${preparation.count} of its ${payments.length} payments`
    return yield* Effect.logWarning(
      `the flight ${aboard.number} of ${work.lease.lane} could be signed again with ${some}`
    )
  }
  const { prepared } = preparation
  const allowance = carriesNothing(aboard) ? undefined : yield* Replacement.allowanceFor(work, aboard, prepared.cost)
  const submission = yield* sendInstead(work, aboard, prepared, allowance)
  if (submission !== undefined) yield* hear(watch, submission)
})

const cancel = (
  work: LaneState,
  aboard: TrackedTransaction,
  chainHead: ChainHead,
  watch: Watch
): Effect.Effect<void, Stopped> =>
  Effect.suspend(() => {
    aboard.cancelled = true
    return bump(work, aboard, chainHead, watch)
  })

/** How long after the validity the chain is asked for its last word, in seconds. */
const conclusionDelay = 2

/** The slot is used and the validity of all is over: nothing but a final block is waited for. */
const waitsForProof = (aboard: TrackedTransaction): Effect.Effect<boolean> =>
  Effect.map(
    Clock.currentTimeMillis,
    (now) => aboard.inclusion !== undefined && (validBefore(aboard) + conclusionDelay) * 1000 <= now
  )

/** Payments whose validity is over end by proof. */
const endByTime = Effect.fnUntraced(function* (
  work: LaneState,
  aboard: TrackedTransaction
): Effect.fn.Return<void, Stopped> {
  const now = yield* Clock.currentTimeMillis
  const late = aboard.travellers.filter(
    (traveller) => isOpen(traveller) && (traveller.payment.authorization.validBefore + conclusionDelay) * 1000 <= now
  )
  if (late.length === 0) return
  const advances = yield* Effect.forEach(late, (traveller) => concluded(work, aboard, traveller))
  const all = advances.flat()
  if (all.length === 0) return
  yield* enter(work, aboard, { advances: all })
  noteLate(
    work,
    late.map(({ stored }) => stored),
    now
  )
})

/** What is proven of a payment whose validity is over, as the change that it makes. */
export const concluded = (
  work: LaneState,
  aboard: TrackedTransaction | undefined,
  traveller: BatchedPayment
): Effect.Effect<ReadonlyArray<Advance>> =>
  Effect.matchEffect(conclusionOf(work, aboard, traveller), {
    onFailure: (error) => Effect.as(Effect.logDebug("the chain could not be asked for a payment's end", error), []),
    onSuccess: (conclusion) =>
      Effect.succeed(
        conclusion._tag === "Unused" ? [unused(traveller, conclusion)] : advancesOf(work, traveller, conclusion)
      )
  })

/** What the chain shows of a payment by itself, whichever transaction has moved its money. */
export const conclusionOf = (
  work: LaneState,
  aboard: TrackedTransaction | undefined,
  traveller: BatchedPayment
): Effect.Effect<Conclusion, ChainUnavailable> =>
  Effect.flatMap(passengerIn(work, aboard, traveller), (one) => work.half.conclude(one))

/** For a payment that no transaction was prepared for, no block counts by its number: all that there are were there before. */
const passengerIn = (
  { half, startedAt }: LaneState,
  aboard: TrackedTransaction | undefined,
  traveller: BatchedPayment
): Effect.Effect<ObservedPayment, ChainUnavailable> =>
  aboard === undefined && traveller.stored.since === undefined
    ? Effect.map(half.chainHead, ({ head }) => passengerOf(traveller, head.number, startedAt))
    : Effect.succeed(passengerOf(traveller, aboard === undefined ? 0n : headOf(aboard), startedAt))

const expired = refuse(
  "EXPIRED_PAYMENT",
  "unused",
  "the authorization's validity ended before it was used on the chain; no money has moved, sign a new one"
)

/** What our transaction came to is said where it is known; else that nothing has used it. */
const unused = (
  { stored: { paymentId, status } }: BatchedPayment,
  { at, reason }: Extract<Conclusion, { readonly _tag: "Unused" }>
): Advance => ({
  paymentId,
  from: [status],
  to: reason === undefined ? "expired" : "failed",
  refusal: reason ?? expired,
  note: `unused at block ${at.number}, which is final`
})
