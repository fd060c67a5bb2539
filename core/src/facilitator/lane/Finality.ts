/**
 * Watches resolved transactions until their outcome is beyond doubt. A reorganisation may take a block back: then its transactions
 * are observed anew, and those in no block are sent again as they were. A third party may still settle a failed payment while it is
 * valid, since its authorization is public: the payment is observed once more after its validity.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import type { Block, PaymentObservation, TransactionObservation, UnmovedPush } from "../../scheme/SchemeFacilitator.ts"
import * as Checkpoint from "../Checkpoint.ts"
import type { StateChange } from "../store/PaymentStore.ts"
import { backToQueue } from "./Confirmation.ts"
import { type LaneState, record, type Stopped } from "./LaneState.ts"
import { awaited } from "./OrphanedLanes.ts"
import {
  type BatchedPayment,
  isDone,
  isUnresolved,
  needsFinalSlot,
  type TrackedTransaction
} from "./TrackedTransaction.ts"

/** The memory between two rounds. */
export interface Memory {
  /** The head of the last round: a reorganisation since then has replaced it. */
  head: Block | undefined
  /** Hashes of blocks that were shown as part of the chain, and that a reorganisation would have replaced together with `head`. */
  verified: ReadonlySet<string>
  /** The chain did not answer all questions of the last round: what it did not show then is looked for again. */
  doubtful: boolean
}

/** The memory before the first round. */
export const remember = (): Memory => ({ head: undefined, verified: new Set(), doubtful: false })

/** Transactions, or payments of one, that are observed at once. */
const concurrency = 16

/** One round. Returns the transactions that are unresolved again. */
export const round = Effect.fnUntraced(function* (
  state: LaneState,
  memory: Memory
): Effect.fn.Return<ReadonlyArray<TrackedTransaction>, Stopped> {
  const resolved = [...state.transactions.values()].filter((transaction) => !isUnresolved(transaction))
  if (state.orphaned === true && state.transactions.size > 0) state.remaining.awaited = yield* awaited(state)
  yield* checkAll(
    state,
    memory,
    resolved.filter((transaction) => !isUnresolved(transaction))
  )
  return resolved.filter(isUnresolved)
})

const checkAll = Effect.fnUntraced(function* (
  state: LaneState,
  memory: Memory,
  transactions: ReadonlyArray<TrackedTransaction>
): Effect.fn.Return<void, Stopped> {
  if (transactions.length === 0) return
  const chainHead = yield* state.chain.head
  if (chainHead === undefined) return
  const known = new Map<string, boolean>()
  const isCanonical = eachBlockOnce(state, known)
  const isSame = yield* Effect.forEach(unsureOf(transactions, memory, chainHead.final), isCanonical, { concurrency })
  const isSuspicious = memory.doubtful || isSame.includes(false)
  memory.head = chainHead.head
  const areSure = yield* Effect.forEach(
    transactions,
    (transaction) => check(state, transaction, isCanonical, chainHead.final, isSuspicious),
    { concurrency }
  )
  memory.doubtful = isSame.includes(undefined) || areSure.includes(false)
  memory.verified = verifiedOf(transactions, isSuspicious ? new Set() : memory.verified, known)
})

/**
 * The blocks that are queried in each round: the last head, the newest block of a transaction, and those of which nothing is known since
 * the last reorganisation. A transaction that was observed in a block while it was replaced may be older than others of the new branch.
 */
const unsureOf = (
  transactions: ReadonlyArray<TrackedTransaction>,
  { head, verified }: Memory,
  final: bigint
): ReadonlyArray<Block> => {
  const blocks = transactions.flatMap(blocksOf)
  const unverified = blocks.filter(({ hash, number }) => number > final && !verified.has(hash))
  const all = [...(head === undefined ? [] : [head]), ...newestOf(blocks), ...unverified]
  return [...new Map(all.map((block) => [block.hash, block])).values()]
}

const verifiedOf = (
  transactions: ReadonlyArray<TrackedTransaction>,
  before: ReadonlySet<string>,
  known: ReadonlyMap<string, boolean>
): ReadonlySet<string> =>
  new Set(
    transactions
      .flatMap(blocksOf)
      .map(({ hash }) => hash)
      .filter((hash) => before.has(hash) || known.get(hash) === true)
  )

/** Returns false if the chain did not show whether a reorganisation has changed this transaction. */
const check = Effect.fnUntraced(function* (
  state: LaneState,
  transaction: TrackedTransaction,
  isCanonical: IsCanonical,
  final: bigint,
  isSuspicious: boolean
): Effect.fn.Return<boolean, Stopped> {
  const { displacedAt } = transaction
  const isDeep = (displacedAt ?? 0n) <= final && blocksOf(transaction).every(({ number }) => number <= final)
  if (displacedAt !== undefined && (isDeep || isSuspicious)) {
    const isForGood = yield* isDisplacedForGood(state, transaction)
    if (isForGood !== true) return isForGood !== undefined
  }
  if (isDeep && (yield* isSlotOver(state, transaction))) yield* finalise(state, transaction, isCanonical)
  return isDeep || !isSuspicious || (yield* recheck(state, transaction, isCanonical))
})

