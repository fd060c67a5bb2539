/**
 * A payment's position in a queue that is longer than one submission: callers take turns, and so do the payers of each (`FairShare`,
 * `PaymentStore.queuedInTurn`). A payer with many payments waits for its own, and delays each other payer by one turn at most.
 */

import type { QueueShare } from "../store/PaymentStore.ts"

/** Counts the payments that leave the queue before a new one of this payer and caller does. */
export const before = (
  shares: ReadonlyArray<QueueShare>,
  { caller, payer }: Pick<QueueShare, "caller" | "payer">
): number => {
  const theirs = shares.filter((share) => share.caller === caller)
  const own = theirs.find((share) => share.payer === payer)?.waiting ?? 0
  const place =
    own + total(theirs.filter((share) => share.payer !== payer).map(({ waiting }) => Math.min(waiting, own + 1)))
  const others = new Map<string, number>()
  for (const share of shares) {
    if (share.caller !== caller) others.set(share.caller, (others.get(share.caller) ?? 0) + share.waiting)
  }
  return place + total([...others.values()].map((waiting) => Math.min(waiting, place + 1)))
}

const total = (counts: ReadonlyArray<number>): number => counts.reduce((sum, count) => sum + count, 0)
