/**
 * The claims on payments that a foreign facilitator settles, in this process's memory: it keeps none, so they are kept
 * here, under what the chain itself consumes, by the rules of `Run`. Beside the run a record holds the doubt: what may
 * have become of the calls that were made for it.
 */
import * as Settlement from "../../protocol/Settlement.ts"
import type { Claim, ClaimVerdict, ExecutionEnd } from "../Facilitator.ts"
import * as Execution from "../store/Execution.ts"
import * as MemoryRecords from "../store/MemoryRecords.ts"
import * as PaymentChange from "../store/PaymentChange.ts"
import * as PaymentStore from "../store/PaymentStore.ts"

/**
 * What is open about a payment. `unanswered`: a call was made and its outcome was never learnt. `pending`: the transaction
 * that the facilitator says it has sent; empty when there is none.
 */
export interface Doubt {
  readonly unanswered: boolean
  readonly pending: string
}

/** A payment's record. */
export interface X402FacilitatorRecord extends PaymentStore.StoredPayment {
  readonly doubt: Doubt
}

/** The records. Nothing here suspends, so every method is one step. All times are Unix milliseconds. */
export interface X402FacilitatorLedger {
  readonly find: (paymentId: string) => X402FacilitatorRecord | undefined
  /** Makes the record of a payment that has none. `undefined` when there is no place for it. */
  readonly admit: (
    payment: PaymentStore.NewPayment,
    claim: Claim | undefined,
    now: number
  ) => X402FacilitatorRecord | undefined
  /** Changes a record, if there is one. */
  readonly change: (
    paymentId: string,
    by: (record: X402FacilitatorRecord) => X402FacilitatorRecord
  ) => X402FacilitatorRecord | undefined
  readonly drop: (paymentId: string) => void
}

/** How many payments are remembered at once, where nothing else is said. */
export const defaultCapacity = 100_000

/** Records looked at for dropping, for every one added; more of them when there is no place left. */
const looks = 2
const looksWhenFull = 64

/**
 * Of the places a tenth is for payments whose money has not moved, or a hundred: to bring such payments may cost nothing.
 */
const placesUnsettled = (capacity: number): number => Math.min(capacity, Math.max(100, Math.floor(capacity / 10)))

const certain: Doubt = { unanswered: false, pending: "" }

/**
 * An empty ledger for so many payments. Where there is no place for a new one, the oldest goes whose money has not moved,
 * unless it is busy: a call for it is under way, or its resource is being run. Who brings that payment again begins anew,
 * as after a restart; a payment that has moved money is never forgotten for another.
 */
export const make = (
  capacity: number = defaultCapacity,
  isUnderWay: (paymentId: string) => boolean = () => false
): X402FacilitatorLedger => {
  const records = new Map<string, X402FacilitatorRecord>()
  const unsettled = new Set<string>()
  const maximumUnsettled = placesUnsettled(capacity)
  /** What is looked at next. */
  const aging = new Set<string>()
  const sweep = (now: number) => {
    const isFull = records.size >= capacity
    for (const id of MemoryRecords.firstOf(aging, isFull ? looksWhenFull : looks)) {
      const record = records.get(id)
      aging.delete(id)
      if (record === undefined) continue
      if (now > lastNeedOf(record) + (isFull ? Execution.entitlementMillis : MemoryRecords.retentionMillis)) drop(id)
      else aging.add(id)
    }
  }
  const drop = (id: string) => {
    records.delete(id)
    aging.delete(id)
    unsettled.delete(id)
  }
  const isIdle = (id: string, now: number) =>
    !isUnderWay(id) && (records.get(id)?.execution.holder?.until ?? Number.NEGATIVE_INFINITY) <= now
  /** Makes a place, if there is none. */
  const makePlace = (now: number): boolean => {
    if (records.size < capacity && unsettled.size < maximumUnsettled) return true
    const idle = [...MemoryRecords.firstOf(unsettled, looksWhenFull)].find((id) => isIdle(id, now))
    if (idle === undefined) return false
    drop(idle)
    return true
  }
  const put = (record: X402FacilitatorRecord) => {
    records.set(record.paymentId, record)
    if (Settlement.isSettled(record.status)) unsettled.delete(record.paymentId)
    else unsettled.add(record.paymentId)
    return record
  }
  return {
    find: (paymentId) => records.get(paymentId),
    admit: (payment, claim, now) => {
      sweep(now)
      if (!makePlace(now)) return undefined
      aging.add(payment.paymentId)
      return put(made(payment, claim, now))
    },
    change: (paymentId, by) => {
      const record = records.get(paymentId)
      return record && put(by(record))
    },
    drop
  }
}

