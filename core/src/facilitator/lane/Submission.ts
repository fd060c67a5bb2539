/**
 * How payments leave their lane's queue: looked at once more if they waited, signed for, written down, and only then sent,
 * in the order of their slots. Whatever keeps them from being sent puts them back, out of the lane, with the reason noted:
 * nothing has happened then, and who asks again begins again. Those that were in a flight before stay in the lane.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import { type PaymentError, refuse } from "../../protocol/PaymentError.ts"
import type { ChainUnavailable, FacilitatorUnavailable } from "../../protocol/ProtocolError.ts"
import type { ValidationError } from "../../protocol/ValidationError.ts"
import type { Payment, ChainHead } from "../../scheme/SchemeFacilitator.ts"
import * as Checkpoint from "../Checkpoint.ts"
import { marginSeconds } from "../OfferCheck.ts"
import type { LeaseLost } from "../store/LaneLeases.ts"
import type { Allowance, NetworkSpend, OpenExpense } from "../store/NetworkSpend.ts"
import type { StateChange, LaneExit, PlannedTransaction, StoredPayment } from "../store/PaymentStore.ts"
import * as FeeBump from "./FeeBump.ts"
import {
  recordQueued,
  pendingIn,
  isRefused,
  isTaken,
  type LaneState,
  placesTaken,
  send,
  type Stopped
} from "./LaneState.ts"
import * as OthersTransfers from "./OthersTransfers.ts"
import * as PaymentReading from "./PaymentReading.ts"
import * as SignerFunds from "./SignerFunds.ts"
import * as SpendLimits from "./SpendLimits.ts"
import { type TrackedTransaction, expenseOf, lastAttempt, type BatchedPayment, wasSent } from "./TrackedTransaction.ts"

/** A payment that may be signed for. */
interface Ready {
  readonly stored: StoredPayment
  readonly payment: Payment
  /** When it was examined, Unix milliseconds. */
  readonly at: number
}

/**
 * Has payments of the queue depart, as many as there is room for, and returns their flights. Those that cannot, leave the
 * lane or end; a payment that was in a flight before, or that somebody else has settled, is noted as stranded.
 */
export const submit = Effect.fnUntraced(function* (
  state: LaneState,
  queued: ReadonlyArray<StoredPayment>
): Effect.fn.Return<ReadonlyArray<TrackedTransaction>, Stopped> {
  yield* Checkpoint.pass("taken-up")
  if (isRefused(state)) {
    yield* putBack(
      state,
      queued,
      `a node of ${state.scheme.network} does not take the transactions: ${state.refusal}`,
      "signer_refused"
    )
    return []
  }
  const ready = yield* examineQueued(state, queued)
  if (ready.length === 0) return []
  const chainHead = yield* Effect.result(surveyed(state, ready))
  if (Result.isFailure(chainHead)) {
    yield* putBack(state, ready.map(storedOf), chainHead.failure.message)
    return []
  }
  const transactions = yield* sign(state, ready, chainHead.success)
  rememberLeft(state, ready, transactions)
  yield* sendFirst(state, transactions)
  return transactions
})

const storedOf = ({ stored }: Ready): StoredPayment => stored

/** What there was no room for, or no money, need not be examined again in a moment. */
const rememberLeft = (
  { verified }: LaneState,
  ready: ReadonlyArray<Ready>,
  transactions: ReadonlyArray<TrackedTransaction>
): void => {
  const transaction = new Set(transactions.flatMap(({ payments }) => payments.map(({ payment }) => payment)))
  for (const { at, payment, stored } of ready) if (!transaction.has(payment)) verified.add(stored, payment, at)
}

/** The payments leave the lane as they came; those that were sent before are stranded in it. */
export const putBack = (
  state: LaneState,
  payments: ReadonlyArray<StoredPayment>,
  note: string,
  exit?: LaneExit
): Effect.Effect<void, Stopped> =>
  Effect.suspend(() => {
    for (const one of payments) if (wasSent(one)) state.orphanedPayments.add(one.paymentId)
    return recordQueued(
      state,
      payments.filter((one) => !wasSent(one)).map((one) => back(one, note, exit))
    )
  })

