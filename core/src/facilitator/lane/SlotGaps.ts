/**
 * Numbers of a signer that the lane has left out and no transaction takes: the chain takes none after them, so that every payment
 * of the signer would expire. They come from a count that is not true any more: a reorganisation has taken a stranger's
 * transactions back, or a node has counted wrongly. A transaction that does nothing is signed for each, once the count has stayed
 * below it for a few blocks.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

import type { PreparedTransaction, ChainHead } from "../../scheme/SchemeFacilitator.ts"
import { pendingIn, type LaneState, send, type Stopped } from "./LaneState.ts"
import * as SlotWatch from "./SlotWatch.ts"
import * as SpendLimits from "./SpendLimits.ts"
import type { TrackedTransaction } from "./TrackedTransaction.ts"

/** Between looks, while nothing is missing; milliseconds. */
const lookPause = Duration.toMillis("3 seconds")
/** A transaction that is next in its lane and in no block after so long may have a gap before it; milliseconds. */
const patience = Duration.toMillis("4 seconds")
/** A number is missing for good when so many blocks have not used it: one node may be that far behind another. */
const blocksMissing = 2n
/** The most numbers that a count moves the lane ahead of final blocks, and the most that are filled. */
const mostAhead = 64n

/**
 * How much of a count is believed. A signer's key may be used elsewhere, by many
 * transactions: those in final blocks are there for certain, and of the others so many that their numbers can be filled, should
 * the count not be true.
 */
export const believed = (state: Pick<LaneState, "scheme" | "address">, counted: bigint): Effect.Effect<bigint> =>
  counted <= mostAhead
    ? Effect.succeed(counted)
    : Effect.match(state.scheme.nextSlot(state.address, "final"), {
        // A node that does not know the state of final blocks: without a belief the lane would stand.
        onFailure: () => counted,
        onSuccess: (final) => (counted < final + mostAhead ? counted : final + mostAhead)
      })

/** Moves the lane to a count of the chain that is higher than its next number. */
export const skip = Effect.fnUntraced(function* (state: LaneState, counted: bigint): Effect.fn.Return<void, Stopped> {
  if (state.orphaned === true) return
  const next = counted > state.next ? yield* believed(state, counted) : state.next
  if (next <= state.next) return
  state.next = yield* state.store.skipTo(state.lease, next)
  Object.assign(state.slots, SlotWatch.make())
})

/**
 * Looks for numbers that are missing, and signs for them; returns what was sent. It asks nothing as long as every number below
 * the lane's next one is known to be used or on its way.
 */
export const heal = Effect.fnUntraced(function* (
  state: LaneState
): Effect.fn.Return<ReadonlyArray<TrackedTransaction>, Stopped> {
  const { address, scheme, slots } = state
  const now = yield* Clock.currentTimeMillis
  if (address === "" || state.orphaned === true || now < slots.nextLook || (slots.isOver && !isStuck(state, now)))
    return []
  slots.nextLook = now + lookPause
  const counted = yield* asked(scheme.nextSlot(address, "included"))
  if (counted === undefined) return []
  const missing = missingFrom(state, counted)
  const [first] = missing
  if (first === undefined && slots.isOver) {
    slots.missed = undefined
    return []
  }
  const chainHead = yield* asked(scheme.chainHead)
  if (chainHead === undefined) return []
  if (first === undefined) {
    watch(slots, chainHead)
    return []
  }
  slots.nextLook = 0
  if (first >= slots.confirmed && !isMissingStill(slots, first, chainHead)) return []
  // A node that has fallen behind counts too few: what final blocks have used is used.
  const final = yield* asked(scheme.nextSlot(address, "final"))
  if (final === undefined || final > first) return []
  slots.missed = undefined
  slots.confirmed = state.next
  return yield* fill(state, missing, counted, chainHead)
})

const isMissingStill = (slots: SlotWatch.SlotWatch, first: bigint, { head }: ChainHead): boolean => {
  if (slots.missed?.first !== first) slots.missed = { first, head: head.number }
  return head.number >= slots.missed.head + blocksMissing
}

