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
import type { StateChange } from "../store/PaymentStore.ts"
import {
  record,
  recordPayments,
  isFirst,
  isTaken,
  type LaneState,
  noteLate,
  send,
  sendReplacement,
  type Stopped,
  notifyOfSlot,
  turnOf
} from "./LaneState.ts"
import * as Replacement from "./Replacement.ts"
import * as SlotGaps from "./SlotGaps.ts"
import {
  type TrackedTransaction,
  isEmpty,
  isPending,
  isOpen,
  isUnresolved,
  lastAttempt,
  observedPaymentOf,
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
export const track = Effect.fnUntraced(function* (
  state: LaneState,
  transaction: TrackedTransaction,
  sentJustNow: boolean
): Effect.fn.Return<void, Stopped> {
  const began = yield* Clock.currentTimeMillis
  const watch: Watch = { looks: 0, looksSinceUsed: 0, changedAt: began, outdated: false }
  const isNext = sentJustNow && isFirst(state, transaction)
  if (isNext) yield* bide(state)
  else yield* mark(state, transaction)
  if (!sentJustNow && isPending(transaction)) yield* resend(state, transaction, watch)
  let pause = firstPause
  while (true) {
    if (isPending(transaction) && state.address !== "" && !isFirst(state, transaction)) {
      yield* turnOf(state, transaction, patienceBehind)
      pause = firstPause
    }
    yield* look(state, transaction)
    if (isNext && transaction.inclusion !== undefined) state.landingMillis = (yield* Clock.currentTimeMillis) - began
    yield* mark(state, transaction)
    if (!isUnresolved(transaction)) return
    watch.looks++
    if (isPending(transaction)) yield* mend(state, transaction, watch)
    const isProofDue = yield* waitsForProof(transaction)
    if (isProofDue || watch.looks % looksBetweenConclusions === 0) {
      yield* checkLanding(state, transaction)
      yield* endByTime(state, transaction)
    }
    if (!isUnresolved(transaction)) return
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
  state: LaneState,
  transaction: TrackedTransaction
): Effect.fn.Return<void, Stopped> {
  const observation = yield* sight(state, transaction)
  if (observation === undefined) return
  const update = observation.inclusion !== undefined && transaction.inclusion === undefined
  const seen = transaction.payments.flatMap((batched, index) =>
    isOpen(batched) ? advancesOf(state, batched, observation.observations[index]) : []
  )
  if (!update && seen.length === 0) return
  const advances = transaction.unrecorded ? [...markedSent(transaction), ...seen.map(fromSent)] : seen
  yield* Checkpoint.pass("observed")
  yield* record(state, transaction, {
    advances,
    ...(update && observation.inclusion && { inclusion: observation.inclusion })
  })
  transaction.unrecorded = false
  yield* Checkpoint.pass("landed")
})

/** Writes down that a node has the bytes, if that is not written yet. */
const mark = Effect.fnUntraced(function* (
  state: LaneState,
  transaction: TrackedTransaction
): Effect.fn.Return<void, Stopped> {
  if (!transaction.unrecorded) return
  yield* enterSent(state, transaction)
  transaction.unrecorded = false
  yield* Checkpoint.pass("marked-sent")
})

const enterSent = (state: LaneState, transaction: TrackedTransaction, note?: string): Effect.Effect<void, Stopped> =>
  recordPayments(state, transaction, markedSent(transaction, note))

const markedSent = ({ unreadable, payments }: TrackedTransaction, note?: string): ReadonlyArray<StateChange> => {
  const change = { from: ["planned"], to: "sent", ...(note !== undefined && { note }) } as const
  return [...payments.map(({ stored }) => stored), ...unreadable]
    .filter(({ status }) => status === "planned")
    .map(({ paymentId }) => Object.assign({ paymentId }, change))
}

/** The change of a payment that is marked as sent in the same step. */
const fromSent = (change: StateChange): StateChange => ({ ...change, from: ["sent"] })

/** What the chain shows of a flight; `undefined` when it cannot be asked. */
export const sight = (
  { scheme, startedAt }: LaneState,
  transaction: TrackedTransaction
): Effect.Effect<TransactionObservation | undefined> =>
  Effect.catch(
    scheme.observe(
      transaction.payments.map((batched) => observedPaymentOf(batched, headOf(transaction), startedAt)),
      transaction.attempts
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
  state: LaneState,
  { payment, stored: { history, paymentId, since, status } }: BatchedPayment,
  seen: PaymentObservation | undefined
): ReadonlyArray<StateChange> => {
  if (seen === undefined || seen._tag === "Pending") return []
  const { transaction } = seen
  if (seen._tag === "Failed") return [{ paymentId, from: [status], to: "failed", transaction, refusal: seen.error }]
  const isOthers = (seen.external || since === undefined) && !isOfThisLane(state, transaction)
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
const isOfThisLane = ({ transactions }: LaneState, transaction: string): boolean =>
  [...transactions.values()].some(({ attempts }) => attempts.some((attempt) => attempt.transaction === transaction))

const sentByAnother = (transaction: string) =>
  invalid(
    "already_used",
    transaction,
    `the payee has the money, but somebody else has sent the transfer (${transaction}); a payment that is not bound to its request opens nothing then`
  )

/** The block of a landing may be taken back while payments of the flight are still open: then its slot is open again. */
const checkLanding = Effect.fnUntraced(function* (
  state: LaneState,
  transaction: TrackedTransaction
): Effect.fn.Return<void, Stopped> {
  if (transaction.inclusion === undefined) return
  const isThere = yield* Effect.catch(state.scheme.isCanonical(transaction.inclusion.block), () => Effect.undefined)
  if (isThere !== false) return
  const observation = yield* sight(state, transaction)
  if (observation !== undefined) yield* record(state, transaction, { inclusion: observation.inclusion ?? null })
})

const mend = Effect.fnUntraced(function* (
  state: LaneState,
  transaction: TrackedTransaction,
  watch: Watch
): Effect.fn.Return<void, Stopped> {
  if (watch.looks % looksBeforeResend === 0 || !isFirst(state, transaction)) yield* resend(state, transaction, watch)
  if (watch.looksSinceUsed > 0 && state.address !== "") yield* checkLost(state, transaction, watch)
  if (isPending(transaction) && state.address !== "" && isFirst(state, transaction))
    yield* renew(state, transaction, watch)
})

const resend = Effect.fnUntraced(function* (
  state: LaneState,
  transaction: TrackedTransaction,
  watch: Watch
): Effect.fn.Return<void, Stopped> {
  const submission = yield* send(state, transaction)
  yield* hear(watch, submission)
  if (isTaken(submission)) yield* enterSent(state, transaction, "sent again")
})

const hear = (watch: Watch, { _tag }: SubmitResult): Effect.Effect<void> =>
  Effect.sync(() => {
    watch.outdated = _tag === "Outdated"
    if (_tag === "SlotUsed") watch.looksSinceUsed = Math.max(watch.looksSinceUsed, 1)
  })

/** The slot counts as used, and none of our transactions is to be seen: after a while it was a stranger's. */
const checkLost = Effect.fnUntraced(function* (
  state: LaneState,
  transaction: TrackedTransaction,
  watch: Watch
): Effect.fn.Return<void, Stopped> {
  if (watch.looksSinceUsed++ < looksBeforeLost) return
  const counted = yield* Effect.catch(state.scheme.nextSlot(state.address, "included"), () => Effect.undefined)
  watch.looksSinceUsed = 0
  if (counted === undefined || counted <= transaction.number) return
  const chainHead = yield* Effect.catch(state.scheme.chainHead, () => Effect.undefined)
  if (chainHead === undefined) return
  yield* SlotGaps.skip(state, counted)
  yield* lose(state, transaction, chainHead.head.number)
})

/**
 * Payments whose end is to be seen keep their flight, like those whose validity is over; the others go back to the queue.
 * The flight stays open until its slot is used for good (`Finality`): the stranger's transaction may be taken back, or
 * have been ours all the same.
 */
const lose = Effect.fnUntraced(function* (
  state: LaneState,
  transaction: TrackedTransaction,
  head: bigint
): Effect.fn.Return<void, Stopped> {
  const now = yield* Clock.currentTimeMillis
  const open = transaction.payments.filter(isOpen)
  const ends = yield* Effect.forEach(open, (batched) => concluded(state, transaction, batched), { concurrency })
  const advances = open.flatMap((batched, index): ReadonlyArray<StateChange> => {
    const end = ends[index] ?? []
    return end.length === 0 ? backToQueue(batched, now) : end
  })
  yield* Effect.logWarning(
    `the slot ${transaction.number} of ${state.lease.lane} was used by a transaction that is not ours`
  )
  if (advances.length > 0) yield* record(state, transaction, { advances })
  transaction.replacedAt = head
  notifyOfSlot(state)
})

/** The change that has a payment wait for another slot: none when its validity is as good as over. */
export const backToQueue = ({ stored }: BatchedPayment, now: number): ReadonlyArray<StateChange> =>
  stored.authorization.validBefore * 1000 > now + marginSeconds * 1000
    ? [{ paymentId: stored.paymentId, from: [stored.status], to: "accepted", note: slotLost }]
    : []

const slotLost = "its slot was used by a foreign transaction"

/** Changes the bytes at the head of the lane when they are no good any more. */
const renew = Effect.fnUntraced(function* (
  state: LaneState,
  transaction: TrackedTransaction,
  watch: Watch
): Effect.fn.Return<void, Stopped> {
  if (state.orphaned === true) return
  const now = yield* Clock.currentTimeMillis
  const waited = now - watch.changedAt >= patience
  if (!watch.outdated && !waited) return
  const chainHead = yield* Effect.catch(state.scheme.chainHead, () => Effect.undefined)
  if (chainHead === undefined) return
  const { head } = chainHead
  const isOver = head.time >= validBefore(transaction) && !transaction.cancelled && !isEmpty(transaction)
  // What cannot be read can be left out of new bytes unseen: until it is over the old ones are sent.
  if (transaction.unreadable.length > 0 && !isOver && !transaction.cancelled) return
  const isLate = watch.outdated || head.number - lastAttempt(transaction).head >= patienceInBlocks
  if (!isOver && !isLate) return
  watch.changedAt = now
  const most = isOver || carriesNothing(transaction) ? undefined : yield* Replacement.mostFor(state, transaction)
  const dearer = Replacement.dearerThan(transaction, chainHead, most)
  if (dearer === undefined) return
  yield* isOver ? cancel(state, transaction, dearer, watch) : bump(state, transaction, dearer, watch)
})

/** Then its bytes do nothing but free their number. */
const carriesNothing = (transaction: TrackedTransaction): boolean => isEmpty(transaction) || transaction.cancelled

const bump = Effect.fnUntraced(function* (
  state: LaneState,
  transaction: TrackedTransaction,
  chainHead: ChainHead,
  watch: Watch
): Effect.fn.Return<void, Stopped> {
  const { address, scheme } = state
  const { noop } = scheme
  const slot = { lane: address, number: transaction.number }
  const payments = transaction.payments.map(({ payment }) => payment)
  const preparing = carriesNothing(transaction)
    ? Effect.map(noop(slot, chainHead), (prepared) => ({ prepared, count: payments.length }))
    : scheme.prepare(payments, slot, chainHead, undefined, transaction.attempts[0])
  const preparation = yield* Effect.catch(preparing, (error) =>
    Effect.as(
      Effect.logWarning(`the flight ${transaction.number} of ${state.lease.lane} could not be signed again`, error),
      undefined
    )
  )
  if (preparation === undefined) return
  if (preparation.count !== payments.length) {
    const some = `only ${preparation.count} of its ${payments.length} payments`
    return yield* Effect.logWarning(
      `the flight ${transaction.number} of ${state.lease.lane} could be signed again with ${some}`
    )
  }
  const { prepared } = preparation
  const allowance = carriesNothing(transaction)
    ? undefined
    : yield* Replacement.allowanceFor(state, transaction, prepared.cost)
  const submission = yield* sendReplacement(state, transaction, prepared, allowance)
  if (submission !== undefined) yield* hear(watch, submission)
})

const cancel = (
  state: LaneState,
  transaction: TrackedTransaction,
  chainHead: ChainHead,
  watch: Watch
): Effect.Effect<void, Stopped> =>
  Effect.suspend(() => {
    transaction.cancelled = true
    return bump(state, transaction, chainHead, watch)
  })

/** How long after the validity the chain is asked for its last word, in seconds. */
const conclusionDelay = 2

/** The slot is used and the validity of all is over: nothing but a final block is waited for. */
const waitsForProof = (transaction: TrackedTransaction): Effect.Effect<boolean> =>
  Effect.map(
    Clock.currentTimeMillis,
    (now) => transaction.inclusion !== undefined && (validBefore(transaction) + conclusionDelay) * 1000 <= now
  )

/** Payments whose validity is over end by proof. */
const endByTime = Effect.fnUntraced(function* (
  state: LaneState,
  transaction: TrackedTransaction
): Effect.fn.Return<void, Stopped> {
  const now = yield* Clock.currentTimeMillis
  const late = transaction.payments.filter(
    (batched) => isOpen(batched) && (batched.payment.authorization.validBefore + conclusionDelay) * 1000 <= now
  )
  if (late.length === 0) return
  const advances = yield* Effect.forEach(late, (batched) => concluded(state, transaction, batched))
  const all = advances.flat()
  if (all.length === 0) return
  yield* record(state, transaction, { advances: all })
  noteLate(
    state,
    late.map(({ stored }) => stored),
    now
  )
})

/** What is proven of a payment whose validity is over, as the change that it makes. */
export const concluded = (
  state: LaneState,
  transaction: TrackedTransaction | undefined,
  batched: BatchedPayment
): Effect.Effect<ReadonlyArray<StateChange>> =>
  Effect.matchEffect(conclusionOf(state, transaction, batched), {
    onFailure: (error) => Effect.as(Effect.logDebug("the chain could not be asked for a payment's end", error), []),
    onSuccess: (conclusion) =>
      Effect.succeed(
        conclusion._tag === "Unused" ? [unused(batched, conclusion)] : advancesOf(state, batched, conclusion)
      )
  })

/** What the chain shows of a payment by itself, whichever transaction has moved its money. */
export const conclusionOf = (
  state: LaneState,
  transaction: TrackedTransaction | undefined,
  batched: BatchedPayment
): Effect.Effect<Conclusion, ChainUnavailable> =>
  Effect.flatMap(passengerIn(state, transaction, batched), (one) => state.scheme.conclude(one))

/** For a payment that no transaction was prepared for, no block counts by its number: all that there are were there before. */
const passengerIn = (
  { scheme, startedAt }: LaneState,
  transaction: TrackedTransaction | undefined,
  batched: BatchedPayment
): Effect.Effect<ObservedPayment, ChainUnavailable> =>
  transaction === undefined && batched.stored.since === undefined
    ? Effect.map(scheme.chainHead, ({ head }) => observedPaymentOf(batched, head.number, startedAt))
    : Effect.succeed(observedPaymentOf(batched, transaction === undefined ? 0n : headOf(transaction), startedAt))

const expired = refuse(
  "EXPIRED_PAYMENT",
  "unused",
  "the authorization's validity ended before it was used on the chain; no money has moved, sign a new one"
)

/** What our transaction came to is said where it is known; else that nothing has used it. */
const unused = (
  { stored: { paymentId, status } }: BatchedPayment,
  { at, reason }: Extract<Conclusion, { readonly _tag: "Unused" }>
): StateChange => ({
  paymentId,
  from: [status],
  to: reason === undefined ? "expired" : "failed",
  refusal: reason ?? expired,
  note: `unused at block ${at.number}, which is final`
})