/**
 * A foreign transaction may have been taken back, or may have been ours all the same: then ours is tracked as before. `undefined` if
 * the chain could not be queried.
 */
const isDisplacedForGood = Effect.fnUntraced(function* (
  state: LaneState,
  transaction: TrackedTransaction
): Effect.fn.Return<boolean | undefined, Stopped> {
  const observation = yield* state.chain.observe(transaction)
  const counted = yield* state.chain.nextSlot
  if (observation === undefined || counted === undefined) return undefined
  if (observation.inclusion === undefined && counted > transaction.number) return true
  if (observation.inclusion !== undefined) yield* record(state, transaction, { inclusion: observation.inclusion })
  transaction.displacedAt = undefined
  return false
})

const isSlotOver = ({ chain }: LaneState, transaction: TrackedTransaction): Effect.Effect<boolean> =>
  needsFinalSlot(transaction)
    ? Effect.map(chain.nextFinalSlot, (next) => next !== undefined && next > transaction.number)
    : Effect.succeed(true)

type IsCanonical = (block: Block) => Effect.Effect<boolean | undefined>

/** Queries each block once; `undefined` if the chain could not be queried. */
const eachBlockOnce =
  ({ chain }: LaneState, known: Map<string, boolean>): IsCanonical =>
  (block) =>
    Effect.suspend(() => {
      const answer = known.get(block.hash)
      if (answer !== undefined) return Effect.succeed(answer)
      return Effect.tap(chain.isCanonical(block), (is) =>
        Effect.sync(() => void (is !== undefined && known.set(block.hash, is)))
      )
    })

/** Every earlier block that was verified is an ancestor of the newest one, or was replaced together with it. */
const newestOf = (blocks: ReadonlyArray<Block>): ReadonlyArray<Block> => {
  const newest = blocks.reduce<Block | undefined>((a, b) => (a === undefined || b.number > a.number ? b : a), undefined)
  return newest === undefined ? [] : [newest]
}

const blocksOf = ({ inclusion, payments }: TrackedTransaction): ReadonlyArray<Block> => [
  ...(inclusion === undefined ? [] : [inclusion.block]),
  ...payments.flatMap(({ stored: { block, status } }) => (status === "included" && block !== undefined ? [block] : []))
]

/** Its blocks are deep enough, if they are still part of the chain. */
const finalise = Effect.fnUntraced(function* (
  state: LaneState,
  transaction: TrackedTransaction,
  isCanonical: IsCanonical
): Effect.fn.Return<void, Stopped> {
  const seen = yield* Effect.forEach(blocksOf(transaction), isCanonical)
  if (seen.includes(undefined)) return
  if (seen.includes(false)) return void (yield* recheck(state, transaction, isCanonical))
  if (!(yield* isShownAgain(state, transaction))) return
  const finalised = transaction.payments.flatMap(
    ({ stored: { block, paymentId, status } }): ReadonlyArray<StateChange> =>
      status === "included" ? [{ paymentId, from: ["included"], to: "final", note: `block ${block?.number}` }] : []
  )
  const late = yield* lateTransfers(state, transaction)
  const isLast =
    transaction.unreadable.length === 0 &&
    late.length === 0 &&
    transaction.payments.every((one) => isDone(one) || one.stored.status === "included")
  const changes = [...finalised, ...late]
  if (changes.length === 0 && !isLast) return
  yield* record(state, transaction, { changes, ...(isLast && { closed: true }) })
  yield* Checkpoint.pass("finalised")
})

/**
 * Whether the chain shows once more what its records say. A single false answer of a node would otherwise be final: an unpaid
 * payment would count as paid, and its signer would wait for ever behind a transaction that is in no block. Two observations that
 * contradict the records take them back, as a reorganisation does.
 */
const isShownAgain = Effect.fnUntraced(function* (
  state: LaneState,
  transaction: TrackedTransaction
): Effect.fn.Return<boolean, Stopped> {
  const { inclusion, payments } = transaction
  if (inclusion === undefined && !payments.some(({ stored }) => stored.status === "included")) return true
  const observation = yield* observeAll(state, transaction)
  if (observation === undefined) return false
  const changes = yield* changesOf(state, transaction, observation)
  const isSameBlock = observation.inclusion?.block.hash === transaction.inclusion?.block.hash
  if (isSameBlock && !changes.some(({ from }) => from.includes("included"))) {
    transaction.contradicted = false
    return true
  }
  if (transaction.contradicted === true) {
    yield* Effect.logWarning(
      `the chain no longer shows the recorded outcome of the transaction ${transaction.number} of ${state.lease.lane}`
    )
    yield* record(state, transaction, {
      changes,
      ...(!isSameBlock && { inclusion: observation.inclusion ?? null })
    })
  }
  transaction.contradicted = transaction.contradicted !== true
  return false
})

