/**
 * Signs transactions for verified payments, and writes them down in one step: for as many payments as the lane has places for, the
 * signer can pay for, and the spend limits allow. Payments that none of these allow are put back.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import type { ChainHead, Payment } from "../../scheme/SchemeFacilitator.ts"
import * as Checkpoint from "../Checkpoint.ts"
import * as Delivery from "../store/Delivery.ts"
import type { Allowance, NetworkSpend, OpenExpense } from "../store/NetworkSpend.ts"
import type { PlannedTransaction, StoredPayment } from "../store/PaymentStore.ts"
import { placesTaken } from "./LanePlaces.ts"
import { putBack } from "./LaneQueue.ts"
import { type LaneState, withOpenSlot, type Stopped } from "./LaneState.ts"
import { anEighthMore } from "./Replacement.ts"
import * as SignerFunds from "./SignerFunds.ts"
import * as SpendLimits from "./SpendLimits.ts"
import {
  begin,
  type BatchedPayment,
  expenseOf,
  heldCallers,
  lastAttempt,
  type TrackedTransaction
} from "./TrackedTransaction.ts"

/** A verified payment. */
export interface Ready {
  readonly stored: StoredPayment
  readonly payment: Payment
  /** The time of its verification; Unix milliseconds. */
  readonly at: number
}

/** A chain head not older than any of the payments. Fails while gas costs more than the operator allows. */
export const affordableHead = Effect.fnUntraced(function* ({ chain, scheme }: LaneState, ready: ReadonlyArray<Ready>) {
  const chainHead = yield* chain.headFor(ready.map(storedOf))
  const { fees } = chainHead
  if (fees === undefined || fees.maximum <= fees.ceiling) return chainHead
  return yield* Effect.fail({
    message: `gas on ${scheme.network} costs ${fees.maximum} a unit, more than the ${fees.ceiling} that the operator allows`
  })
})

const storedOf = ({ stored }: Ready): StoredPayment => stored

/** Signs for payments and writes the transactions down. If a ceiling holds, no other lane of the network signs meanwhile. */
export const sign = (
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

/** Attempts to sign while other processes spend the room in between. */
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
    if (signed.refusedBy === undefined) return signed.transactions
    state.funds.forget()
    books = signed.refusedBy
    waiting = signed.transactions.flatMap(({ payments }) =>
      waiting.filter(({ payment }) => payments.some((batched) => batched.payment === payment))
    )
    if (signing < signings) continue
    yield* putBack(state, waiting.map(storedOf), ceilingReached)
    return []
  }
})

/** The room that the ceilings leave, and the judgement of the plan in the step that writes it. */
interface Within {
  readonly room: SpendLimits.Room
  readonly allowance: (expenses: ReadonlyArray<OpenExpense>) => Allowance
}

/** The signed transactions; nothing of them is written if the books refuse them, which then are in `refusedBy`. */
interface Signed {
  readonly transactions: ReadonlyArray<TrackedTransaction>
  readonly refusedBy: NetworkSpend | undefined
}