const made = (payment: PaymentStore.NewPayment, claim: Claim | undefined, now: number): X402FacilitatorRecord => ({
  ...PaymentChange.created(payment, claim, 0n, undefined, now),
  // A crash loses the record and with it every debt; one is noted only for who was told to come again.
  answerOwed: false,
  doubt: certain
})

/** What is told of a payment that has no record yet. */
export const unseen = (payment: PaymentStore.NewPayment, now: number): X402FacilitatorRecord =>
  made(payment, undefined, now)

/**
 * When something last depended on a record. Ten minutes later the authorization cannot be settled any more and no run is
 * owed; but a payer who asks after that is told what became of it only as long as the record is there, and else that it is
 * too old.
 */
const lastNeedOf = (record: X402FacilitatorRecord): number => {
  const { authorization, execution: run } = record
  return Math.max(
    authorization.validBefore * 1000,
    PaymentStore.settledAt(record) ?? 0,
    run.releasedAt ?? 0,
    run.holder?.until ?? 0
  )
}

/** Whether a transfer may be on its way, or done, without our knowing it. */
export const isInDoubt = ({ doubt: { pending, unanswered } }: X402FacilitatorRecord): boolean =>
  unanswered || pending !== ""

/** A claim on a record: the verdict, and the record after it. */
export const claimed = (
  record: X402FacilitatorRecord,
  claim: Claim,
  now: number
): readonly [ClaimVerdict, X402FacilitatorRecord] => {
  const [execution, run] = Execution.claim(record.execution, claim, PaymentStore.circumstances(record, now))
  return [execution, { ...record, execution: run }]
}

/** The record after the end of a run. */
export const finished = (
  record: X402FacilitatorRecord,
  claimId: string,
  outcome: ExecutionEnd,
  now: number
): X402FacilitatorRecord => ({
  ...record,
  execution: Execution.finish(record.execution, claimId, outcome, PaymentStore.circumstances(record, now))
})

/** The record after the money has moved. */
export const settled = (record: X402FacilitatorRecord, transaction: string, now: number): X402FacilitatorRecord => ({
  ...moved(record, "included", now, undefined),
  transaction,
  // Nobody is asked about it any more, and a repetition of a bound payment is known by its salt.
  payload: record.authorization.binding === undefined ? record.payload : null,
  doubt: certain
})

/** The record after a call that was not answered: it may have settled the payment. */
export const unanswered = (record: X402FacilitatorRecord, now: number, note: string): X402FacilitatorRecord => ({
  ...moved(record, "sent", now, note),
  doubt: { ...record.doubt, unanswered: true }
})

/** The record of a payment whose transaction was sent. Of an earlier one nothing will be heard any more. */
export const pending = (record: X402FacilitatorRecord, transaction: string, now: number): X402FacilitatorRecord => {
  const { doubt } = record
  const another = doubt.pending !== "" && doubt.pending !== transaction
  return {
    ...moved(record, "sent", now, undefined),
    transaction,
    doubt: { unanswered: doubt.unanswered || another, pending: transaction }
  }
}

/**
 * The record after a transaction was seen in a block and had not moved the money. It settles what that transaction had
 * left open, and nothing else.
 */
export const reverted = (record: X402FacilitatorRecord, transaction: string, now: number): X402FacilitatorRecord => {
  const doubt = { ...record.doubt, pending: record.doubt.pending === transaction ? "" : record.doubt.pending }
  const after = { ...record, doubt, transaction: doubt.pending }
  return isInDoubt(after) ? after : moved(after, "accepted", now, `${transaction} failed in its block`)
}

/**
 * The record of a payment whose authorization is proven to have been used by something else: it opens no run any more.
 */
export const usedUp = (
  record: X402FacilitatorRecord,
  refusal: NonNullable<X402FacilitatorRecord["refusal"]>
): X402FacilitatorRecord => ({
  ...record,
  refusal
})

/** The history tells changes; a payment that is asked about again and again does not make it longer. */
const moved = (
  record: X402FacilitatorRecord,
  status: Settlement.PaymentState,
  at: number,
  note: string | undefined
): X402FacilitatorRecord =>
  record.status === status || Settlement.isSettled(record.status)
    ? record
    : { ...record, status, history: [...record.history, { status, at, ...(note !== undefined && { note }) }] }
