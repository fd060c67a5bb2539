/**
 * Numbers of a signer that the lane has left out and that no transaction takes. The chain takes no later number before them, so
 * every payment of the signer would expire. They come from a count that is not true any more: a reorganisation has taken foreign
 * transactions back, or a node has counted wrongly. A noop is signed for each of them, once the count has stayed below it for a few
 * blocks.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

import type { ChainHead } from "../../scheme/SchemeFacilitator.ts"
import { firstIn, type LaneState, send, type Stopped } from "./LaneState.ts"
import * as PaymentReading from "./PaymentReading.ts"
import * as SlotNumbers from "./SlotNumbers.ts"
import * as SpendLimits from "./SpendLimits.ts"
import type { TrackedTransaction } from "./TrackedTransaction.ts"

/** Milliseconds between two looks while no number is missing. */
const lookPause = Duration.toMillis("3 seconds")
/** A transaction that is first in its lane and in no block after this time may have a gap before it; milliseconds. */
const patience = Duration.toMillis("4 seconds")
/** A number is missing for good when this number of blocks has not used it: one node may be as far behind another. */
const blocksMissing = 2n
/** The most numbers that a count moves the lane ahead of final blocks, and the most that noops take. */
const mostAhead = 64n

/**
 * The part of a count that is believed. A signer's key may be used elsewhere, for many transactions. Those in final blocks are
 * certain; of the others no more are believed than noops can replace, should the count be wrong.
 */
export const believed = (state: Pick<LaneState, "address" | "scheme">, counted: bigint): Effect.Effect<bigint> =>
  counted <= mostAhead
    ? Effect.succeed(counted)
    : Effect.match(state.scheme.nextSlot(state.address, "final"), {
        // A node that does not know the state of final blocks: without a belief the lane would stand still.
        onFailure: () => counted,
        onSuccess: (final) => (counted < final + mostAhead ? counted : final + mostAhead)
      })

/** Moves the lane to a count of the chain that is higher than its next number. */
export const skip = Effect.fnUntraced(function* (state: LaneState, counted: bigint): Effect.fn.Return<void, Stopped> {
  const { lease, orphaned, slots, store } = state
  if (orphaned === true) return
  const next = counted > slots.next ? yield* believed(state, counted) : slots.next
  if (next <= slots.next) return
  SlotNumbers.skipTo(slots, yield* store.skipTo(lease, next))
})

/**
 * Looks for missing numbers, and signs noops for them; returns the noops that were sent. It queries nothing as long as every number
 * below the lane's next one is known to be used or pending.
 */
export const heal = Effect.fnUntraced(function* (
  state: LaneState
): Effect.fn.Return<ReadonlyArray<TrackedTransaction>, Stopped> {
  const { address, scheme, slots } = state
  const now = yield* Clock.currentTimeMillis
  if (address === "" || state.orphaned === true || now < slots.nextLook || (slots.isOver && !isStuck(state, now)))
    return []
  slots.nextLook = now + lookPause
  const counted = yield* orUndefined(scheme.nextSlot(address, "included"))
  if (counted === undefined) return []
  const missing = missingFrom(state, counted)
  const [first] = missing
  if (first === undefined && slots.isOver) {
    slots.missed = undefined
    return []
  }
  const chainHead = yield* orUndefined(scheme.chainHead)
  if (chainHead === undefined) return []
  if (first === undefined) {
    SlotNumbers.noneMissing(slots, chainHead)
    return []
  }
  slots.nextLook = 0
  if (first >= slots.confirmed && !isMissingStill(slots, first, chainHead)) return []
  // A node that has fallen behind counts too few: a number that final blocks have used is used.
  const final = yield* orUndefined(scheme.nextSlot(address, "final"))
  if (final === undefined || final > first) return []
  slots.missed = undefined
  slots.confirmed = slots.next
  return yield* fill(state, missing, counted, chainHead)
})

const isMissingStill = (slots: SlotNumbers.SlotNumbers, first: bigint, { head }: ChainHead): boolean => {
  if (slots.missed?.first !== first) slots.missed = { first, head: head.number }
  return head.number >= slots.missed.head + blocksMissing
}

const orUndefined = <A, E>(query: Effect.Effect<A, E>): Effect.Effect<A | undefined> =>
  Effect.catch(query, (error) => Effect.as(Effect.logDebug("the query for a lane's numbers failed", error), undefined))

/** Whether the first pending transaction has been pending for longer than blocks take. */
const isStuck = (state: LaneState, now: number): boolean => {
  const first = firstIn(state)
  return first !== undefined && now >= first.begunAt + patience
}

/** Numbers from the chain's count on that no transaction has: at most one more than noops can take. */
const missingFrom = ({ slots, transactions }: LaneState, counted: bigint): ReadonlyArray<bigint> => {
  const missing: Array<bigint> = []
  for (let number = counted; number < slots.next && missing.length <= mostAhead; number++) {
    if (!transactions.has(number)) missing.push(number)
  }
  return missing
}

/** The most noops that are sent at once: nodes hold few transactions of one account. */
const atOnce = 16

const fill = Effect.fnUntraced(function* (
  state: LaneState,
  missing: ReadonlyArray<bigint>,
  counted: bigint,
  chainHead: ChainHead
): Effect.fn.Return<ReadonlyArray<TrackedTransaction>, Stopped> {
  const { address, capacity, funds, lease, scheme, slots, store } = state
  const { noop } = scheme
  const behind = `the chain counts ${counted} transactions of ${lease.lane}, the records are at ${slots.next}`
  if (missing.length > mostAhead) {
    yield* Effect.logError(
      `${behind}: too many numbers are missing for noops; the chain was reset and the database kept, or the node is wrong`
    )
    return []
  }
  if (chainHead.fees !== undefined && chainHead.fees.maximum > chainHead.fees.ceiling) return []
  const room = yield* roomFor(state)
  const sent: Array<TrackedTransaction> = []
  for (const number of missing.slice(0, Math.min(capacity, atOnce))) {
    const prepared = yield* Effect.result(noop({ lane: address, number }, chainHead))
    if (prepared._tag === "Failure") {
      yield* Effect.logWarning(`${behind}: no noop could be signed for the missing number ${number}`, prepared.failure)
      return sent
    }
    const expense = { cost: prepared.success.cost, callers: [] }
    if (room.broken(expense).length > 0) {
      yield* Effect.logWarning(`${behind}: the noop for the missing number ${number} waits for room below the ceiling`)
      return sent
    }
    room.spend(expense)
    yield* Effect.logWarning(`${behind}: a noop takes the missing number ${number}`)
    const onRecord = yield* store.fillGap(lease, number, prepared.success)
    // A transaction that was closed has bytes of its own, which may still be included in place of the noop.
    const transaction = yield* PaymentReading.ofTransaction(scheme, onRecord, yield* Clock.currentTimeMillis)
    state.transactions.set(number, transaction)
    funds.forget()
    yield* send(state, transaction)
    sent.push(transaction)
  }
  return sent
})

/** A node with changing counts could make the lane sign noops for ever: they cost no more than all settling may. */
const roomFor = Effect.fnUntraced(function* ({ limits, scheme, store }: LaneState) {
  if (!SpendLimits.hold(limits, scheme.network, [])) return SpendLimits.unlimited
  const since = (yield* store.now) - SpendLimits.periodMillis
  return SpendLimits.room(limits, scheme.network, yield* store.books(scheme.network, since))
})
