/**
 * Submits payments of their lane's queue: verifies them once more if they waited, has them signed and written down (`Signing`), and
 * only then sends them, in the order of their slots. An obstacle puts them back, out of the lane, with the reason noted: nothing has
 * happened, and the next call for the payment begins again. Payments that were in a transaction before stay in the lane.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import { type PaymentError, refuse } from "../../protocol/PaymentError.ts"
import type { ChainUnavailable, FacilitatorUnavailable } from "../../protocol/ProtocolError.ts"
import type { ValidationError } from "../../protocol/ValidationError.ts"
import type { Payment } from "../../scheme/SchemeFacilitator.ts"
import * as Checkpoint from "../Checkpoint.ts"
import { marginSeconds } from "../OfferCheck.ts"
import type { LeaseLost } from "../store/LaneLeases.ts"
import * as PaymentChange from "../store/PaymentChange.ts"
import type { StateChange, StoredPayment } from "../store/PaymentStore.ts"
import { leaving, putBack } from "./LaneQueue.ts"
import { isRejected, isTaken, type LaneState, recordQueued, send, type Stopped } from "./LaneState.ts"
import * as OthersTransfers from "./OthersTransfers.ts"
import * as PaymentReading from "./PaymentReading.ts"
import * as Signing from "./Signing.ts"
import { type TrackedTransaction, wasSent } from "./TrackedTransaction.ts"

/**
 * Submits payments of the queue, as many as there are places for, and returns their transactions. The others leave the lane or end; a
 * payment that was in a transaction before, or that a third party has settled, is set aside.
 */
export const submit = Effect.fnUntraced(function* (
  state: LaneState,
  queued: ReadonlyArray<StoredPayment>
): Effect.fn.Return<ReadonlyArray<TrackedTransaction>, Stopped> {
  yield* Checkpoint.pass("taken-up")
  if (isRejected(state)) {
    const note = `a node of ${state.scheme.network} rejects the signer's transactions: ${state.node.rejection}`
    yield* putBack(state, queued, note, "signer_refused")
    return []
  }
  const ready = yield* verifyQueued(state, queued)
  if (ready.length === 0) return []
  const chainHead = yield* Effect.result(Signing.affordableHead(state, ready))
  if (Result.isFailure(chainHead)) {
    const unsigned = ready.map(({ stored }) => stored)
    yield* putBack(state, unsigned, chainHead.failure.message)
    return []
  }
  const transactions = yield* Signing.sign(state, ready, chainHead.success)
  keepVerified(state, ready, transactions)
  yield* sendFirst(state, transactions)
  return transactions
})

/** Payments without a place, or that the signer cannot pay for now, need not be verified again in a moment. */
const keepVerified = (
  { verified }: LaneState,
  ready: ReadonlyArray<Signing.Ready>,
  transactions: ReadonlyArray<TrackedTransaction>
): void => {
  const signed = new Set(transactions.flatMap(({ payments }) => payments.map(({ payment }) => payment)))
  for (const { at, payment, stored } of ready) if (!signed.has(payment)) verified.add(stored, payment, at)
}

type Verdict = PaymentError | ValidationError
type Unavailable = ChainUnavailable | FacilitatorUnavailable

const verifyQueued = Effect.fnUntraced(function* (state: LaneState, queued: ReadonlyArray<StoredPayment>) {
  const now = yield* Clock.currentTimeMillis
  const all = queued.map((stored): Queued => ({ stored, known: state.verified.take(stored, now) }))
  const verified = yield* Effect.forEach(
    all.filter((one) => freshIn(one, now) === undefined),
    (one) => Effect.map(Effect.result(verifyOrFind(state, one, now)), (verdict) => [one, verdict] as const),
    { concurrency: "unbounded" }
  )
  const verdicts = new Map(verified)
  const ready: Array<Signing.Ready> = []
  const changes: Array<StateChange> = []
  for (const one of all) {
    const { stored } = one
    const fresh = freshIn(one, now)
    const verdict = fresh === undefined ? verdicts.get(one) : Result.succeed(fresh)
    if (verdict === undefined) continue
    if (Result.isSuccess(verdict)) {
      const payment = verdict.success
      if (payment === settledByAnother) state.setAsidePayments.add(stored.paymentId)
      else ready.push({ stored, payment, at: (fresh && one.known?.at) ?? now })
    } else if (wasSent(stored)) state.setAsidePayments.add(stored.paymentId)
    else changes.push(turnedAway(stored, verdict.failure))
  }
  yield* recordQueued(state, changes)
  return ready
})