const back = ({ paymentId }: StoredPayment, note: string, exit?: LaneExit): StateChange => ({
  paymentId,
  from: ["accepted"],
  to: "accepted",
  leave: true,
  note: note.slice(0, longestNote),
  ...(exit !== undefined && { exit })
})

/** A node's words end up in the record. */
const longestNote = 300

type Verdict = PaymentError | ValidationError
type Unavailable = ChainUnavailable | FacilitatorUnavailable

const examineQueued = Effect.fnUntraced(function* (state: LaneState, queued: ReadonlyArray<StoredPayment>) {
  const now = yield* Clock.currentTimeMillis
  const seen = queued.map((stored): Seen => ({ stored, known: state.verified.take(stored, now) }))
  const doubtful = seen.filter((one) => goodIn(one, now) === undefined)
  const verified = yield* Effect.forEach(
    doubtful,
    (one) => Effect.map(Effect.result(examineOrFind(state, one, now)), (verdict) => [one, verdict] as const),
    { concurrency: "unbounded" }
  )
  const verdicts = new Map(verified)
  const ready: Array<Ready> = []
  const advances: Array<StateChange> = []
  for (const one of seen) {
    const { stored } = one
    const good = goodIn(one, now)
    const verdict = good === undefined ? verdicts.get(one) : Result.succeed(good)
    if (verdict === undefined) continue
    if (Result.isSuccess(verdict)) {
      const payment = verdict.success
      if (payment === settledByAnother) state.orphanedPayments.add(stored.paymentId)
      else ready.push({ stored, payment, at: (good && one.known?.at) ?? now })
    } else if (wasSent(stored)) state.orphanedPayments.add(stored.paymentId)
    else advances.push(leaving(stored, verdict.failure))
  }
  yield* recordQueued(state, advances)
  return ready
})

const settledByAnother = "settled by another"

/** The reason for which a payment does not depart; `isProven` where a final block shows that it never will. */
interface TurnedAway {
  readonly reason: Verdict | Unavailable
  readonly isProven: boolean
}

/**
 * Examines a payment. One that is refused may have been settled by somebody else while it waited; while the chain does not say
 * whether it was, the refusal is none. Where payers send their own transactions a bound one departs like any other then, which
 * costs nothing. A signer's transaction for it could only fail: it waits beside the queue until its transfer is final. So does
 * one that is not bound, because nothing may be granted for it.
 */
const examineOrFind = Effect.fnUntraced(function* (
  state: LaneState,
  one: Seen,
  now: number
): Effect.fn.Return<Payment | typeof settledByAnother, TurnedAway> {
  const { scheme, startedAt } = state
  const { known, stored } = one
  const verdict = yield* Effect.result(examine(state, one, now))
  if (Result.isSuccess(verdict)) return verdict.success
  const { failure } = verdict
  if (wasSent(stored) || !OthersTransfers.isVerdict(failure)) return yield* Effect.fail(unproven(failure))
  const reading = known === undefined ? PaymentReading.ofRecord(scheme, stored) : Effect.succeed(known.payment)
  const payment = yield* Effect.mapError(reading, unproven)
  const asking = OthersTransfers.stateOf(scheme, stored, payment, failure, startedAt)
  const transfer = yield* Effect.mapError(asking, unproven)
  if (transfer !== "made") return yield* Effect.fail({ reason: failure, isProven: transfer === "impossible" })
  return state.address === "" && isCurrentAndBound(payment) ? payment : settledByAnother
})

const unproven = (reason: Verdict | Unavailable): TurnedAway => ({ reason, isProven: false })

const isCurrentAndBound = ({ authorization, recalled }: Payment): boolean =>
  authorization.binding !== undefined && recalled !== true

/** A payment of the queue, and what is remembered of its examination. */
interface Seen {
  readonly stored: StoredPayment
  readonly known: ReturnType<LaneState["verified"]["take"]>
}

/** The payment, where it was examined just now, which is the rule. */
const goodIn = ({ known }: Seen, now: number): Payment | undefined =>
  known?.isFresh === true && !isLate(known.payment, now) ? known.payment : undefined

const isLate = ({ authorization }: Payment, now: number): boolean =>
  authorization.validBefore * 1000 <= now + marginSeconds * 1000

