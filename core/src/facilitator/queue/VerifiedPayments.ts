/**
 * Payments that were examined in this process a moment ago: their lane's worker need not decode and verify them again. A
 * payment's id names an authorization's nonce and not what was signed, so one that was examined here counts only for a
 * record of the very same payload: another process may have taken in something else under that nonce.
 */
import * as Duration from "effect/Duration"
import * as Equal from "effect/Equal"

import * as BoundedMap from "../../platform/BoundedMap.ts"
import type { Payment } from "../../scheme/SchemeFacilitator.ts"
import type { NewPayment, StoredPayment } from "../store/PaymentStore.ts"

/** How long an examination holds: a payer may empty the account at any time. */
const freshness = Duration.toMillis("5 seconds")

/** So many are remembered; a process that has more on their way verifies the rest twice. */
const capacity = 10_000

/** The payments. */
export interface VerifiedPayments {
  /** Remembers a payment that was found good at this time (Unix milliseconds). */
  readonly add: (presented: Presented, payment: Payment, at: number) => void
  /** Takes what was examined of a record's payload out, and tells when that was and whether it needs no other examination. */
  readonly take: (
    stored: StoredPayment,
    now: number
  ) => { readonly payment: Payment; readonly at: number; readonly isFresh: boolean } | undefined
}

/** What was examined. */
export type Presented = Pick<NewPayment, "paymentId" | "payload">

/** Remembers nothing yet. */
export const make = (): VerifiedPayments => {
  const known = BoundedMap.oldestOut<
    string,
    { readonly payload: Presented["payload"]; readonly payment: Payment; readonly at: number }
  >(capacity)
  return {
    add: ({ payload, paymentId }, payment, at) => {
      known.set(paymentId, { payload, payment, at })
    },
    take: ({ caller, payload, paymentId, requirements }, now) => {
      const found = known.get(paymentId)
      if (found === undefined) return undefined
      known.delete(paymentId)
      if (!Equal.equals(found.payload, payload)) return undefined
      const { at, payment } = found
      return { payment: { ...payment, requirements, caller }, at, isFresh: now - at < freshness }
    }
  }
}