/** Observes failed payments once more after their validity, when their authorization cannot be used any longer. */
const lateTransfers = Effect.fnUntraced(function* (state: LaneState, transaction: TrackedTransaction) {
  const now = yield* Clock.currentTimeMillis
  const changes: Array<StateChange> = []
  for (const batched of transaction.payments) {
    if (!isDoubtful(batched) || batched.payment.authorization.validBefore * 1000 > now) continue
    for (const end of yield* state.chain.conclusionOf(transaction, batched)) {
      if (end.to === "included") changes.push(end)
      else batched.concluded = true
    }
  }
  return changes
})

const isDoubtful = ({ concluded, stored: { status } }: BatchedPayment): boolean => status === "failed" && !concluded

/** The chain may have changed under this transaction: its present state counts. Returns false if the chain could not be queried. */
const recheck = Effect.fnUntraced(function* (
  state: LaneState,
  transaction: TrackedTransaction,
  isCanonical: IsCanonical
): Effect.fn.Return<boolean, Stopped> {
  const seen = yield* Effect.forEach(blocksOf(transaction), isCanonical)
  if (!seen.includes(false)) return !seen.includes(undefined)
  const observation = yield* observeAll(state, transaction)
  if (observation === undefined) return false
  const changes = yield* changesOf(state, transaction, observation)
  const isMoved = observation.inclusion?.block.hash !== transaction.inclusion?.block.hash
  const subject = `the transaction ${transaction.number} of ${state.lease.lane}`
  yield* Effect.logWarning(`${subject} was affected by a reorganisation`)
  yield* record(state, transaction, { changes, ...(isMoved && { inclusion: observation.inclusion ?? null }) })
  return true
})

/**
 * Observes a transaction and each of its payments; `undefined` if the chain could not be queried. If another transaction has moved the
 * money, our own bytes may not show that payment, even in a block: a foreign one has used the slot, or the node has lost the state of
 * that block. The chain is queried for it by itself: a failed query is not a transfer that was taken back.
 */
const observeAll = Effect.fnUntraced(function* (
  state: LaneState,
  transaction: TrackedTransaction
): Effect.fn.Return<TransactionObservation | undefined> {
  const observation = yield* state.chain.observe(transaction)
  if (observation === undefined) return undefined
  const observing = Effect.forEach(
    transaction.payments,
    (batched, index) => {
      const seen = observation.observations[index] ?? pending
      const isHidden = batched.stored.status === "included" && (seen._tag === "Pending" || seen._tag === "Unmoved")
      return isHidden ? transferOf(state, transaction, batched) : Effect.succeed(seen)
    },
    { concurrency }
  )
  return yield* Effect.matchEffect(observing, {
    onFailure: (error) =>
      Effect.as(Effect.logDebug("the query for a payment that a third party has sent failed", error), undefined),
    onSuccess: (observations) => Effect.succeed({ ...observation, observations })
  })
})

const pending: PaymentObservation = { _tag: "Pending" }

/** `Confirmation` tracks the transaction again, and proves there that a transfer will never be made. */
const transferOf = (state: LaneState, transaction: TrackedTransaction, batched: BatchedPayment) =>
  Effect.map(state.chain.conclude(transaction, batched), (conclusion): PaymentObservation =>
    conclusion._tag === "Settled" ? conclusion : pending
  )

const changesOf = (
  state: LaneState,
  transaction: TrackedTransaction,
  observation: TransactionObservation
): Effect.Effect<ReadonlyArray<StateChange>> =>
  Effect.map(Clock.currentTimeMillis, (now) =>
    transaction.payments.flatMap((batched, index) => {
      const seen = observation.observations[index]
      return seen === undefined ? [] : changeOf(state, transaction, batched, seen, now)
    })
  )

/** A settled payment is in another block now, or in none; a failed one may have been settled after all. */
const changeOf = (
  { chain }: LaneState,
  transaction: TrackedTransaction,
  batched: BatchedPayment,
  seen: PaymentObservation | UnmovedPush,
  now: number
): ReadonlyArray<StateChange> => {
  const { block, status } = batched.stored
  if (status !== "included" && status !== "failed") return []
  // A settled push whose transfer is not shown any more is tracked again, which takes it out of its transaction where that is due.
  if (seen._tag === "Pending" || seen._tag === "Unmoved")
    return status === "included" ? takenBack(transaction, batched, now) : []
  if (seen._tag === "Settled") return seen.block.hash === block?.hash ? [] : chain.changesBy(batched, seen)
  return status === "included" ? chain.changesBy(batched, seen) : []
}

/** A slot that a foreign transaction has used cannot carry the payment any more: it needs another one. */
const takenBack = (
  transaction: TrackedTransaction,
  batched: BatchedPayment,
  now: number
): ReadonlyArray<StateChange> => {
  const { paymentId, status } = batched.stored
  const [queued] = transaction.displacedAt === undefined ? [] : backToQueue(batched, now)
  return [{ ...(queued ?? { paymentId, from: [status], to: "sent" }), note: "its block was reorganised away" }]
}
