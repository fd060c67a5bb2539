/**
 * What all steps of a lane's worker share: the lease it works under, the flights it knows, and the two things it does to
 * the world outside. It writes records, and a write that finds them other than it knew ends its work; and it sends bytes,
 * and only those that are written down, while its lease holds.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Semaphore from "effect/Semaphore"

import type * as BoundedMap from "../../platform/BoundedMap.ts"
import type { FacilitatorUnavailable } from "../../protocol/ProtocolError.ts"
import type {
  Inclusion,
  PreparedTransaction,
  SchemeFacilitator,
  SubmitResult,
  ChainHead
} from "../../scheme/SchemeFacilitator.ts"
import * as Checkpoint from "../Checkpoint.ts"
import type * as FairShare from "../queue/FairShare.ts"
import type { VerifiedPayments } from "../queue/VerifiedPayments.ts"
import type { WaitingCallers } from "../queue/WaitingCallers.ts"
import { type Lease, LeaseLost } from "../store/LaneLeases.ts"
import type { Allowance } from "../store/NetworkSpend.ts"
import type { StateChange, LaneWrite, PaymentStore, StoredPayment } from "../store/PaymentStore.ts"
import type { Signals } from "../store/Signals.ts"
import type { SlotWatch } from "./SlotWatch.ts"
import type { SpendLimits } from "./SpendLimits.ts"
import { type TrackedTransaction, isPending, lastAttempt, update } from "./TrackedTransaction.ts"

/** How many have come, and when the first and the last of them came (Unix milliseconds). */
export interface Arrivals {
  count: number
  firstAt: number
  lastAt: number
}

/** One worker's lane. */
export interface LaneState {
  readonly store: PaymentStore["Service"]
  readonly scheme: SchemeFacilitator
  readonly lease: Lease
  /** The signer; empty for a family without slots. */
  readonly address: string
  /** The signer is not configured any more: what is on its way is watched, and nothing is signed. */
  readonly orphaned?: boolean
  readonly capacity: number
  /** Where payers send their own transactions: what one of them may have on its way, and one caller. */
  readonly shares: FairShare.Limits | undefined
  /** Payers of whose own transactions one came into no block, and until when they are called late (Unix milliseconds). */
  readonly late: BoundedMap.BoundedMap<string, number>
  /** When this process began to settle; Unix milliseconds. */
  readonly startedAt: number
  readonly transactions: Map<bigint, TrackedTransaction>
  readonly verified: VerifiedPayments
  /** Those who wait for payments in this process: told of every record that is written. */
  readonly waitingCallers: WaitingCallers
  readonly limits: SpendLimits
  /** One lane of a network at a time decides what it may still spend, and writes down what it spends it on. */
  readonly spendLock: Semaphore.Semaphore
  /** Payments of the queue that have lost a slot and cannot depart now: looked at by themselves (`OrphanedPayments`). */
  readonly orphanedPayments: Set<string>
  /** Tells a flight that every slot before its own is used: it may have landed too. */
  readonly landings: Signals
  /** The number of the next flight. */
  next: bigint
  /** The numbers that were left out. */
  readonly slots: SlotWatch
  /** Why the node took the last transaction not; of a signer's lane it will hardly take the next one. */
  refusal: string | undefined
  /** What its signer has at least, beyond the most that all it has signed for may cost; `undefined` when it is to be asked. */
  gasMoney: bigint | undefined
  /** So many flights were in the air when its signer could not pay for one more; `Infinity` while it is not short. */
  payable: number
  /** All its places were taken, and not half of them are free again. */
  isFull: boolean
  /** Payments wait whose payer or caller has as many on their way as it may. */
  holdsBack: boolean
  /** When it was last looked into while it was full (Unix milliseconds). */
  impatientAt: number
  /** How many payments there were when one had last waited for company; 0 before that. */
  company: number
  /** Hints of payments that have come into the queue and have not been read for a departure since. */
  readonly arrivals: Arrivals
  /** How far apart those came who last waited for company, in milliseconds; `undefined` where that is not known. */
  pace: number | undefined
  /** How long the last flight took to land, as far as it was looked for; milliseconds, 0 before that. */
  landingMillis: number
  /** The chain as it was when it was last asked before a departure, and when that was (Unix milliseconds). */
  surveyed: { readonly chainHead: ChainHead; readonly at: number } | undefined
}

