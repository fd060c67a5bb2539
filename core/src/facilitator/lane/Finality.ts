/**
 * Looks after flights whose outcome is known, until it is beyond doubt. A block may be reorganised away: then its flights
 * are looked at anew, and what is in no block any more is sent again as it was. A payment that failed may still be settled
 * by somebody else while it is valid, since its authorization is public: it is looked at once more after that.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import type { Block, PaymentObservation, TransactionObservation } from "../../scheme/SchemeFacilitator.ts"
import * as Checkpoint from "../Checkpoint.ts"
import type { StateChange } from "../store/PaymentStore.ts"
import { advancesOf, backToQueue, concluded, conclusionOf, sight } from "./Confirmation.ts"
import { record, type LaneState, type Stopped } from "./LaneState.ts"
import { type TrackedTransaction, isDone, isUnresolved, type BatchedPayment } from "./TrackedTransaction.ts"

/** What is remembered from one round to the next: blocks that were part of the chain then. */
export interface Memory {
  readonly trusted: Array<Block>
}

/** How many flights are looked at at once. */
const concurrency = 16

/** One round. Returns the flights that are under way again. */
export const round = Effect.fnUntraced(function* (
  state: LaneState,
  memory: Memory
): Effect.fn.Return<ReadonlyArray<TrackedTransaction>, Stopped> {
  const transactions = [...state.transactions.values()].filter((transaction) => !isUnresolved(transaction))
  if (transactions.length === 0) return []
  const chainHead = yield* Effect.catch(state.scheme.chainHead, () => Effect.undefined)
  if (chainHead === undefined) return []
  const look = canonical(state)
  const isSame = yield* Effect.forEach([...memory.trusted, ...newestOf(transactions)], look)
  memory.trusted.splice(0, memory.trusted.length, chainHead.head)
  yield* Effect.forEach(
    transactions,
    (transaction) => lookAgain(state, transaction, look, chainHead.final, isSame.includes(false)),
    {
      concurrency,
      discard: true
    }
  )
  return transactions.filter(isUnresolved)
})

const lookAgain = Effect.fnUntraced(function* (
  state: LaneState,
  transaction: TrackedTransaction,
  look: Look,
  final: bigint,
  suspicious: boolean
): Effect.fn.Return<void, Stopped> {
  const isDeep = (transaction.replacedAt ?? 0n) <= final && blocksOf(transaction).every(({ number }) => number <= final)
  if (transaction.replacedAt !== undefined && (isDeep || suspicious) && !(yield* isLostForGood(state, transaction)))
    return
  if (isDeep) yield* settleDown(state, transaction, look)
  else if (suspicious) yield* recheck(state, transaction, look)
})

/** A stranger's transaction may have been taken back, or have been ours all the same: then it is looked at as before. */
const isLostForGood = Effect.fnUntraced(function* (
  state: LaneState,
  transaction: TrackedTransaction
): Effect.fn.Return<boolean, Stopped> {
  const observation = yield* sight(state, transaction)
  const counted = yield* Effect.catch(state.scheme.nextSlot(state.address, "included"), () => Effect.undefined)
  if (observation === undefined || counted === undefined) return false
  if (observation.inclusion === undefined && counted > transaction.number) return true
  if (observation.inclusion !== undefined) yield* record(state, transaction, { inclusion: observation.inclusion })
  transaction.replacedAt = undefined
  return false
})

type Look = (block: Block) => Effect.Effect<boolean | undefined>

/** Asks for each block once; `undefined` when the chain cannot be asked. */
const canonical = ({ scheme }: LaneState): Look => {
  const known = new Map<string, boolean>()
  return (block) =>
    Effect.suspend(() => {
      const answer = known.get(block.hash)
      if (answer !== undefined) return Effect.succeed(answer)
      return Effect.catch(
        Effect.tap(scheme.isCanonical(block), (is) => Effect.sync(() => void known.set(block.hash, is))),
        () => Effect.undefined
      )
    })
}

/** Every block below is an ancestor of the newest one, or was replaced together with it. */
const newestOf = (transactions: ReadonlyArray<TrackedTransaction>): ReadonlyArray<Block> => {
  const newest = transactions
    .flatMap(blocksOf)
    .reduce<Block | undefined>((a, b) => (a === undefined || b.number > a.number ? b : a), undefined)
  return newest === undefined ? [] : [newest]
}

const blocksOf = ({ inclusion, payments }: TrackedTransaction): ReadonlyArray<Block> => [
  ...(inclusion === undefined ? [] : [inclusion.block]),
  ...payments.flatMap(({ stored: { block, status } }) => (status === "included" && block !== undefined ? [block] : []))
]

/** Blocks that should be deep enough, if they are still there. */
const settleDown = Effect.fnUntraced(function* (
  state: LaneState,
  transaction: TrackedTransaction,
  look: Look
): Effect.fn.Return<void, Stopped> {
  const seen = yield* Effect.forEach(blocksOf(transaction), look)
  if (seen.includes(undefined)) return
  if (seen.includes(false)) return yield* recheck(state, transaction, look)
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
  const advances = [...finalised, ...late]
  if (advances.length === 0 && !isLast) return
  yield* record(state, transaction, { advances, ...(isLast && { closed: true }) })
  yield* Checkpoint.pass("finalised")
})

