/**
 * A lane's queue: reads the payments that may be submitted now, and takes payments out that cannot be. There are no more to submit
 * than the lane has places for; if more wait, callers and payers take turns.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

import type { FacilitatorUnavailable } from "../../protocol/ProtocolError.ts"
import { marginSeconds } from "../OfferCheck.ts"
import * as FairShare from "../queue/FairShare.ts"
import type { LaneExit, StateChange, StoredPayment } from "../store/PaymentStore.ts"
import { hasPlace, isCrowded, placesTaken } from "./LanePlaces.ts"
import { isRejected, type LaneState, withOpenSlot, recordQueued, type Stopped } from "./LaneState.ts"
import { isOpen, type TrackedTransaction, wasSent } from "./TrackedTransaction.ts"

/** The most payments that one look reads. */
export const longestRead = 500
/** The pause between two looks for payments that cannot wait, while the lane is full; milliseconds. */
const fullPause = Duration.toMillis("1 second")

/** The payments to submit, after the batch window where payments share a transaction. */
export const next = Effect.fnUntraced(function* (
  state: LaneState
): Effect.fn.Return<ReadonlyArray<StoredPayment>, FacilitatorUnavailable> {
  const { backlog, orphaned, window } = state
  if (window === undefined || orphaned === true) return yield* read(state)
  const first = yield* read(state, firstLook)
  if (backlog.isFull || first.length === 0 || window.isSkippedBy(first.length)) return first
  yield* window.wait
  const all = yield* read(state)
  window.filled(all.length)
  return all
})

/** The most payments of the look before the batch window: one alone may go at once, and several are read again after it. */
const firstLook = 2

const read = Effect.fnUntraced(function* (
  state: LaneState,
  most = longestRead
): Effect.fn.Return<ReadonlyArray<StoredPayment>, FacilitatorUnavailable> {
  const { backlog, scheme, shares } = state
  const now = yield* Clock.currentTimeMillis
  if (state.orphaned === true) return yield* inTurn(state, longestRead)
  const limit = Math.min(placesIn(state, now) * (scheme.batches?.maximum ?? 1), most)
  backlog.holdsBack = false
  if (limit === 0) return yield* urgent(state, now)
  // The turns do not matter where payments are only counted.
  const isCount = most === firstLook && limit === firstLook && shares === undefined
  const queued = yield* isCount ? oldest(state, limit) : inTurn(state, shares === undefined ? limit : longestRead)
  if (shares === undefined && queued.length <= limit) return queued
  const chosen = FairShare.choose(queued, limit, pendingPayments(state, now), shares, isLateIn(state, now))
  if (chosen.length === Math.min(queued.length, limit)) return chosen
  backlog.holdsBack = true
  const submitted = new Set(chosen)
  return [...chosen, ...queued.filter((one) => !submitted.has(one) && isExpiring(one, now))]
})

/** The payers that may have one pending transaction at a time. */
const isLateIn = (state: LaneState, now: number): ((payer: string) => boolean) =>
  isCrowded(state, now) ? () => true : (payer) => now < (state.late.get(payer) ?? 0)

/** The oldest payments of the queue; if there are more than the limit, those whose turn it is. */
const inTurn = Effect.fnUntraced(function* (state: LaneState, limit: number) {
  const { lease, setAsidePayments, shares, store } = state
  const depth = limit + setAsidePayments.size
  const first = yield* store.queued(lease.lane, depth)
  const queued = first.length < depth ? first : yield* store.queuedInTurn(lease.lane, depth, shares?.payer ?? depth)
  return queued.filter(({ paymentId }) => !setAsidePayments.has(paymentId))
})

/** The oldest payments of the queue, without regard to turns: enough to count them. */
const oldest = ({ lease, setAsidePayments, store }: LaneState, limit: number) =>
  Effect.map(store.queued(lease.lane, limit + setAsidePayments.size), (queued) =>
    queued.filter(({ paymentId }) => !setAsidePayments.has(paymentId))
  )

/** A payer's payments count for its share until they end, a caller's while they have places. */
const pendingPayments = (state: LaneState, now: number): FairShare.PendingPayments => {
  const all = withOpenSlot(state)
  const placed = all.filter((transaction) => hasPlace(state, transaction, now))
  return { ofPayers: openIn(all), ofCallers: openIn(placed) }
}

const openIn = (transactions: ReadonlyArray<TrackedTransaction>): ReadonlyArray<StoredPayment> =>
  transactions.flatMap(({ payments }) => payments.filter(isOpen).map(({ stored }) => stored))

const isExpiring = ({ authorization }: StoredPayment, now: number): boolean =>
  authorization.validBefore * 1000 <= now + marginSeconds * 1000

/** Payments that need no place: their validity is over, or they leave the lane because the node rejects its signer. */
const urgent = Effect.fnUntraced(function* (state: LaneState, now: number) {
  const { backlog } = state
  if (now < backlog.lookedAt + fullPause) return []
  backlog.lookedAt = now
  const queued = yield* inTurn(state, longestRead)
  return queued.filter((one) => isRejected(state) || isExpiring(one, now))
})

/** A full lane takes payments again when half of it is free: payments submitted together share queries and writes. */
const placesIn = (state: LaneState, now: number): number => {
  const { backlog } = state
  const capacity = Math.min(state.capacity, state.funds.payable())
  const free = Math.max(0, capacity - placesTaken(state, now))
  backlog.isFull = free === 0 || (backlog.isFull && free * 2 < capacity)
  return backlog.isFull ? 0 : free
}

/** Takes payments out of the lane as they came; those that were sent before stay in it, set aside. */
export const putBack = (
  state: LaneState,
  payments: ReadonlyArray<StoredPayment>,
  note: string,
  exit?: LaneExit
): Effect.Effect<void, Stopped> =>
  Effect.suspend(() => {
    for (const one of payments) if (wasSent(one)) state.setAsidePayments.add(one.paymentId)
    return recordQueued(
      state,
      payments.filter((one) => !wasSent(one)).map((one) => leaving(one, note, exit))
    )
  })

/** The change by which a payment that was never sent leaves its lane: the next call for it makes it wait in another. */
export const leaving = ({ paymentId }: StoredPayment, note: string, exit?: LaneExit): StateChange => ({
  paymentId,
  from: ["accepted"],
  to: "accepted",
  leave: true,
  note: note.slice(0, longestNote),
  ...(exit !== undefined && { exit })
})

/** The longest note of a record, in characters: a node's message ends up in it. */
const longestNote = 300