const asked = <A, E>(question: Effect.Effect<A, E>): Effect.Effect<A | undefined> =>
  Effect.catch(question, (error) =>
    Effect.as(Effect.logDebug("the chain could not be asked for a lane's numbers", error), undefined)
  )

/** Whether what is next in the lane has been on its way for longer than blocks take. */
const isStuck = (state: LaneState, now: number): boolean => {
  const [some, ...others] = pendingIn(state)
  if (some === undefined) return false
  const first = others.reduce((a, b) => (b.number < a.number ? b : a), some)
  return now >= first.begunAt + patience
}

/** Numbers from the chain's count on that no flight has, and no more of them than one too many. */
const missingFrom = ({ transactions, next }: LaneState, counted: bigint): ReadonlyArray<bigint> => {
  const missing: Array<bigint> = []
  for (let number = counted; number < next && missing.length <= mostAhead; number++) {
    if (!transactions.has(number)) missing.push(number)
  }
  return missing
}

const watch = (slots: SlotWatch.SlotWatch, { final, head }: ChainHead): void => {
  slots.missed = undefined
  slots.since ??= head.number
  if (final >= slots.since) slots.isOver = true
}

/** At most so many are sent at once: nodes hold few transactions of one account. */
const atOnce = 16

const fill = Effect.fnUntraced(function* (
  state: LaneState,
  missing: ReadonlyArray<bigint>,
  counted: bigint,
  chainHead: ChainHead
): Effect.fn.Return<ReadonlyArray<TrackedTransaction>, Stopped> {
  const { address, capacity, scheme, lease, next, store } = state
  const { noop: sign } = scheme
  const behind = `the chain counts ${counted} transactions of ${lease.lane}, the records are at ${next}`
  if (missing.length > mostAhead) {
    yield* Effect.logError(
      `${behind}: too many numbers are missing to be filled; the chain was begun anew under old records, or the node is wrong`
    )
    return []
  }
  if (chainHead.fees !== undefined && chainHead.fees.maximum > chainHead.fees.ceiling) return []
  const room = yield* roomFor(state)
  const sent: Array<TrackedTransaction> = []
  for (const number of missing.slice(0, Math.min(capacity, atOnce))) {
    const filler = yield* Effect.result(sign({ lane: address, number }, chainHead))
    if (filler._tag === "Failure") {
      yield* Effect.logWarning(`${behind}: the missing number ${number} could not be signed for`, filler.failure)
      return sent
    }
    const expense = { cost: filler.success.cost, callers: [] }
    if (room.broken(expense).length > 0) {
      yield* Effect.logWarning(`${behind}: the missing number ${number} waits for room below the ceiling of gas`)
      return sent
    }
    room.spend(expense)
    yield* Effect.logWarning(`${behind}: a transaction that does nothing takes the missing number ${number}`)
    yield* store.fillGap(lease, number, filler.success)
    const transaction = toAboard(number, filler.success, yield* Clock.currentTimeMillis)
    state.transactions.set(number, transaction)
    state.gasMoney = undefined
    yield* send(state, transaction)
    sent.push(transaction)
  }
  return sent
})

/** A node whose counts come and go could have us sign for ever: that costs no more than all settling may. */
const roomFor = Effect.fnUntraced(function* ({ limits, scheme, store }: LaneState) {
  if (!SpendLimits.hold(limits, scheme.network, [])) return SpendLimits.unlimited
  const since = (yield* store.now) - SpendLimits.periodMillis
  return SpendLimits.room(limits, scheme.network, yield* store.books(scheme.network, since))
})

const toAboard = (number: bigint, prepared: PreparedTransaction, begunAt: number): TrackedTransaction => ({
  number,
  begunAt,
  doubtful: false,
  attempts: [prepared],
  payments: [],
  unreadable: [],
  inclusion: undefined,
  replacedAt: undefined,
  cancelled: false,
  unrecorded: false
})
