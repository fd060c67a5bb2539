/**
 * Payments that were examined in this process a moment ago: their lane's worker need not decode and verify them again.
 */
import * as Duration from "effect/Duration"

import type { Payment } from "../../scheme/SchemeFacilitator.ts"

/** How long an examination holds: a payer may empty the account at any time. */
const freshness = Duration.toMillis("5 seconds")

/** So many are remembered; a process that has more on their way verifies the rest twice. */
const capacity = 10_000

/**
 * The payments.
 *
 * @category models
 */
export interface ExaminedPayments {
  /** Remembers a payment that was found good at this time (Unix milliseconds). */
  readonly add: (paymentId: string, payment: Payment, at: number) => void
  /** Takes a payment out, and tells whether it needs no other examination. */
  readonly take: (
    paymentId: string,
    now: number
  ) => { readonly payment: Payment; readonly isFresh: boolean } | undefined
}

/**
 * Remembers nothing yet.
 *
 * @category constructors
 */
export const make = (): ExaminedPayments => {
  const known = new Map<string, { readonly payment: Payment; readonly at: number }>()
  return {
    add: (paymentId, payment, at) => {
      known.delete(paymentId)
      known.set(paymentId, { payment, at })
      const [oldest] = known.keys()
      if (known.size > capacity && oldest !== undefined) known.delete(oldest)
    },
    take: (paymentId, now) => {
      const found = known.get(paymentId)
      if (found === undefined) return undefined
      known.delete(paymentId)
      return { payment: found.payment, isFresh: now - found.at < freshness }
    }
  }
}
