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
import type { Advance, LaneExit, Plan, StoredPayment } from "../store/PaymentStore.ts"
import * as FeeBump from "./FeeBump.ts"
import {
  enterQueued,
  inTheAir,
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
export const depart = Effect.fnUntraced(function* (
  work: LaneState,
  queued: ReadonlyArray<StoredPayment>
): Effect.fn.Return<ReadonlyArray<TrackedTransaction>, Stopped> {
  yield* Checkpoint.pass("taken-up")
  if (isRefused(work)) {
    yield* putBack(
      work,
      queued,
      `a node of ${work.half.network} does not take the transactions: ${work.refusal}`,
      "signer_refused"
    )
    return []
  }
  const ready = yield* examineQueued(work, queued)
  if (ready.length === 0) return []
  const chainHead = yield* Effect.result(surveyed(work, ready))
  if (Result.isFailure(chainHead)) {
    yield* putBack(work, ready.map(storedOf), chainHead.failure.message)
    return []
  }
  const flights = yield* sign(work, ready, chainHead.success)
  rememberLeft(work, ready, flights)
  yield* sendFirst(work, flights)
  return flights
})

const storedOf = ({ stored }: Ready): StoredPayment => stored

/** What there was no room for, or no money, need not be examined again in a moment. */
const rememberLeft = (
  { examined }: LaneState,
  ready: ReadonlyArray<Ready>,
  flights: ReadonlyArray<TrackedTransaction>
): void => {
  const aboard = new Set(flights.flatMap(({ travellers }) => travellers.map(({ payment }) => payment)))
  for (const { at, payment, stored } of ready) if (!aboard.has(payment)) examined.add(stored, payment, at)
}

/** The payments leave the lane as they came; those that were sent before are stranded in it. */
export const putBack = (
  work: LaneState,
  payments: ReadonlyArray<StoredPayment>,
  note: string,
  exit?: LaneExit
): Effect.Effect<void, Stopped> =>
  Effect.suspend(() => {
    for (const one of payments) if (wasSent(one)) work.stranded.add(one.paymentId)
    return enterQueued(
      work,
      payments.filter((one) => !wasSent(one)).map((one) => back(one, note, exit))
    )
  })

const back = ({ paymentId }: StoredPayment, note: string, exit?: LaneExit): Advance => ({
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

const examineQueued = Effect.fnUntraced(function* (work: LaneState, queued: ReadonlyArray<StoredPayment>) {
  const now = yield* Clock.currentTimeMillis
  const seen = queued.map((stored): Seen => ({ stored, known: work.examined.take(stored, now) }))
  const doubtful = seen.filter((one) => goodIn(one, now) === undefined)
  const examined = yield* Effect.forEach(
    doubtful,
    (one) => Effect.map(Effect.result(examineOrFind(work, one, now)), (verdict) => [one, verdict] as const),
    { concurrency: "unbounded" }
  )
  const verdicts = new Map(examined)
  const ready: Array<Ready> = []
  const advances: Array<Advance> = []
  for (const one of seen) {
    const { stored } = one
    const good = goodIn(one, now)
    const verdict = good === undefined ? verdicts.get(one) : Result.succeed(good)
    if (verdict === undefined) continue
    if (Result.isSuccess(verdict)) {
      const payment = verdict.success
      if (payment === settledByAnother) work.stranded.add(stored.paymentId)
      else ready.push({ stored, payment, at: (good && one.known?.at) ?? now })
    } else if (wasSent(stored)) work.stranded.add(stored.paymentId)
    else advances.push(turnedAway(stored, verdict.failure))
  }
  yield* enterQueued(work, advances)
  return ready
})

const settledByAnother = "settled by another"

/**
 * Examines a payment. One that is refused may have been settled by somebody else while it waited; while the chain does not say
 * whether it was, the refusal is none. Where payers send their own transactions a bound one departs like any other then, which
 * costs nothing. A signer's transaction for it could only fail: it waits beside the queue until its transfer is final. So does
 * one that is not bound, because nothing may be granted for it.
 */
const examineOrFind = Effect.fnUntraced(function* (
  work: LaneState,
  one: Seen,
  now: number
): Effect.fn.Return<Payment | typeof settledByAnother, Verdict | Unavailable> {
  const verdict = yield* Effect.result(examine(work, one, now))
  if (Result.isSuccess(verdict)) return verdict.success
  const { known, stored } = one
  if (wasSent(stored) || !OthersTransfers.mayExplain(verdict.failure)) return yield* verdict.failure
  const payment = known?.payment ?? (yield* PaymentReading.ofRecord(work.half, stored))
  if (!(yield* OthersTransfers.isSettled(work.half, stored, payment, work.startedAt))) return yield* verdict.failure
  return work.address === "" && isCurrentAndBound(payment) ? payment : settledByAnother
})

const isCurrentAndBound = ({ authorization, recalled }: Payment): boolean =>
  authorization.binding !== undefined && recalled !== true

/** A payment of the queue, and what is remembered of its examination. */
interface Seen {
  readonly stored: StoredPayment
  readonly known: ReturnType<LaneState["examined"]["take"]>
}

/** The payment, where it was examined just now, which is the rule. */
const goodIn = ({ known }: Seen, now: number): Payment | undefined =>
  known?.isFresh === true && !isLate(known.payment, now) ? known.payment : undefined

const isLate = ({ authorization }: Payment, now: number): boolean =>
  authorization.validBefore * 1000 <= now + marginSeconds * 1000

const turnedAway = (stored: StoredPayment, reason: Verdict | Unavailable): Advance =>
  reason._tag === "ChainUnavailable" || reason._tag === "FacilitatorUnavailable"
    ? back(stored, reason.message)
    : rejected(stored, reason)

/** Reads the payment and verifies it, unless that was just done. One whose time is up ends under any settings. */
const examine = Effect.fnUntraced(function* (
  { half }: LaneState,
  { known, stored }: Seen,
  now: number
): Effect.fn.Return<Payment, Verdict | Unavailable> {
  const payment = known?.payment ?? (yield* PaymentReading.ofRecord(half, stored))
  if (isLate(payment, now)) return yield* over(stored, now)
  yield* PaymentReading.demandCurrent(payment)
  if (known?.isFresh !== true) yield* half.verify(payment)
  return payment
})

const over = ({ authorization: { validBefore } }: StoredPayment, now: number) =>
  refuse(
    "EXPIRED_PAYMENT",
    "expired",
    `the authorization is valid before ${validBefore} and was still waiting at ${Math.floor(now / 1000)}; nothing was sent, sign a new one`
  )

const rejected = ({ paymentId }: StoredPayment, refusal: Verdict): Advance => ({
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
const surveyed = Effect.fnUntraced(function* (work: LaneState, ready: ReadonlyArray<Ready>) {
  const chainHead = yield* askOrRemember(work, ready)
  const { fees } = chainHead
  if (fees === undefined || fees.maximum <= fees.ceiling) return chainHead
  return yield* Effect.fail({
    message: `gas on ${work.half.network} costs ${fees.maximum} a unit, more than the ${fees.ceiling} that the operator allows`
  })
})

const askOrRemember = Effect.fnUntraced(function* (work: LaneState, ready: ReadonlyArray<Ready>) {
  const { half, surveyed: known } = work
  // Records are dated by the store.
  const now = yield* work.store.now
  const newest = ready.reduce((latest, { stored }) => Math.max(latest, stored.history[0]?.at ?? now), 0)
  const isFresh = known !== undefined && now >= known.at && now < known.at + surveyMillis
  if (isFresh && newest < known.at) return known.chainHead
  const chainHead = yield* half.chainHead
  work.surveyed = { chainHead, at: now }
  return chainHead
})

/** Signs and writes down; where there is a ceiling, while no other lane of the network does. */
const sign = (
  work: LaneState,
  ready: ReadonlyArray<Ready>,
  chainHead: ChainHead
): Effect.Effect<ReadonlyArray<TrackedTransaction>, Stopped> =>
  Effect.suspend(() => {
    const { ceilings, half, spending } = work
    const callers = ready.map(({ stored }) => stored.caller)
    return SpendLimits.hold(ceilings, half.network, callers)
      ? spending.withPermit(signByTheBooks(work, ready, chainHead))
      : Effect.map(signWithin(work, ready, chainHead), ({ flights }) => flights)
  })

/** How often it is signed anew where another process has spent the room meanwhile. */
const signings = 3

const signByTheBooks = Effect.fnUntraced(function* (
  work: LaneState,
  ready: ReadonlyArray<Ready>,
  chainHead: ChainHead
): Effect.fn.Return<ReadonlyArray<TrackedTransaction>, Stopped> {
  const { ceilings, half, store } = work
  const since = (yield* store.now) - SpendLimits.periodMillis
  let books = yield* store.books(half.network, since)
  let waiting = ready
  for (let signing = 1; ; signing++) {
    const signed = yield* signWithin(work, waiting, chainHead, {
      room: SpendLimits.room(ceilings, half.network, books),
      allowance: (expenses) => ({
        since,
        allows: (now) => SpendLimits.allow(ceilings, half.network, expenses, now)
      })
    })
    if (signed.refused === undefined) return signed.flights
    work.gasMoney = undefined
    books = signed.refused
    waiting = signed.flights.flatMap(({ travellers }) =>
      waiting.filter(({ payment }) => travellers.some((traveller) => traveller.payment === payment))
    )
    if (signing < signings) continue
    yield* putBack(work, waiting.map(storedOf), ceilingReached)
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
  readonly flights: ReadonlyArray<TrackedTransaction>
  readonly refused: NetworkSpend | undefined
}

/** Signs for as many payments as there is room for, one flight after the other, and writes all of them down in one step. */
const signWithin = Effect.fnUntraced(function* (
  work: LaneState,
  ready: ReadonlyArray<Ready>,
  chainHead: ChainHead,
  within?: Within
): Effect.fn.Return<Signed, Stopped> {
  const room = within?.room ?? SpendLimits.unlimited
  const places = work.capacity - placesTaken(work, yield* Clock.currentTimeMillis)
  const flights: Array<TrackedTransaction> = []
  let rest = ready
  while (rest.length > 0 && flights.length < places) {
    const number = work.next + BigInt(flights.length)
    const prepared = yield* Effect.result(
      prepareWithin(work, rest, number, chainHead, {
        signed: flights,
        ceiling: room.most(rest.map(({ stored }) => stored.caller))
      })
    )
    if (Result.isFailure(prepared)) {
      const { _tag, message } = prepared.failure
      const hopeless = _tag === "ChainUnavailable" ? rest : rest.slice(0, 1)
      yield* putBack(work, hopeless.map(storedOf), message)
      rest = rest.slice(hopeless.length)
      continue
    }
    if (prepared.success === undefined) {
      // Whatever was in the air may have landed in this very moment.
      work.payable = Math.max(1, inTheAir(work).length + flights.length)
      break
    }
    const { aboard, count } = prepared.success
    const expense = expenseOf(aboard)
    const broken = room.broken(expense)
    if (broken.length > 0) {
      const stays = ({ stored }: Ready) => !broken.includes(undefined) && !broken.includes(stored.caller)
      yield* release(work, rest.slice(0, count))
      const note = broken.includes(undefined) ? ceilingReached : shareUsedUp
      yield* putBack(work, rest.filter((one) => !stays(one)).map(storedOf), note)
      rest = rest.filter(stays)
      continue
    }
    room.spend(expense)
    SignerFunds.spend(work, expense.cost)
    flights.push(aboard)
    rest = rest.slice(count)
  }
  yield* Checkpoint.pass("signed")
  const signed = ready.filter((one) => flights.some(({ travellers }) => travellers.some(isOf(one))))
  const refused = yield* Effect.tapError(
    writeDown(work, flights, within?.allowance(flights.map(expenseOf))),
    ({ _tag }) => (_tag === "LeaseLost" ? release(work, signed) : Effect.void)
  )
  if (refused !== undefined) yield* release(work, signed)
  return { flights, refused }
})

const isOf =
  ({ stored }: Ready) =>
  (traveller: BatchedPayment): boolean =>
    traveller.stored.paymentId === stored.paymentId

/** What was signed for these will not be sent. */
const release = ({ half }: LaneState, ready: ReadonlyArray<Ready>): Effect.Effect<void> =>
  ready.length === 0 || half.release === undefined ? Effect.void : half.release(ready.map(({ payment }) => payment))

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
  work: LaneState,
  ready: ReadonlyArray<Ready>,
  number: bigint,
  chainHead: ChainHead,
  { ceiling, signed }: Bounds
) {
  const cap = work.half.batches?.maximumCost
  const most = SignerFunds.lowest(cap && SignerFunds.shareOf(cap), ceiling)
  const wanted = yield* prepare(work, ready, number, chainHead, most)
  const cost = lastAttempt(wanted.aboard).cost
  const left = yield* SignerFunds.left(work, FeeBump.anEighthMore(cost), signed)
  if (left === undefined || cost <= (wanted.count === 1 ? left : SignerFunds.shareOf(left))) return wanted
  const fitting =
    wanted.count === 1
      ? wanted
      : yield* Effect.onError(prepare(work, ready, number, chainHead, SignerFunds.shareOf(left)), () =>
          release(work, ready.slice(0, wanted.count))
        )
  const isShort = lastAttempt(fitting.aboard).cost > left && signed.length + inTheAir(work).length > 0
  yield* release(work, ready.slice(isShort ? 0 : fitting.count, wanted.count))
  return isShort ? undefined : fitting
})

const prepare = Effect.fnUntraced(function* (
  { address, half }: LaneState,
  ready: ReadonlyArray<Ready>,
  number: bigint,
  chainHead: ChainHead,
  maximumCost: bigint | undefined
) {
  const slot = address === "" ? undefined : { lane: address, number }
  const { count, prepared } = yield* half.prepare(
    ready.map(({ payment }) => payment),
    slot,
    chainHead,
    maximumCost
  )
  const aboard: TrackedTransaction = {
    number,
    begunAt: yield* Clock.currentTimeMillis,
    doubtful: false,
    attempts: [prepared],
    travellers: ready.slice(0, count).map(({ payment, stored }) => ({ payment, stored, concluded: false })),
    opaque: [],
    inclusion: undefined,
    lostAt: undefined,
    cancelled: false,
    unmarked: false
  }
  return { aboard, count }
})

const writeDown = Effect.fnUntraced(function* (
  work: LaneState,
  flights: ReadonlyArray<TrackedTransaction>,
  allowance: Allowance | undefined
): Effect.fn.Return<NetworkSpend | undefined, Stopped> {
  if (flights.length === 0) return undefined
  const plans = flights.map((aboard): Plan => ({
    number: aboard.number,
    prepared: lastAttempt(aboard),
    paymentIds: aboard.travellers.map(({ stored }) => stored.paymentId)
  }))
  const refused = yield* work.store.plan(work.lease, plans, allowance)
  if (refused !== undefined) return refused
  for (const aboard of flights) {
    const { head, transaction } = lastAttempt(aboard)
    for (const traveller of aboard.travellers) {
      const { stored } = traveller
      traveller.stored = {
        ...stored,
        status: "planned",
        transaction,
        flight: aboard.number,
        since: stored.since ?? head
      }
    }
    work.flights.set(aboard.number, aboard)
    work.next = aboard.number + 1n
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
const sendFirst = (work: LaneState, flights: ReadonlyArray<TrackedTransaction>): Effect.Effect<void, LeaseLost> =>
  Effect.forEach(
    flights,
    (aboard) =>
      Effect.map(send(work, aboard), (submission) => {
        aboard.unmarked = isTaken(submission)
        aboard.doubtful = submission._tag !== "Accepted"
      }),
    { concurrency: work.address === "" ? sendingAtOnce : 1, discard: true }
  )