/**
 * The change of a payment that does not depart. A refusal ends it only with proof: while its authorization can be used, anybody
 * who has seen it may submit it, and the payer is owed what it was for then. Until that is known nobody settles it.
 */
const leaving = (stored: StoredPayment, { isProven, reason }: TurnedAway): StateChange => {
  if (!OthersTransfers.isVerdict(reason)) return back(stored, reason.message)
  return isProven ? rejected(stored, reason) : back(stored, reason.message, "payment_refused")
}

/** Reads the payment and verifies it, unless that was just done. One whose time is up ends under any settings. */
const examine = Effect.fnUntraced(function* (
  { scheme }: LaneState,
  { known, stored }: Seen,
  now: number
): Effect.fn.Return<Payment, Verdict | Unavailable> {
  const payment = known?.payment ?? (yield* PaymentReading.ofRecord(scheme, stored))
  if (isLate(payment, now)) return yield* over(stored, now)
  yield* PaymentReading.demandCurrent(payment)
  if (known?.isFresh !== true) yield* scheme.verify(payment)
  return payment
})

const over = ({ authorization: { validBefore } }: StoredPayment, now: number) =>
  refuse(
    "EXPIRED_PAYMENT",
    "expired",
    `the authorization is valid before ${validBefore} and was still waiting at ${Math.floor(now / 1000)}; nothing was sent, sign a new one`
  )

const rejected = ({ paymentId }: StoredPayment, refusal: Verdict): StateChange => ({
  paymentId,
  from: ["accepted"],
  to: "rejected",
  refusal
})

/** How long an answer serves those who waited already when it was asked for; milliseconds. */
const surveyMillis = 250

/**
 * The chain as it is, not older than any of the payments: what has happened before they were taken is not theirs. Fails
 * while it is dearer than the operator allows.
 */
const surveyed = Effect.fnUntraced(function* (state: LaneState, ready: ReadonlyArray<Ready>) {
  const chainHead = yield* askOrRemember(state, ready)
  const { fees } = chainHead
  if (fees === undefined || fees.maximum <= fees.ceiling) return chainHead
  return yield* Effect.fail({
    message: `gas on ${state.scheme.network} costs ${fees.maximum} a unit, more than the ${fees.ceiling} that the operator allows`
  })
})

const askOrRemember = Effect.fnUntraced(function* (state: LaneState, ready: ReadonlyArray<Ready>) {
  const { scheme, surveyed: known } = state
  // Records are dated by the store.
  const now = yield* state.store.now
  const newest = ready.reduce((latest, { stored }) => Math.max(latest, stored.history[0]?.at ?? now), 0)
  const isFresh = known !== undefined && now >= known.at && now < known.at + surveyMillis
  if (isFresh && newest < known.at) return known.chainHead
  const chainHead = yield* scheme.chainHead
  state.surveyed = { chainHead, at: now }
  return chainHead
})

/** Signs and writes down; where there is a ceiling, while no other lane of the network does. */
const sign = (
  state: LaneState,
  ready: ReadonlyArray<Ready>,
  chainHead: ChainHead
): Effect.Effect<ReadonlyArray<TrackedTransaction>, Stopped> =>
  Effect.suspend(() => {
    const { limits, scheme, spendLock } = state
    const callers = ready.map(({ stored }) => stored.caller)
    return SpendLimits.hold(limits, scheme.network, callers)
      ? spendLock.withPermit(signByTheBooks(state, ready, chainHead))
      : Effect.map(signWithin(state, ready, chainHead), ({ transactions }) => transactions)
  })

/** How often it is signed anew where another process has spent the room meanwhile. */
const signings = 3

const signByTheBooks = Effect.fnUntraced(function* (
  state: LaneState,
  ready: ReadonlyArray<Ready>,
  chainHead: ChainHead
): Effect.fn.Return<ReadonlyArray<TrackedTransaction>, Stopped> {
  const { limits, scheme, store } = state
  const since = (yield* store.now) - SpendLimits.periodMillis
  let books = yield* store.books(scheme.network, since)
  let waiting = ready
  for (let signing = 1; ; signing++) {
    const signed = yield* signWithin(state, waiting, chainHead, {
      room: SpendLimits.room(limits, scheme.network, books),
      allowance: (expenses) => ({
        since,
        allows: (now) => SpendLimits.allow(limits, scheme.network, expenses, now)
      })
    })
    if (signed.refused === undefined) return signed.transactions
    state.gasMoney = undefined
    books = signed.refused
    waiting = signed.transactions.flatMap(({ payments }) =>
      waiting.filter(({ payment }) => payments.some((batched) => batched.payment === payment))
    )
    if (signing < signings) continue
    yield* putBack(state, waiting.map(storedOf), ceilingReached)
    return []
  }
})

