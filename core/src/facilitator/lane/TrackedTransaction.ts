/**
 * A lane transaction as the lane's worker holds it: what the records say of it, and its payments as the scheme reads them. The
 * worker changes it only after the records have changed, so a restarted worker knows the same.
 */
import { isDead, isSettled } from "../../protocol/Settlement.ts"
import type { Inclusion, ObservedPayment, Payment, PreparedTransaction } from "../../scheme/SchemeFacilitator.ts"
import * as Delivery from "../store/Delivery.ts"
import type { OpenExpense } from "../store/NetworkSpend.ts"
import * as PaymentChange from "../store/PaymentChange.ts"
import type { StoredPayment } from "../store/PaymentStore.ts"
import * as TransactionCost from "../store/TransactionCost.ts"

/** A payment of a lane transaction. */
export interface BatchedPayment {
  stored: StoredPayment
  readonly payment: Payment
  /** The payment was dead before its validity ended, and the chain was observed once more afterwards. */
  concluded: boolean
}

/** The work that is left in a lane whose signer is not configured any more: its transactions may be needed for it. */
export interface RemainingWork {
  readonly transactions: ReadonlyMap<bigint, TrackedTransaction>
  /**
   * The last transactions of the payments that wait in the lane and were sent before; `undefined` while not all of them are known.
   * Written by `Finality`.
   */
  awaited: ReadonlySet<string> | undefined
}

/** A lane transaction that the worker tracks. */
export interface TrackedTransaction {
  readonly number: bigint
  attempts: ReadonlyArray<PreparedTransaction>
  payments: ReadonlyArray<BatchedPayment>
  /**
   * Its payments that the scheme can no longer read. The bytes are sent and the slot is watched for them too; their ends stay
   * unknown until they can be read again.
   */
  unreadable: ReadonlyArray<StoredPayment>
  inclusion: Inclusion | undefined
  /** The chain's head (block number) when a foreign transaction was found in its slot. */
  displacedAt: bigint | undefined
  /** The validity of its payments is over, and a noop was sent in its place. */
  cancelled: boolean
  /** A node has its bytes, and the records do not say so yet. */
  unrecorded: boolean
  /**
   * Present if its signer is not configured any more. Nothing new takes its slot, so it ends with its payments, those of later ones,
   * and those that wait.
   */
  readonly orphaned?: RemainingWork
  /** The time when its first bytes were sent, or were found on record; Unix milliseconds. */
  readonly begunAt: number
  /** The node did not take its bytes as new when they were first sent. */
  doubtful: boolean
  /** A node did not show again, right before it would have been final, what was shown of it. */
  contradicted?: boolean
}

/** A transaction with these bytes, about to be sent for the first time. */
export const begin = (
  number: bigint,
  prepared: PreparedTransaction,
  payments: ReadonlyArray<BatchedPayment>,
  now: number
): TrackedTransaction => ({
  number,
  attempts: [prepared],
  payments,
  unreadable: [],
  inclusion: undefined,
  displacedAt: undefined,
  cancelled: false,
  unrecorded: false,
  begunAt: now,
  doubtful: false
})

/** The bytes to send. */
export const lastAttempt = ({ attempts, number }: TrackedTransaction): PreparedTransaction => {
  const last = attempts.at(-1)
  if (last === undefined) throw new Error(`the transaction ${number} has no signed bytes`)
  return last
}

/** Whether the payment is pending: its outcome is unknown. */
export const isOpen = ({ stored }: BatchedPayment): boolean => PaymentChange.isPending(stored)

/**
 * Whether its slot is still to be used. A transaction without a slot, or without its signer, counts as open while one of its payments
 * is. Without its signer it counts as open for later payments too, and for those that a foreign transaction has displaced: a
 * reorganisation may take back what has used its slot, and then nothing but its own bytes can bring them into a block.
 */
export const isSlotOpen = (transaction: TrackedTransaction): boolean => {
  const { attempts, displacedAt, inclusion, payments } = transaction
  if (inclusion !== undefined || displacedAt !== undefined) return false
  return (attempts[0]?.slot !== undefined && isSlotNeeded(transaction)) || payments.some(isOpen)
}