const settledByAnother = "settled by another"

/** The reason for which a payment is not submitted, and the final block that proves that it can never be used, if there is one. */
interface Obstacle {
  readonly reason: Verdict | Unavailable
  readonly unused?: OthersTransfers.Unused
}

/**
 * Verifies a payment. A third party may have settled a refused one while it waited; while the chain does not say, there is no
 * refusal. Where payers send their own transactions, such a payment is submitted like any other if it is bound: that costs nothing.
 * A signer's transaction for it could only fail, so it waits outside the queue until its transfer is final. An unbound one waits
 * too, because nothing may be granted for it.
 */
const verifyOrFind = Effect.fnUntraced(function* (
  state: LaneState,
  one: Queued,
  now: number
): Effect.fn.Return<Payment | typeof settledByAnother, Obstacle> {
  const { scheme, startedAt } = state
  const { known, stored } = one
  const verdict = yield* Effect.result(verify(state, one, now))
  if (Result.isSuccess(verdict)) return verdict.success
  const { failure } = verdict
  if (wasSent(stored) || !OthersTransfers.isVerdict(failure)) return yield* Effect.fail(unproven(failure))
  const reading = known === undefined ? PaymentReading.ofRecord(scheme, stored) : Effect.succeed(known.payment)
  const payment = yield* Effect.mapError(reading, unproven)
  const query = OthersTransfers.stateOf(scheme, stored, payment, failure, startedAt)
  const transfer = yield* Effect.mapError(query, unproven)
  if (transfer === "possible") return yield* Effect.fail(unproven(failure))
  if (transfer !== "made") return yield* Effect.fail({ reason: failure, unused: transfer })
  return state.address === "" && isCurrentAndBound(payment) ? payment : settledByAnother
})

const unproven = (reason: Verdict | Unavailable): Obstacle => ({ reason })

const isCurrentAndBound = ({ authorization, recalled }: Payment): boolean =>
  authorization.binding !== undefined && recalled !== true

/** A payment of the queue, and its earlier verification if it is remembered. */
interface Queued {
  readonly stored: StoredPayment
  readonly known: ReturnType<LaneState["verified"]["take"]>
}

/** The payment if its verification is fresh, as most are. */
const freshIn = ({ known }: Queued, now: number): Payment | undefined =>
  known?.isFresh === true && !isLate(known.payment, now) ? known.payment : undefined

const isLate = ({ authorization }: Payment, now: number): boolean =>
  authorization.validBefore * 1000 <= now + marginSeconds * 1000

/**
 * The change of a payment that is not submitted. A refusal ends it only with proof: while its authorization can be used, anyone who
 * has seen it may submit it, and then the payer is owed the resource. Until that is known, no lane settles it.
 */
const turnedAway = (stored: StoredPayment, { reason, unused }: Obstacle): StateChange => {
  if (unused !== undefined) return PaymentChange.endUnused(stored, unused)
  return leaving(stored, reason.message, OthersTransfers.isVerdict(reason) ? "payment_refused" : undefined)
}

/** Reads the payment, and verifies it unless its verification is fresh. A payment whose validity is over ends under any settings. */
const verify = Effect.fnUntraced(function* (
  { scheme }: LaneState,
  { known, stored }: Queued,
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

/** Payers' own transactions that are sent at once: none of them has to come before another. */
const sendingAtOnce = 16

/**
 * Bytes that a node does not take stay planned: `Confirmation` repairs them. It also records those that were taken, since on a quick
 * chain its first observation shows more.
 */
const sendFirst = (state: LaneState, transactions: ReadonlyArray<TrackedTransaction>): Effect.Effect<void, LeaseLost> =>
  Effect.forEach(
    transactions,
    (transaction) =>
      Effect.map(send(state, transaction), (result) => {
        transaction.unrecorded = isTaken(result)
        transaction.doubtful = result._tag !== "Accepted"
      }),
    { concurrency: state.address === "" ? sendingAtOnce : 1, discard: true }
  )