/**
 * Whether the chain shows once more what its records say. A single false answer of a node would otherwise be final: a payment
 * counts as made that was not, and its signer waits for ever behind a transaction that is in no block. Two looks that
 * contradict the records take them back, as a reorganisation does.
 */
const isShownAgain = Effect.fnUntraced(function* (
  state: LaneState,
  transaction: TrackedTransaction
): Effect.fn.Return<boolean, Stopped> {
  if (transaction.inclusion === undefined && !transaction.payments.some(({ stored }) => stored.status === "included"))
    return true
  const observation = yield* sightOfAll(state, transaction)
  if (observation === undefined) return false
  const changes = yield* changesOf(state, transaction, observation)
  const isLanded = observation.inclusion?.block.hash === transaction.inclusion?.block.hash
  if (isLanded && !changes.some(({ from }) => from.includes("included"))) {
    transaction.contradicted = false
    return true
  }
  if (transaction.contradicted === true) {
    yield* Effect.logWarning(
      `the chain does not show what it showed of the flight ${transaction.number} of ${state.lease.lane}`
    )
    yield* record(state, transaction, {
      advances: changes,
      ...(!isLanded && { inclusion: observation.inclusion ?? null })
    })
  }
  transaction.contradicted = transaction.contradicted !== true
  return false
})

/** Payments that failed are looked at once more when nobody can use their authorization any longer. */
const lateTransfers = Effect.fnUntraced(function* (state: LaneState, transaction: TrackedTransaction) {
  const now = yield* Clock.currentTimeMillis
  const advances: Array<StateChange> = []
  for (const batched of transaction.payments) {
    if (!isDoubtful(batched) || batched.payment.authorization.validBefore * 1000 > now) continue
    for (const advance of yield* concluded(state, transaction, batched)) {
      if (advance.to === "included") advances.push(advance)
      else batched.concluded = true
    }
  }
  return advances
})

const isDoubtful = ({ concluded: done, stored: { status } }: BatchedPayment): boolean => status === "failed" && !done

/** The chain may have changed under this flight: what it shows now counts. */
const recheck = Effect.fnUntraced(function* (
  state: LaneState,
  transaction: TrackedTransaction,
  look: Look
): Effect.fn.Return<void, Stopped> {
  const seen = yield* Effect.forEach(blocksOf(transaction), look)
  if (!seen.includes(false)) return
  const observation = yield* sightOfAll(state, transaction)
  if (observation === undefined) return
  const advances = yield* changesOf(state, transaction, observation)
  const was = transaction.inclusion
  const is = observation.inclusion
  const moved = is?.block.hash !== was?.block.hash
  yield* Effect.logWarning(`a reorganisation has touched the flight ${transaction.number} of ${state.lease.lane}`)
  yield* record(state, transaction, { advances, ...(moved && { inclusion: is ?? null }) })
})

/**
 * What the chain shows of a flight and of each of its payments; `undefined` when it cannot be asked. Where a stranger's
 * transaction has used the slot and another stranger's has moved the money, none of the flight's own shows anything of that
 * payment: the chain is asked for it by itself.
 */
const sightOfAll = Effect.fnUntraced(function* (
  state: LaneState,
  transaction: TrackedTransaction
): Effect.fn.Return<TransactionObservation | undefined> {
  const observation = yield* sight(state, transaction)
  if (observation === undefined || observation.inclusion !== undefined) return observation
  const asking = Effect.forEach(
    transaction.payments,
    (batched, index) => {
      const seen = observation.observations[index] ?? pending
      const isHidden = batched.stored.status === "included" && seen._tag === "Pending"
      return isHidden ? transferOf(state, transaction, batched) : Effect.succeed(seen)
    },
    { concurrency }
  )
  return yield* Effect.matchEffect(asking, {
    onFailure: (error) =>
      Effect.as(
        Effect.logDebug("the chain could not be asked for a payment that a stranger has sent", error),
        undefined
      ),
    onSuccess: (observations) => Effect.succeed({ ...observation, observations })
  })
})

const pending: PaymentObservation = { _tag: "Pending" }

/** That it will never be made is proven by the flight's watch, which takes it up again. */
const transferOf = (state: LaneState, transaction: TrackedTransaction, batched: BatchedPayment) =>
  Effect.map(conclusionOf(state, transaction, batched), (conclusion): PaymentObservation =>
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

/** A settled payment is in another block now, or in none; one that failed may have been settled after all. */
const changeOf = (
  state: LaneState,
  transaction: TrackedTransaction,
  batched: BatchedPayment,
  seen: PaymentObservation,
  now: number
): ReadonlyArray<StateChange> => {
  const { block, status } = batched.stored
  if (status !== "included" && status !== "failed") return []
  if (seen._tag === "Pending") return status === "included" ? takenBack(transaction, batched, now) : []
  if (seen._tag === "Settled") return seen.block.hash === block?.hash ? [] : advancesOf(state, batched, seen)
  return status === "included" ? advancesOf(state, batched, seen) : []
}

/** A slot that a stranger has used carries it no more: it needs another one. */
const takenBack = (
  transaction: TrackedTransaction,
  batched: BatchedPayment,
  now: number
): ReadonlyArray<StateChange> => {
  const { paymentId, status } = batched.stored
  const [queued] = transaction.replacedAt === undefined ? [] : backToQueue(batched, now)
  return [{ ...(queued ?? { paymentId, from: [status], to: "sent" }), note: reorganised }]
}

const reorganised = "its block was reorganised away"
