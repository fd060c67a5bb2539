/**
 * The state that all steps of a lane's worker share: the lease, the transactions, and the parts that one module each writes. Two
 * things leave the worker through here. Records are written, and a write that finds them different from what the worker knows ends
 * its work. Bytes are sent, only while the lease holds, and only after they are on record.
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Semaphore from "effect/Semaphore"

import type * as BoundedMap from "../../platform/BoundedMap.ts"
import type { FacilitatorUnavailable } from "../../protocol/ProtocolError.ts"
import type { Inclusion, PreparedTransaction, SchemeFacilitator, SubmitResult } from "../../scheme/SchemeFacilitator.ts"
import * as Checkpoint from "../Checkpoint.ts"
import type * as FairShare from "../queue/FairShare.ts"
import type { VerifiedPayments } from "../queue/VerifiedPayments.ts"
import type { WaitingCallers } from "../queue/WaitingCallers.ts"
import { type Lease, LeaseLost } from "../store/LaneLeases.ts"
import type { Allowance } from "../store/NetworkSpend.ts"
import type { StateChange, LaneWrite, PaymentStore, StoredPayment } from "../store/PaymentStore.ts"
import type { Signals } from "../store/Signals.ts"
import type { BatchWindow } from "./BatchWindow.ts"
import type { ChainView } from "./ChainView.ts"
import type { SignerFunds } from "./SignerFunds.ts"
import type { SlotNumbers } from "./SlotNumbers.ts"
import type { SpendLimits } from "./SpendLimits.ts"
import { isSlotOpen, lastAttempt, type RemainingWork, type TrackedTransaction, update } from "./TrackedTransaction.ts"

/** One worker's lane. */
export interface LaneState {
  readonly store: PaymentStore["Service"]
  readonly scheme: SchemeFacilitator
  readonly lease: Lease
  /** The signer; empty for a family without slots. */
  readonly address: string
  /** The signer is not configured any more: pending transactions are watched, and nothing is signed. */
  readonly orphaned?: boolean
  /** The work that is left in it then. */
  readonly remaining: RemainingWork
  /** The most pending transactions. */
  readonly capacity: number
  /** Where payers send their own transactions: the most pending payments of one payer, and of one caller. */
  readonly shares: FairShare.Limits | undefined
  /** Payers whose own transaction came into no block, and the time until which they count as late (Unix milliseconds). */
  readonly late: BoundedMap.BoundedMap<string, number>
  /** The start of this process; Unix milliseconds. */
  readonly startedAt: number
  /** The lane's transactions that are not closed, by their numbers. */
  readonly transactions: Map<bigint, TrackedTransaction>
  readonly verified: VerifiedPayments
  /** The callers in this process that wait for payments: they are notified of every written record. */
  readonly waitingCallers: WaitingCallers
  readonly limits: SpendLimits
  /** One lane of a network at a time decides what it may spend, and writes down what it spends it on. */
  readonly spendLock: Semaphore.Semaphore
  /** Payments of the queue that were sent before, or by others, and cannot be submitted now (`SetAsidePayments`). */
  readonly setAsidePayments: Set<string>
  /** Signals a transaction that every earlier slot is used: it may be included too. */
  readonly turns: Signals
  readonly chain: ChainView
  readonly funds: SignerFunds
  readonly slots: SlotNumbers
  /** Undefined where each payment has its own transaction. */
  readonly window: BatchWindow | undefined
  readonly backlog: Backlog
  readonly node: NodeVerdict
  readonly lastInclusion: LastInclusion
}

/** The payments that wait because the lane takes none of them now. Written by `LaneQueue`. */
export interface Backlog {
  /** All places were taken, and less than half of them are free again. */
  isFull: boolean
  /** Payments wait whose payer or caller has as many pending ones as it may. */
  holdsBack: boolean
  /** The last look for payments that cannot wait, while the lane was full; Unix milliseconds. */
  lookedAt: number
}

/** The node's last answer to bytes. Written by `send`. */
export interface NodeVerdict {
  /** The reason why the node rejected the last transaction; of a signer's lane it will probably reject the next one too. */
  rejection: string | undefined
}

/** The last observed inclusion. Written by `Confirmation`. */
export interface LastInclusion {
  /** The time from sending to the observed inclusion; milliseconds, 0 before the first. */
  millis: number
}

/** The reasons for which a worker stops: another worker has written the records, or the store is unavailable. */
export type Stopped = LeaseLost | FacilitatorUnavailable

/** A change of a transaction and its payments, to be written in one step. */
export interface TransactionWrite {
  readonly changes?: ReadonlyArray<StateChange>
  readonly inclusion?: Inclusion | null
  readonly closed?: true
}

/** The topic of `turns` for a transaction. */
const turnTopic = ({ number }: TrackedTransaction): string => `${number}`

/** Waits until this transaction is the first in the lane, so that it can be included next; or until the timeout. */
export const turnOf = (
  state: LaneState,
  transaction: TrackedTransaction,
  timeout: Duration.Duration
): Effect.Effect<void> =>
  Effect.scoped(
    Effect.flatMap(state.turns.listen(turnTopic(transaction)), ({ next }) => {
      const wait: Effect.Effect<void> = Effect.suspend(() =>
        isFirst(state, transaction) ? Effect.void : Effect.andThen(next, wait)
      )
      return Effect.raceFirst(wait, Effect.sleep(timeout))
    })
  )

