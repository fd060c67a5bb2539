/**
 * The places of a lane: its pending transactions against its capacity. A signer's transactions all take places. Where payers send
 * their own, a transaction that may never be included loses its place, so that it blocks no other payer.
 */
import * as Duration from "effect/Duration"

import type { StoredPayment } from "../store/PaymentStore.ts"
import { type LaneState, withOpenSlot } from "./LaneState.ts"
import type { TrackedTransaction } from "./TrackedTransaction.ts"

/** A payer's own transaction loses its place after this time in no block; healthy ones are included within two blocks. */
const placeMillis = Duration.toMillis("12 seconds")
/** The most pending transactions without a place, as a multiple of the capacity: each is observed. */
const mostWithoutPlace = 16
/** A lane is crowded with more than this multiple of its capacity without a place. */
const crowd = 2
/** The time for which a payer counts as late; milliseconds. */
const latenessMillis = Duration.toMillis("1 hour")

/**
 * Notes the payers of payments that ended unused, where payers send their own transactions: each may have one pending transaction
 * at a time, for an hour.
 */
export const noteLate = ({ address, late }: LaneState, ended: ReadonlyArray<StoredPayment>, now: number): void => {
  if (address !== "") return
  for (const { authorization, status } of ended) {
    if (status !== "expired") continue
    late.set(authorization.payer, now + latenessMillis)
  }
}

/**
 * Whether a transaction has a place in its lane. Where payers send their own, a transaction that a node did not take as new, or that
 * is in no block for 12 seconds, may never be included: it is watched until its validity is over, and blocks no other.
 */
export const hasPlace = ({ address }: LaneState, { begunAt, doubtful }: TrackedTransaction, now: number): boolean =>
  address !== "" || (!doubtful && now < begunAt + placeMillis)

/**
 * Whether each payer may have one pending transaction only, because too many have no place. An attacker that wants to keep a lane
 * busy with transactions that are never included then needs an account for each of them.
 */
export const isCrowded = (state: LaneState, now: number): boolean =>
  withOpenSlot(state).filter((transaction) => !hasPlace(state, transaction, now)).length > crowd * state.capacity

/** The number of taken places at a time in Unix milliseconds. */
export const placesTaken = (state: LaneState, now: number): number => {
  const all = withOpenSlot(state)
  const placed = all.filter((transaction) => hasPlace(state, transaction, now)).length
  return placed + Math.max(0, all.length - placed - mostWithoutPlace * state.capacity)
}
