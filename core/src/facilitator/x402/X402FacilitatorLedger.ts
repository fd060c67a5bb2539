/**
 * The claims on payments that an x402 facilitator settles, in this process's memory: it keeps none, so they are kept
 * here, by the key that the chain itself consumes, under the rules of `Execution`. In addition to the execution a
 * record holds the doubt: the possible results of the requests that were sent for it.
 */
import * as Settlement from "../../protocol/Settlement.ts"
import type { Claim, ClaimVerdict, ExecutionEnd } from "../Facilitator.ts"
import * as Execution from "../store/Execution.ts"
import * as MemoryRecords from "../store/MemoryRecords.ts"
import * as PaymentChange from "../store/PaymentChange.ts"
import * as PaymentStore from "../store/PaymentStore.ts"

/**
 * The open questions about a payment. `unanswered`: a request was sent and its outcome is unknown. `pending`: the
 * transaction that the facilitator says it has sent; empty if there is none.
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
  /** Makes the record of a payment that has none; `undefined` if the ledger is full. */
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

/** Default maximum of remembered payments. */
export const defaultCapacity = 100_000

/** Records checked for expiry with each new one; more of them if the ledger is full. */
const checks = 2
const checksWhenFull = 64

/**
 * Maximum of payments whose money has not moved: a tenth of the capacity, or a hundred, because sending such payments
 * may cost nothing.
 */
const unsettledCapacity = (capacity: number): number => Math.min(capacity, Math.max(100, Math.floor(capacity / 10)))

const certain: Doubt = { unanswered: false, pending: "" }

/**
 * An empty ledger with this capacity. If it is full, the oldest payment whose money has not moved is dropped, unless it
 * is busy: a request for it is under way, or its resource is being run. A dropped payment that is sent again starts
 * anew, as after a restart; a payment that has moved money is never dropped for another.
 */
export const make = (
  capacity: number = defaultCapacity,
  isUnderWay: (paymentId: string) => boolean = () => false
): X402FacilitatorLedger => {
  const records = new Map<string, X402FacilitatorRecord>()
  const unsettled = new Set<string>()
  const maximumUnsettled = unsettledCapacity(capacity)
  /** The records to check next for expiry. */
  const aging = new Set<string>()
  const sweep = (now: number) => {
    const isFull = records.size >= capacity
    for (const id of MemoryRecords.firstOf(aging, isFull ? checksWhenFull : checks)) {
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
  /** Makes room if the ledger is full; false if it cannot. */
  const makeRoom = (now: number): boolean => {
    if (records.size < capacity && unsettled.size < maximumUnsettled) return true
    const idle = [...MemoryRecords.firstOf(unsettled, checksWhenFull)].find((id) => isIdle(id, now))
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
      if (!makeRoom(now)) return undefined
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
  // A crash loses the record and with it every debt; a response is owed only to a caller that was asked to repeat.
  answerOwed: false,
  doubt: certain
})

/** The record to respond with for a payment that has no record yet. */
export const unseen = (payment: PaymentStore.NewPayment, now: number): X402FacilitatorRecord =>
  made(payment, undefined, now)

/**
 * The last time at which something depended on a record. Ten minutes later the authorization cannot be settled any more
 * and no execution is owed; a payer who asks later learns the outcome only while the record exists, and otherwise that
 * the payment is too old.
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

/** Whether a transfer may be pending, or done, without our knowledge. */
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

/** The record after the end of an execution. */
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
  // No further request needs it, and a repetition of a bound payment is recognised by its salt.
  payload: record.authorization.binding === undefined ? record.payload : null,
  doubt: certain
})

/** The record after a request without a response: it may have settled the payment. */
export const unanswered = (record: X402FacilitatorRecord, now: number, note: string): X402FacilitatorRecord => ({
  ...moved(record, "sent", now, note),
  doubt: { ...record.doubt, unanswered: true }
})

/** The record of a payment whose transaction was sent. Of an earlier transaction nothing more will be learned. */
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
 * The record after a transaction was included in a block without moving the money. It ends the doubt about that
 * transaction, and nothing else.
 */
export const reverted = (record: X402FacilitatorRecord, transaction: string, now: number): X402FacilitatorRecord => {
  const doubt = { ...record.doubt, pending: record.doubt.pending === transaction ? "" : record.doubt.pending }
  const after = { ...record, doubt, transaction: doubt.pending }
  return isInDoubt(after) ? after : moved(after, "accepted", now, `${transaction} failed in its block`)
}

/**
 * The record of a payment whose authorization was provably used by another transaction: it opens no execution any more.
 */
export const usedUp = (
  record: X402FacilitatorRecord,
  refusal: NonNullable<X402FacilitatorRecord["refusal"]>
): X402FacilitatorRecord => ({
  ...record,
  refusal
})

/** Adds a state to the history, which holds changes only; repeated requests about a payment do not lengthen it. */
const moved = (
  record: X402FacilitatorRecord,
  status: Settlement.PaymentState,
  at: number,
  note: string | undefined
): X402FacilitatorRecord =>
  record.status === status || Settlement.isSettled(record.status)
    ? record
    : { ...record, status, history: [...record.history, { status, at, ...(note !== undefined && { note }) }] }