/** Writes a change of a transaction, and takes it over into the worker's state. */
export const record = Effect.fnUntraced(function* (
  state: LaneState,
  transaction: TrackedTransaction,
  { changes = [], ...change }: TransactionWrite
): Effect.fn.Return<void, Stopped> {
  const records = yield* write(state, { changes, transaction: { number: transaction.number, ...change } })
  update(transaction, records)
  if (change.inclusion !== undefined) transaction.inclusion = change.inclusion ?? undefined
  if (change.closed) state.transactions.delete(transaction.number)
  if (change.inclusion !== undefined || change.closed) notifyOfSlot(state)
  state.waitingCallers.notify(records)
})

/** Returns each record as it is now. A record that was not in an expected state shows that another worker has the lane. */
const write = ({ lease, store }: LaneState, entry: LaneWrite): Effect.Effect<ReadonlyArray<StoredPayment>, Stopped> =>
  Effect.flatMap(store.record(lease, entry), (records) => {
    const written = records.filter((record) => record !== undefined)
    return written.length === records.length
      ? Effect.succeed([...new Map(written.map((record) => [record.paymentId, record])).values()])
      : Effect.fail(new LeaseLost({ lane: lease.lane }))
  })

/**
 * A slot is used, or not needed any more: the next transaction may be included next, and a full lane has places again.
 */
export const notifyOfSlot = (state: LaneState): void => {
  const { backlog, lease, store, turns } = state
  const first = firstIn(state)
  if (first !== undefined) turns.notify(turnTopic(first))
  if (backlog.isFull || backlog.holdsBack) store.signals.notify(lease.lane)
}

/** Writes changes of a transaction's payments alone. */
export const recordPayments = Effect.fnUntraced(function* (
  state: LaneState,
  transaction: TrackedTransaction,
  changes: ReadonlyArray<StateChange>
): Effect.fn.Return<void, Stopped> {
  if (changes.length === 0) return
  const records = yield* write(state, { changes })
  update(transaction, records)
  state.waitingCallers.notify(records)
})

/** Writes changes of payments that are in no transaction. */
export const recordQueued = Effect.fnUntraced(function* (
  state: LaneState,
  changes: ReadonlyArray<StateChange>
): Effect.fn.Return<void, Stopped> {
  if (changes.length > 0) state.waitingCallers.notify(yield* write(state, { changes }))
})

/** Sends a transaction's last bytes. Without an answer they may be on their way: "accepted" says no more than that. */
export const send = (state: LaneState, transaction: TrackedTransaction): Effect.Effect<SubmitResult, LeaseLost> =>
  Effect.suspend(() => {
    const { funds, lease, node, scheme } = state
    if (!lease.isValid()) return Effect.fail(new LeaseLost({ lane: lease.lane }))
    const sending = Effect.catch(scheme.submit(lastAttempt(transaction)), (error) =>
      Effect.as(Effect.logDebug("a transaction was sent, and the node did not answer", error), accepted)
    )
    return Effect.tap(sending, (result) => {
      node.rejection = result._tag === "Refused" ? result.message : undefined
      if (result._tag === "Refused") funds.forget()
      return Checkpoint.pass("submitted")
    })
  })

const accepted: SubmitResult = { _tag: "Accepted" }

/** Whether the node holds the bytes, or the slot is used already: only the chain shows more. */
export const isTaken = ({ _tag }: SubmitResult): boolean => _tag !== "Outdated" && _tag !== "Refused"

/**
 * Whether the node rejects this signer's transactions while one is pending: nothing joins it until then. Where payers send their
 * own, each transaction is rejected by itself.
 */
export const isRejected = (state: LaneState): boolean =>
  state.node.rejection !== undefined && state.address !== "" && withOpenSlot(state).length > 0

/** Writes replacement bytes of a transaction down, and sends them; `undefined` if the allowance forbids it. */
export const sendReplacement = Effect.fnUntraced(function* (
  state: LaneState,
  transaction: TrackedTransaction,
  prepared: PreparedTransaction,
  allowance?: Allowance
): Effect.fn.Return<SubmitResult | undefined, Stopped> {
  yield* Checkpoint.pass("re-signed")
  const refused = yield* state.store.replace(state.lease, transaction.number, prepared, allowance)
  if (refused !== undefined) return undefined
  transaction.attempts = [...transaction.attempts, prepared]
  state.funds.forget()
  yield* Checkpoint.pass("replaced")
  return yield* send(state, transaction)
})

/** The lane's transactions whose slots are open. */
export const withOpenSlot = ({ transactions }: LaneState): ReadonlyArray<TrackedTransaction> =>
  [...transactions.values()].filter(isSlotOpen)

/** The transaction with the lowest open slot. */
export const firstIn = ({ transactions }: LaneState): TrackedTransaction | undefined => {
  let first: TrackedTransaction | undefined
  for (const one of transactions.values()) {
    if ((first === undefined || one.number < first.number) && isSlotOpen(one)) first = one
  }
  return first
}

/** Whether every slot before this transaction's is used: then only its own bytes keep it from being included. */
export const isFirst = ({ transactions }: LaneState, { number }: TrackedTransaction): boolean => {
  // Each confirmation of a full lane asks this, so it makes no list of all others.
  for (const other of transactions.values()) if (other.number < number && isSlotOpen(other)) return false
  return true
}
