/**
 * Payments that this process verified a moment ago: their lane's worker need not decode and verify them again. A payment's id names
 * an authorization's nonce and not the signed terms, so a verification counts only for a record with the same payload: another process
 * may have taken in a different payload under that nonce.
 */
import * as Duration from "effect/Duration"
import * as Equal from "effect/Equal"

import * as BoundedMap from "../../platform/BoundedMap.ts"
import type { Payment } from "../../scheme/SchemeFacilitator.ts"
import type { NewPayment, StoredPayment } from "../store/PaymentStore.ts"

/** The time for which a verification is fresh: a payer may empty the account at any time; milliseconds. */
const freshness = Duration.toMillis("5 seconds")

/** The most remembered payments; a process with more pending ones verifies the rest twice. */
const capacity = 10_000

/** The payments. */
export interface VerifiedPayments {
  /** Remembers a payment that was verified at this time (Unix milliseconds). */
  readonly add: (verified: Identity, payment: Payment, at: number) => void
  /** Takes out the verification of a record's payload: the payment, the time (Unix milliseconds), and whether it is still fresh. */
  readonly take: (
    stored: StoredPayment,
    now: number
  ) => { readonly payment: Payment; readonly at: number; readonly isFresh: boolean } | undefined
}

/** The identity of a verified payment. */
export type Identity = Pick<NewPayment, "paymentId" | "payload">

/** An empty memory. */
export const make = (): VerifiedPayments => {
  const known = BoundedMap.oldestOut<
    string,
    { readonly payload: Identity["payload"]; readonly payment: Payment; readonly at: number }
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
