/**
 * Which of the payments that wait in a lane go first where not all of them find room: callers take turns, and so do the
 * payers of each caller. Whoever has the least in flight comes next, and among equals the oldest. So one payer's payments,
 * or one caller's, make nobody else wait for more than their share. Where there are limits, no more of one payer's payments
 * are in flight at once, nor of one caller's: the rest waits without holding anybody up.
 */
import type { StoredPayment } from "../store/PaymentStore.ts"

/** How many payments of one payer, and of one caller, may be in flight in a lane at once. */
export interface Limits {
  readonly payer: number
  readonly caller: number
}

/** A payment, as far as the choice depends on it. */
export type Sharer = Pick<StoredPayment, "caller" | "serial"> & {
  readonly authorization: Pick<StoredPayment["authorization"], "payer">
}

/** The payments in flight: those that a payer's limit counts, and among them those that a caller's limit counts. */
export interface InFlight {
  readonly ofPayers: Iterable<Sharer>
  readonly ofCallers: Iterable<Sharer>
}

/**
 * Chooses at most so many of the payments that wait. A payer that is late, where there are limits, has one in flight at most.
 */
export const choose = <A extends Sharer>(
  waiting: ReadonlyArray<A>,
  most: number,
  inFlight: InFlight,
  limits: Limits | undefined,
  isLate: (payer: string) => boolean = () => false
): ReadonlyArray<A> => {
  if (limits === undefined && waiting.length <= most) return waiting
  const byPayer = placed(waiting, counted(inFlight.ofPayers, payerOf), payerOf)
  const allowed =
    limits === undefined
      ? byPayer
      : byPayer.filter(({ one, place }) => place < (isLate(one.authorization.payer) ? 1 : limits.payer))
  const inTurn = allowed.toSorted((a, b) => a.place - b.place || older(a.one, b.one)).map(({ one }) => one)
  const byCaller = placed(inTurn, counted(inFlight.ofCallers, callerOf), callerOf)
  return byCaller
    .filter(({ one, place }) => limits === undefined || one.caller === "" || place < limits.caller)
    .toSorted((a, b) => a.place - b.place)
    .slice(0, most)
    .map(({ one }) => one)
}

const callerOf = ({ caller }: Sharer): string => caller
/** Its signature was proven before it could wait: nobody else can use its share up, through whatever caller. */
const payerOf = ({ authorization }: Sharer): string => authorization.payer

const older = (a: Sharer, b: Sharer): number => (a.serial < b.serial ? -1 : a.serial > b.serial ? 1 : 0)

const counted = (all: Iterable<Sharer>, keyOf: (one: Sharer) => string): Map<string, number> => {
  const counts = new Map<string, number>()
  for (const one of all) counts.set(keyOf(one), (counts.get(keyOf(one)) ?? 0) + 1)
  return counts
}

/** Each with how many of its kind come before it: in flight, or earlier in this order. */
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