/** What the ceilings leave, and what the plan is judged by in the step that writes it. */
interface Within {
  readonly room: SpendLimits.Room
  readonly allowance: (expenses: ReadonlyArray<OpenExpense>) => Allowance
}

/** What was signed; `refused` are the books by which it may not be sent, and then nothing of it is written. */
interface Signed {
  readonly transactions: ReadonlyArray<TrackedTransaction>
  readonly refused: NetworkSpend | undefined
}

/** Signs for as many payments as there is room for, one flight after the other, and writes all of them down in one step. */
const signWithin = Effect.fnUntraced(function* (
  state: LaneState,
  ready: ReadonlyArray<Ready>,
  chainHead: ChainHead,
  within?: Within
): Effect.fn.Return<Signed, Stopped> {
  const room = within?.room ?? SpendLimits.unlimited
  const places = state.capacity - placesTaken(state, yield* Clock.currentTimeMillis)
  const transactions: Array<TrackedTransaction> = []
  let rest = ready
  while (rest.length > 0 && transactions.length < places) {
    const number = state.next + BigInt(transactions.length)
    const prepared = yield* Effect.result(
      prepareWithin(state, rest, number, chainHead, {
        signed: transactions,
        ceiling: room.most(rest.map(({ stored }) => stored.caller))
      })
    )
    if (Result.isFailure(prepared)) {
      const { _tag, message } = prepared.failure
      const hopeless = _tag === "ChainUnavailable" ? rest : rest.slice(0, 1)
      yield* putBack(state, hopeless.map(storedOf), message)
      rest = rest.slice(hopeless.length)
      continue
    }
    if (prepared.success === undefined) {
      // Whatever was in the air may have landed in this very moment.
      state.payable = Math.max(1, pendingIn(state).length + transactions.length)
      break
    }
    const { transaction, count } = prepared.success
    const expense = expenseOf(transaction)
    const broken = room.broken(expense)
    if (broken.length > 0) {
      const stays = ({ stored }: Ready) => !broken.includes(undefined) && !broken.includes(stored.caller)
      yield* release(state, rest.slice(0, count))
      const note = broken.includes(undefined) ? ceilingReached : shareUsedUp
      yield* putBack(state, rest.filter((one) => !stays(one)).map(storedOf), note)
      rest = rest.filter(stays)
      continue
    }
    room.spend(expense)
    SignerFunds.spend(state, expense.cost)
    transactions.push(transaction)
    rest = rest.slice(count)
  }
  yield* Checkpoint.pass("signed")
  const signed = ready.filter((one) => transactions.some(({ payments }) => payments.some(isOf(one))))
  const refused = yield* Effect.tapError(
    writeDown(state, transactions, within?.allowance(transactions.map(expenseOf))),
    ({ _tag }) => (_tag === "LeaseLost" ? release(state, signed) : Effect.void)
  )
  if (refused !== undefined) yield* release(state, signed)
  return { transactions, refused }
})

const isOf =
  ({ stored }: Ready) =>
  (batched: BatchedPayment): boolean =>
    batched.stored.paymentId === stored.paymentId

/** What was signed for these will not be sent. */
const release = ({ scheme }: LaneState, ready: ReadonlyArray<Ready>): Effect.Effect<void> =>
  ready.length === 0 || scheme.release === undefined ? Effect.void : scheme.release(ready.map(({ payment }) => payment))

const ceilingReached = "the ceiling of what settling may cost in 24 hours is reached"
const shareUsedUp = "this caller's share of the ceiling of what settling may cost in 24 hours is used up"

/** What bounds a transaction. */
interface Bounds {
  /** Flights that are signed and not written down yet: they cost the same signer. */
  readonly signed: ReadonlyArray<TrackedTransaction>
  /** What settling may cost still, for these callers. */
  readonly ceiling: bigint | undefined
}