const isSlotNeeded = ({ number, orphaned }: TrackedTransaction): boolean => {
  if (orphaned?.awaited === undefined) return true
  const { awaited, transactions } = orphaned
  return [...transactions.values()].some(
    (one) =>
      (one.number > number && !one.payments.every(isDone)) ||
      (one.number >= number && one.attempts.some(({ transaction }) => awaited.has(transaction)))
  )
}

/**
 * Whether it ends only when final blocks have used its slot. Without its signer its payments go to another lane then, and would be
 * settled there beside its own bytes.
 */
export const needsFinalSlot = (transaction: TrackedTransaction): boolean => {
  const { attempts, inclusion, orphaned } = transaction
  return (
    orphaned !== undefined && inclusion === undefined && attempts[0]?.slot !== undefined && isSlotNeeded(transaction)
  )
}

/** Whether its slot is still to be used, or a payment's outcome is unknown. */
export const isUnresolved = (transaction: TrackedTransaction): boolean =>
  isSlotOpen(transaction) || transaction.payments.some(isOpen)

/** Whether a payment's end is beyond doubt: deep in the chain, or dead and observed after its validity. */
export const isDone = ({ concluded, stored: { status } }: BatchedPayment): boolean =>
  status === "final" || status === "expired" || (isDead(status) && concluded)

/** Whether the payment is over: settled or dead. */
export const isOver = ({ status }: StoredPayment): boolean => isSettled(status) || isDead(status)

/** Whether bytes were ever signed for the payment: others may know them, so only proof ends it. */
export const wasSent = ({ since }: StoredPayment): boolean => since !== undefined

/**
 * The payment as the scheme observes it. `since` stands for a payment that no transaction was prepared for yet; `startedAt` is
 * the start of this process, in Unix milliseconds.
 */
export const observedPaymentOf = (
  { payment, stored }: BatchedPayment,
  since: bigint,
  startedAt: number
): ObservedPayment => {
  const earliest = earliestOf(stored, startedAt)
  const lane = stored.lane === undefined ? "" : TransactionCost.addressOf(stored.lane)
  return {
    payment,
    since: stored.since ?? since,
    ...(earliest !== undefined && { earliest }),
    ...(stored.since === undefined && { unprepared: true }),
    ...(wasSettledAsOwn(stored) && { settledBefore: true }),
    ...(lane !== "" && { lane })
  }
}

/** Whether its own transfer was in a block once: a refusal for another party's stays on record. */
const wasSettledAsOwn = ({ history, refusal }: StoredPayment): boolean =>
  refusal === undefined && history.some(({ status }) => isSettled(status))

/**
 * The longest time from a payment's verification to its record, and the most that the chain's clock is behind ours: milliseconds
 * for both together.
 */
const claimSlackMillis = 30_000

/**
 * The time from which a transfer of a bound payment is its own, in Unix seconds: its record was made then. A record made since this
 * process started cannot stand for one that was lost before.
 */
const earliestOf = ({ history }: StoredPayment, startedAt: number): number | undefined => {
  const claimedAt = history[0]?.at
  if (claimedAt === undefined) return undefined
  const earliest = claimedAt - claimSlackMillis
  return Math.floor((claimedAt < startedAt ? earliest : Math.max(earliest, startedAt)) / 1000)
}

/** The most that the transaction may cost, and the callers of its payments. */
export const expenseOf = (transaction: TrackedTransaction): OpenExpense & Required<Pick<OpenExpense, "held">> => {
  const all = [...transaction.payments.map(({ stored }) => stored), ...transaction.unreadable]
  return {
    cost: lastAttempt(transaction).cost,
    callers: all.map(({ caller }) => caller),
    held: heldCallers(all)
  }
}

/** The callers whose ceilings hold for some of these payments: for all but deliveries. */
export const heldCallers = (
  payments: ReadonlyArray<Pick<StoredPayment, "caller" | "requirements">>
): ReadonlyArray<string> =>
  payments.flatMap(({ caller, requirements }) => (Delivery.isPush(requirements) ? [] : [caller]))

/** The end of the validity of all its payments, in Unix seconds. */
export const validBefore = ({ payments, unreadable }: TrackedTransaction): number =>
  [...payments.map(({ stored }) => stored), ...unreadable].reduce(
    (latest, { authorization }) => Math.max(latest, authorization.validBefore),
    0
  )

/** Whether it carries no payment at all: it only uses its slot up. */
export const isEmpty = ({ payments, unreadable }: TrackedTransaction): boolean =>
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