/** Why a worker stops: the records are another's, or cannot be asked. */
export type Stopped = LeaseLost | FacilitatorUnavailable

/** What is written down of a flight. */
export interface TransactionWrite {
  readonly advances?: ReadonlyArray<StateChange>
  readonly inclusion?: Inclusion | null
  readonly closed?: true
}

/** The topic of `landings` for those who wait for a flight's turn. */
const turnTopic = ({ number }: TrackedTransaction): string => `${number}`

/** Waits until this flight is the first in the lane, so that it can be next to land; or for so long. */
export const turnOf = (
  state: LaneState,
  transaction: TrackedTransaction,
  patience: Duration.Duration
): Effect.Effect<void> =>
  Effect.scoped(
    Effect.flatMap(state.landings.listen(turnTopic(transaction)), ({ next }) => {
      const wait: Effect.Effect<void> = Effect.suspend(() =>
        isFirst(state, transaction) ? Effect.void : Effect.andThen(next, wait)
      )
      return Effect.raceFirst(wait, Effect.sleep(patience))
    })
  )

/** Writes an entry about a flight, and takes it over into what the worker knows. */
export const record = Effect.fnUntraced(function* (
  state: LaneState,
  transaction: TrackedTransaction,
  { advances = [], ...change }: TransactionWrite
): Effect.fn.Return<void, Stopped> {
  const records = yield* write(state, { changes: advances, transaction: { number: transaction.number, ...change } })
  update(transaction, records)
  if (change.inclusion !== undefined) transaction.inclusion = change.inclusion ?? undefined
  if (change.closed) state.transactions.delete(transaction.number)
  if (change.inclusion !== undefined || change.closed) notifyOfSlot(state)
  state.waitingCallers.tell(records)
})

/** Returns each record as it is now. One that was not as it was known says that the lane is another's. */
const write = ({ lease, store }: LaneState, entry: LaneWrite): Effect.Effect<ReadonlyArray<StoredPayment>, Stopped> =>
  Effect.flatMap(store.record(lease, entry), (records) => {
    const written = records.filter((record) => record !== undefined)
    return written.length === records.length
      ? Effect.succeed([...new Map(written.map((record) => [record.paymentId, record])).values()])
      : Effect.fail(new LeaseLost({ lane: lease.lane }))
  })

/**
 * A slot is used, or not needed any more: the next flight may be next to land, and where none had room there is some now.
 */
export const notifyOfSlot = (state: LaneState): void => {
  const { holdsBack, isFull, landings, lease, store } = state
  const [some, ...others] = pendingIn(state)
  const first = some && others.reduce((a, b) => (b.number < a.number ? b : a), some)
  if (first !== undefined) landings.notify(turnTopic(first))
  if (isFull || holdsBack) store.signals.notify(lease.lane)
}

/** Writes changes of payments in a flight that say nothing of the flight itself. */
export const recordPayments = Effect.fnUntraced(function* (
  state: LaneState,
  transaction: TrackedTransaction,
  advances: ReadonlyArray<StateChange>
): Effect.fn.Return<void, Stopped> {
  if (advances.length === 0) return
  const records = yield* write(state, { changes: advances })
  update(transaction, records)
  state.waitingCallers.tell(records)
})

/** Writes changes of payments that are in no flight. */
export const recordQueued = Effect.fnUntraced(function* (
  state: LaneState,
  advances: ReadonlyArray<StateChange>
): Effect.fn.Return<void, Stopped> {
  if (advances.length > 0) state.waitingCallers.tell(yield* write(state, { changes: advances }))
})

/**
 * Sends a flight's last bytes. Without an answer they may be on their way, which is all that "accepted" means to us.
 */
