/** The lanes of a memory store: their epochs, queues and open transactions. */
import * as BoundedMap from "../../platform/BoundedMap.ts"
import type { Inclusion, PreparedTransaction } from "../../scheme/SchemeFacilitator.ts"
import type { Lease } from "./LaneLeases.ts"
import { firstOf } from "./MemoryRecords.ts"
import * as PaymentChange from "./PaymentChange.ts"
import type { PlannedTransaction, StoredPayment } from "./PaymentStore.ts"
import * as TransactionCost from "./TransactionCost.ts"

/** An open lane transaction. `booked`: the cost of its newest inclusion, which is in the books. */
export interface MemoryTransaction {
  readonly number: bigint
  attempts: ReadonlyArray<PreparedTransaction>
  readonly paymentIds: Set<string>
  inclusion: Inclusion | undefined
  booked: bigint
}

/** A lane. */
export interface MemoryLane {
  /** The next number; `undefined` before the lane was opened. */
  next: bigint | undefined
  readonly transactions: Map<bigint, MemoryTransaction>
  /** Closed transactions, the youngest ones: a deep reorganisation may make gaps of their numbers. */
  readonly closed: BoundedMap.BoundedMap<bigint, MemoryTransaction>
  readonly load: () => number
  /** Ids of the waiting payments, oldest first. */
  readonly waiting: (limit: number) => ReadonlyArray<string>
}

interface Queue extends MemoryLane {
  epoch: number
  /** Serials by id; in order unless a payment came back. */
  readonly queue: Map<string, bigint>
  newest: bigint
  inOrder: boolean
  pending: number
}

/** The lanes. */
export interface MemoryLanes {
  readonly of: (name: string) => MemoryLane
  /** Lanes with waiting or pending payments or open transactions. */
  readonly inUse: () => ReadonlyArray<string>
  /** The lanes of a network. */
  readonly on: (network: string) => ReadonlyArray<MemoryLane>
  /** The lane of a lease; `undefined` if a newer lease was seen. */
  readonly held: (lease: Lease) => MemoryLane | undefined
  /** Updates the queues after a record's change; returns whether the payment began to wait. */
  readonly follow: (before: StoredPayment | undefined, after: StoredPayment) => boolean
  readonly isInOpenTransaction: (payment: StoredPayment) => boolean
}

/** Makes empty lanes. */
export const make = (): MemoryLanes => {
  const lanes = new Map<string, Queue>()
  const of = (name: string): Queue => {
    const lane = lanes.get(name) ?? makeQueue()
    lanes.set(name, lane)
    return lane
  }
  const transactionOf = ({ lane, laneNumber }: StoredPayment): MemoryTransaction | undefined =>
    lane === undefined || laneNumber === undefined ? undefined : of(lane).transactions.get(laneNumber)

  return {
    of,
    inUse: () => [...lanes].filter(([, lane]) => lane.load() > 0 || lane.transactions.size > 0).map(([name]) => name),
    on: (network) => [...lanes].flatMap(([name, lane]) => (TransactionCost.networkOf(name) === network ? [lane] : [])),
    held: (lease) => {
      const lane = of(lease.lane)
      if (lease.epoch < lane.epoch) return undefined
      lane.epoch = lease.epoch
      return lane
    },
    follow: (before, after) => {
      if (before?.status === after.status && before.lane === after.lane) return false
      if (before !== undefined) leave(before, of)
      if (before !== undefined && before.laneNumber !== after.laneNumber)
        transactionOf(before)?.paymentIds.delete(before.paymentId)
      join(after, of)
      return PaymentChange.isWaiting(after)
    },
    isInOpenTransaction: (payment) => transactionOf(payment)?.paymentIds.has(payment.paymentId) === true
  }
}

/** The most closed transactions that a lane keeps: no more of its numbers are filled again. */
const mostClosed = 64

/** A new lane transaction. */
export const begun = ({ number, paymentIds, prepared }: PlannedTransaction): MemoryTransaction => ({
  number,
  attempts: [prepared],
  paymentIds: new Set(paymentIds),
  inclusion: undefined,
  booked: 0n
})

/** Closes an open transaction. */
export const close = ({ closed, transactions }: MemoryLane, transaction: MemoryTransaction): void => {
  transactions.delete(transaction.number)
  closed.set(transaction.number, transaction)
}

/**
 * Opens a transaction with these bytes: behind those of a closed one of its number, or a new one. `isOf` tells whether a payment's
 * record still names the closed one: it may have been forgotten and made again since.
 */
export const openAgain = (
  { closed, transactions }: MemoryLane,
  number: bigint,
  prepared: PreparedTransaction,
  isOf: (paymentId: string) => boolean
): MemoryTransaction => {
  const before = closed.get(number)
  closed.delete(number)
  const transaction =
    before === undefined
      ? begun({ number, prepared, paymentIds: [] })
      : {
          ...before,
          attempts: [...before.attempts, prepared],
          paymentIds: new Set([...before.paymentIds].filter(isOf)),
          inclusion: undefined
        }
  transactions.set(number, transaction)
  return transaction
}

const makeQueue = (): Queue => {
  const lane: Queue = {
    next: undefined,
    epoch: 0,
    transactions: new Map(),
    closed: BoundedMap.oldestOut(mostClosed),
    queue: new Map(),
    newest: 0n,
    inOrder: true,
    pending: 0,
    load: () => lane.queue.size + lane.pending,
    waiting: (limit) => {
      if (!lane.inOrder) sort(lane)
      return [...firstOf(lane.queue.keys(), limit)]
    }
  }
  return lane
}

const sort = (lane: Queue) => {
  const entries = [...lane.queue].toSorted(([, a], [, b]) => (a < b ? -1 : 1))
  lane.queue.clear()
  for (const [id, serial] of entries) lane.queue.set(id, serial)
  lane.inOrder = true
}

const join = (payment: StoredPayment, of: (name: string) => Queue) => {
  if (payment.lane === undefined) return
  const lane = of(payment.lane)
  if (PaymentChange.isPending(payment)) lane.pending++
  if (!PaymentChange.isWaiting(payment)) return
  lane.queue.set(payment.paymentId, payment.serial)
  if (payment.serial < lane.newest) lane.inOrder = false
  else lane.newest = payment.serial
}

const leave = (payment: StoredPayment, of: (name: string) => Queue) => {
  if (payment.lane === undefined) return
  const lane = of(payment.lane)
  if (PaymentChange.isPending(payment)) lane.pending--
  lane.queue.delete(payment.paymentId)
}