/**
 * Signs for no more payments than the signer can pay for; `undefined` when it cannot pay for one before something that is in
 * the air has landed. Where nothing is in the air, one is signed for all the same: what is short is for the node to say.
 */
const prepareWithin = Effect.fnUntraced(function* (
  state: LaneState,
  ready: ReadonlyArray<Ready>,
  number: bigint,
  chainHead: ChainHead,
  { ceiling, signed }: Bounds
) {
  const cap = state.scheme.batches?.maximumCost
  const most = SignerFunds.lowest(cap && SignerFunds.shareOf(cap), ceiling)
  const wanted = yield* prepare(state, ready, number, chainHead, most)
  const cost = lastAttempt(wanted.transaction).cost
  const left = yield* SignerFunds.left(state, FeeBump.anEighthMore(cost), signed)
  if (left === undefined || cost <= (wanted.count === 1 ? left : SignerFunds.shareOf(left))) return wanted
  const fitting =
    wanted.count === 1
      ? wanted
      : yield* Effect.onError(prepare(state, ready, number, chainHead, SignerFunds.shareOf(left)), () =>
          release(state, ready.slice(0, wanted.count))
        )
  const isShort = lastAttempt(fitting.transaction).cost > left && signed.length + pendingIn(state).length > 0
  yield* release(state, ready.slice(isShort ? 0 : fitting.count, wanted.count))
  return isShort ? undefined : fitting
})

const prepare = Effect.fnUntraced(function* (
  { address, scheme }: LaneState,
  ready: ReadonlyArray<Ready>,
  number: bigint,
  chainHead: ChainHead,
  maximumCost: bigint | undefined
) {
  const slot = address === "" ? undefined : { lane: address, number }
  const { count, prepared } = yield* scheme.prepare(
    ready.map(({ payment }) => payment),
    slot,
    chainHead,
    maximumCost
  )
  const transaction: TrackedTransaction = {
    number,
    begunAt: yield* Clock.currentTimeMillis,
    doubtful: false,
    attempts: [prepared],
    payments: ready.slice(0, count).map(({ payment, stored }) => ({ payment, stored, concluded: false })),
    unreadable: [],
    inclusion: undefined,
    replacedAt: undefined,
    cancelled: false,
    unrecorded: false
  }
  return { transaction, count }
})

const writeDown = Effect.fnUntraced(function* (
  state: LaneState,
  transactions: ReadonlyArray<TrackedTransaction>,
  allowance: Allowance | undefined
): Effect.fn.Return<NetworkSpend | undefined, Stopped> {
  if (transactions.length === 0) return undefined
  const plans = transactions.map((transaction): PlannedTransaction => ({
    number: transaction.number,
    prepared: lastAttempt(transaction),
    paymentIds: transaction.payments.map(({ stored }) => stored.paymentId)
  }))
  const refused = yield* state.store.plan(state.lease, plans, allowance)
  if (refused !== undefined) return refused
  for (const planned of transactions) {
    const { head, transaction } = lastAttempt(planned)
    for (const batched of planned.payments) {
      const { stored } = batched
      batched.stored = {
        ...stored,
        status: "planned",
        transaction,
        laneNumber: planned.number,
        since: stored.since ?? head
      }
    }
    state.transactions.set(planned.number, planned)
    state.next = planned.number + 1n
  }
  yield* Checkpoint.pass("planned")
  return undefined
})

/** How many payers' own transactions are sent at once: none of them has to come before another. */
const sendingAtOnce = 16

/**
 * Bytes that a node does not take as they are stay planned: the flight's watch mends them. It also marks those that were
 * taken, since on a quick chain its first look shows more.
 */
const sendFirst = (state: LaneState, transactions: ReadonlyArray<TrackedTransaction>): Effect.Effect<void, LeaseLost> =>
  Effect.forEach(
    transactions,
    (transaction) =>
      Effect.map(send(state, transaction), (submission) => {
        transaction.unrecorded = isTaken(submission)
        transaction.doubtful = submission._tag !== "Accepted"
      }),
    { concurrency: state.address === "" ? sendingAtOnce : 1, discard: true }
  )