export const send = (state: LaneState, transaction: TrackedTransaction): Effect.Effect<SubmitResult, LeaseLost> =>
  Effect.suspend(() => {
    const { scheme, lease } = state
    if (!lease.isValid()) return Effect.fail(new LeaseLost({ lane: lease.lane }))
    const sending = Effect.catch(scheme.submit(lastAttempt(transaction)), (error) =>
      Effect.as(Effect.logDebug("no answer to a transaction that was sent", error), accepted)
    )
    return Effect.tap(sending, (submission) => {
      state.refusal = submission._tag === "Refused" ? submission.message : undefined
      if (submission._tag === "Refused") state.gasMoney = undefined
      return Checkpoint.pass("submitted")
    })
  })

const accepted: SubmitResult = { _tag: "Accepted" }

/** Whether the node holds the bytes, or the slot is used already: only what a chain shows tells more. */
export const isTaken = ({ _tag }: SubmitResult): boolean => _tag !== "Outdated" && _tag !== "Refused"

/**
 * Whether a transaction of this signer waits for a node to take it: nothing joins it until then. Payers who send their own
 * transactions are refused one by one.
 */
export const isRefused = (state: LaneState): boolean =>
  state.refusal !== undefined && state.address !== "" && pendingIn(state).length > 0

/** Keeps other bytes for a flight, and sends them; `undefined` where the allowance lets them not be kept. */
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
  state.gasMoney = undefined
  yield* Checkpoint.pass("replaced")
  return yield* send(state, transaction)
})

/** The flights whose slots are open. */
export const pendingIn = ({ transactions }: LaneState): ReadonlyArray<TrackedTransaction> =>
  [...transactions.values()].filter(isPending)

/** A payer's own transaction that is in no block after so long has lost its place: healthy ones land within two blocks. */
const patienceWithPayers = Duration.toMillis("12 seconds")
/** The most that may be on their way without a place, as a multiple of the capacity: each is looked for. */
const mostWithoutPlace = 16
/** A lane is crowded with more than this multiple of its capacity without a place. */
const crowd = 2

/** How long a payer is late. */
const latenessMillis = Duration.toMillis("1 hour")
/** The most late payers that a lane remembers. */
export const mostLate = 10_000

/**
 * Notes the payers of payments that ended unused, where payers send their own transactions: they have one on its way at a time,
 * for an hour.
 */
export const noteLate = ({ address, late }: LaneState, ended: ReadonlyArray<StoredPayment>, now: number): void => {
  if (address !== "") return
  for (const { authorization, status } of ended) {
    if (status !== "expired") continue
    late.set(authorization.payer, now + latenessMillis)
  }
}

/**
 * Whether a flight has a place in its lane. Where payers send their own transactions, one that a node did not take, or knows
 * already, may never land, and neither may one that has not landed for long: it is watched until its validity is over, and
 * keeps nobody waiting.
 */
export const hasPlace = ({ address }: LaneState, { begunAt, doubtful }: TrackedTransaction, now: number): boolean =>
  address !== "" || (!doubtful && now < begunAt + patienceWithPayers)

/**
 * Whether so many are on their way without a place that each payer may have one at a time, until some of them have ended: who
 * wants to keep a lane busy with transactions that come into no block needs an account for each of them then.
 */
export const isCrowded = (state: LaneState, now: number): boolean =>
  pendingIn(state).filter((transaction) => !hasPlace(state, transaction, now)).length > crowd * state.capacity

/** How many places of a lane are taken (at a time in Unix milliseconds). */
export const placesTaken = (state: LaneState, now: number): number => {
  const all = pendingIn(state)
  const placed = all.filter((transaction) => hasPlace(state, transaction, now)).length
  return placed + Math.max(0, all.length - placed - mostWithoutPlace * state.capacity)
}

/** Whether every slot before this flight's is used: then nothing but its own bytes keeps it from landing. */
export const isFirst = (state: LaneState, { number }: TrackedTransaction): boolean =>
  pendingIn(state).every((other) => other.number >= number)
