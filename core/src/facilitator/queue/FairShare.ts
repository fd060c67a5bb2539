/**
 * Chooses the payments that go first if not all that wait in a lane find a place: callers take turns, and so do the payers of each
 * caller. The one with the fewest pending payments comes next, and among equals the oldest. So the payments of one payer, or of one
 * caller, make others wait for no more than their share. Limits, where there are any, bound the pending payments of one payer and of
 * one caller: the rest waits and blocks no other.
 */
import type { StoredPayment } from "../store/PaymentStore.ts"

/** The most pending payments of one payer, and of one caller, in a lane. */
export interface Limits {
  readonly payer: number
  readonly caller: number
}

/** The part of a payment that the choice depends on. */
export type Sharer = Pick<StoredPayment, "caller" | "serial"> & {
  readonly authorization: Pick<StoredPayment["authorization"], "payer">
}

/** The pending payments: those that a payer's limit counts, and among them those that a caller's limit counts. */
export interface PendingPayments {
  readonly ofPayers: Iterable<Sharer>
  readonly ofCallers: Iterable<Sharer>
}

/** Chooses at most `most` of the waiting payments. Where there are limits, a late payer has at most one pending payment. */
export const choose = <A extends Sharer>(
  waiting: ReadonlyArray<A>,
  most: number,
  pending: PendingPayments,
  limits: Limits | undefined,
  isLate: (payer: string) => boolean = () => false
): ReadonlyArray<A> => {
  if (limits === undefined && waiting.length <= most) return waiting
  const byPayer = placed(waiting, counted(pending.ofPayers, payerOf), payerOf)
  const allowed =
    limits === undefined
      ? byPayer
      : byPayer.filter(({ one, place }) => place < (isLate(one.authorization.payer) ? 1 : limits.payer))
  const inTurn = allowed.toSorted((a, b) => a.place - b.place || older(a.one, b.one)).map(({ one }) => one)
  const byCaller = placed(inTurn, counted(pending.ofCallers, callerOf), callerOf)
  return byCaller
    .filter(({ one, place }) => limits === undefined || one.caller === "" || place < limits.caller)
    .toSorted((a, b) => a.place - b.place)
    .slice(0, most)
    .map(({ one }) => one)
}

const callerOf = ({ caller }: Sharer): string => caller
/** The signature was proven before the payment could wait: no other payer can use up its share, through any caller. */
const payerOf = ({ authorization }: Sharer): string => authorization.payer

const older = (a: Sharer, b: Sharer): number => (a.serial < b.serial ? -1 : a.serial > b.serial ? 1 : 0)

const counted = (all: Iterable<Sharer>, keyOf: (one: Sharer) => string): Map<string, number> => {
  const counts = new Map<string, number>()
  for (const one of all) counts.set(keyOf(one), (counts.get(keyOf(one)) ?? 0) + 1)
  return counts
}

/** Each payment with the number of its kind that come before it: pending, or earlier in this order. */
const placed = <A extends Sharer>(
  order: ReadonlyArray<A>,
  before: Map<string, number>,
  keyOf: (one: Sharer) => string
): ReadonlyArray<{ readonly one: A; readonly place: number }> => {
  const next = new Map(before)
  return order.map((one) => {
    const key = keyOf(one)
    const place = next.get(key) ?? 0
    next.set(key, place + 1)
    return { one, place }
  })
}
