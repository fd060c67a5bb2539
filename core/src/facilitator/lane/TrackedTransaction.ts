/**
 * A flight as its lane's worker holds it: what the records say of it, and its payments as the scheme reads them. The worker
 * changes it only after the records have changed, so that a worker that begins anew knows the same.
 */
import { isDead, isSettled } from "../../protocol/Settlement.ts"
import type { Inclusion, ObservedPayment, Payment, PreparedTransaction } from "../../scheme/SchemeFacilitator.ts"
import type { OpenExpense } from "../store/NetworkSpend.ts"
import type { StoredPayment } from "../store/PaymentStore.ts"

/** A payment in a flight. */
export interface BatchedPayment {
  stored: StoredPayment
  readonly payment: Payment
  /** Dead before its validity was over, and looked at once more after it. */
  concluded: boolean
}

/** A flight under way. */
export interface TrackedTransaction {
  readonly number: bigint
  attempts: ReadonlyArray<PreparedTransaction>
  payments: ReadonlyArray<BatchedPayment>
  /**
   * Its payments that the scheme cannot read any more. Its bytes are sent and its slot is watched for them too; what became of
   * them nobody can tell until they can be read again.
   */
  unreadable: ReadonlyArray<StoredPayment>
  inclusion: Inclusion | undefined
  /** The chain's head when it was found that a transaction that is none of ours has used its slot. */
  replacedAt: bigint | undefined
  /** Its payments' validity is over, and something that does nothing was sent in its place. */
  cancelled: boolean
  /** A node has its bytes, and the records do not say so yet. */
  unrecorded: boolean
  /** Its signer is not configured any more: nothing takes its slot, and it is over with its payments. */
  readonly orphaned?: boolean
  /** When its first bytes were sent, or were found on record; Unix milliseconds. */
  readonly begunAt: number
  /** The node did not take its bytes for new ones when they were first sent. */
  doubtful: boolean
  /** A node did not show again, right before it would have been final, what was shown of it. */
  contradicted?: boolean
}

/** The bytes that are sent. */
export const lastAttempt = ({ attempts, number }: TrackedTransaction): PreparedTransaction => {
  const last = attempts.at(-1)
  if (last === undefined) throw new Error(`the flight ${number} has no signed bytes`)
  return last
}

/** Whether the outcome of this payment is not known. */
export const isOpen = ({ stored: { status } }: BatchedPayment): boolean => status === "planned" || status === "sent"

/**
 * Whether its slot is still to be used. A flight without a slot, or of a signer that is gone, is in the air while a payment in
 * it is open.
 */
export const isPending = ({ attempts, inclusion, replacedAt, orphaned, payments }: TrackedTransaction): boolean => {
  if (inclusion !== undefined || replacedAt !== undefined) return false
  return (orphaned !== true && attempts[0]?.slot !== undefined) || payments.some(isOpen)
}

/** Whether there is anything to wait for before the outcome of every payment is known and the slot is used. */
export const isUnresolved = (transaction: TrackedTransaction): boolean =>
  isPending(transaction) || transaction.payments.some(isOpen)

/** Whether a payment's end is beyond doubt: deep in the chain, or dead and looked at after its validity. */
export const isDone = ({ concluded, stored: { status } }: BatchedPayment): boolean =>
  status === "final" || status === "expired" || (isDead(status) && concluded)

/** Whether the payment is over: settled or dead. */
export const isOver = ({ status }: StoredPayment): boolean => isSettled(status) || isDead(status)

/** Whether the payment was in a flight once: its signed bytes may be known, and only proof ends it. */
export const wasSent = ({ since }: StoredPayment): boolean => since !== undefined

/**
 * The scheme is asked about this. `since` stands for a payment that no transaction was prepared for yet; `startedAt` is
 * when this process began to settle, in Unix milliseconds.
 */
export const observedPaymentOf = (
  { payment, stored }: BatchedPayment,
  since: bigint,
  startedAt: number
): ObservedPayment => {
  const earliest = earliestOf(stored, startedAt)
  return {
    payment,
    since: stored.since ?? since,
    ...(earliest !== undefined && { earliest }),
    ...(stored.since === undefined && { unprepared: true })
  }
}

/**
 * A record is made this long after its payment was examined, at most, and the chain's clock is this far behind ours, at
 * most: milliseconds for both together.
 */
const claimSlackMillis = 30_000

/**
 * From when on a transfer of a bound payment is its own, in Unix seconds: its record was made then. A record that this
 * process has seen made cannot stand for one that was lost before the process began.
 */
const earliestOf = ({ history }: StoredPayment, startedAt: number): number | undefined => {
  const claimedAt = history[0]?.at
  if (claimedAt === undefined) return undefined
  const earliest = claimedAt - claimSlackMillis
  return Math.floor((claimedAt < startedAt ? earliest : Math.max(earliest, startedAt)) / 1000)
}

/** The most that it may cost, and for whom. */
export const expenseOf = (transaction: TrackedTransaction): OpenExpense => ({
  cost: lastAttempt(transaction).cost,
  callers: [...transaction.payments.map(({ stored }) => stored), ...transaction.unreadable].map(({ caller }) => caller)
})

/** When a payment's validity ends, in Unix seconds; of a flight the latest. */
export const validBefore = ({ unreadable, payments }: TrackedTransaction): number =>
  [...payments.map(({ stored }) => stored), ...unreadable].reduce(
    (latest, { authorization }) => Math.max(latest, authorization.validBefore),
    0
  )

/** Whether it carries no payment at all: it only uses its slot up. */
export const isEmpty = ({ unreadable, payments }: TrackedTransaction): boolean =>
  payments.length === 0 && unreadable.length === 0

/** Takes over records that have changed. */
export const update = (transaction: TrackedTransaction, records: ReadonlyArray<StoredPayment>) => {
  const changed = new Map(records.map((record) => [record.paymentId, record]))
  for (const batched of transaction.payments) {
    batched.stored = changed.get(batched.stored.paymentId) ?? batched.stored
  }
  transaction.unreadable = transaction.unreadable.map((stored) => changed.get(stored.paymentId) ?? stored)
  transaction.payments = transaction.payments.filter(({ stored }) => stored.status !== "accepted")
}