/** Signs one transaction after the other, and writes all of them down in one step. */
const signWithin = Effect.fnUntraced(function* (
  state: LaneState,
  ready: ReadonlyArray<Ready>,
  chainHead: ChainHead,
  within?: Within
): Effect.fn.Return<Signed, Stopped> {
  const { funds, slots } = state
  const room = within?.room ?? SpendLimits.unlimited
  const places = state.capacity - placesTaken(state, yield* Clock.currentTimeMillis)
  const transactions: Array<TrackedTransaction> = []
  let rest = ready
  while (rest.length > 0 && transactions.length < places) {
    const number = slots.next + BigInt(transactions.length)
    const ceiling = room.most(heldCallers(rest.map(storedOf)))
    const prepared = yield* Effect.result(
      prepareWithin(state, rest, number, chainHead, { signed: transactions, ceiling })
    )
    if (Result.isFailure(prepared)) {
      const { _tag, message } = prepared.failure
      const hopeless = _tag === "ChainUnavailable" ? rest : rest.slice(0, 1)
      yield* putBack(state, hopeless.map(storedOf), message)
      rest = rest.slice(hopeless.length)
      continue
    }
    if (prepared.success === undefined) {
      // Pending transactions may have been included at this very moment.
      funds.short(withOpenSlot(state).length + transactions.length)
      break
    }
    const { count, transaction } = prepared.success
    const expense = expenseOf(transaction)
    const broken = room.broken(expense)
    if (broken.length > 0) {
      const isHeld = (stored: StoredPayment) => broken.includes(stored.caller) && !Delivery.isPush(stored.requirements)
      const stays = ({ stored }: Ready) => !broken.includes(undefined) && !isHeld(stored)
      yield* release(state, rest.slice(0, count))
      const note = broken.includes(undefined) ? ceilingReached : shareUsedUp
      yield* putBack(state, rest.filter((one) => !stays(one)).map(storedOf), note)
      rest = rest.filter(stays)
      continue
    }
    room.spend(expense)
    funds.spend(expense.cost)
    transactions.push(transaction)
    rest = rest.slice(count)
  }
  yield* Checkpoint.pass("signed")
  const signed = ready.filter((one) => transactions.some(({ payments }) => payments.some(isOf(one))))
  const refusedBy = yield* Effect.tapError(
    writeDown(state, transactions, within?.allowance(transactions.map(expenseOf))),
    ({ _tag }) => (_tag === "LeaseLost" ? release(state, signed) : Effect.void)
  )
  if (refusedBy !== undefined) yield* release(state, signed)
  return { transactions, refusedBy }
})

const isOf =
  ({ stored }: Ready) =>
  (batched: BatchedPayment): boolean =>
    batched.stored.paymentId === stored.paymentId

/** Tells the scheme that the bytes signed for these payments will not be sent. */
const release = ({ scheme }: LaneState, ready: ReadonlyArray<Ready>): Effect.Effect<void> =>
  ready.length === 0 || scheme.release === undefined ? Effect.void : scheme.release(ready.map(({ payment }) => payment))

const ceilingReached = "the ceiling of what settling may cost in 24 hours is reached"
const shareUsedUp = "this caller's share of the ceiling of what settling may cost in 24 hours is used up"

/** The bounds of a transaction. */
interface Bounds {
  /** Signed transactions that are not written down yet: the same signer pays for them. */
  readonly signed: ReadonlyArray<TrackedTransaction>
  /** The most that settling may still cost for these callers. */
  readonly ceiling: bigint | undefined
}

/**
 * Signs for no more payments than the signer can pay for; `undefined` if it cannot pay for one before a pending transaction is
 * included. If nothing is pending, one is signed anyway; the node reports a shortfall.
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
  const left = yield* state.funds.left(anEighthMore(cost), () => [...withOpenSlot(state), ...signed])
  if (left === undefined || cost <= (wanted.count === 1 ? left : SignerFunds.shareOf(left))) return wanted
  const fitting =
    wanted.count === 1
      ? wanted
      : yield* Effect.onError(prepare(state, ready, number, chainHead, SignerFunds.shareOf(left)), () =>
          release(state, ready.slice(0, wanted.count))
        )
  const isShort = lastAttempt(fitting.transaction).cost > left && signed.length + withOpenSlot(state).length > 0
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
  const payments = ready.slice(0, count).map(({ payment, stored }) => ({ payment, stored, concluded: false }))
  return { transaction: begin(number, prepared, payments, yield* Clock.currentTimeMillis), count }
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
  const refusedBy = yield* state.store.plan(state.lease, plans, allowance)
  if (refusedBy !== undefined) return refusedBy
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
    state.slots.next = planned.number + 1n
  }
  yield* Checkpoint.pass("planned")
  return undefined
})
