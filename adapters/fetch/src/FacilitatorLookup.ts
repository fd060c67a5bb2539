/**
 * Asking a facilitator what became of a payment. A module of its own: a bundle that never asks holds none of it.
 */
import { FacilitatorClient, type Settlement } from "@pontage/core"
import * as Effect from "effect/Effect"

/**
 * What is known of a payment; `undefined` where nothing is. It is believed when it says that a payment is dead.
 *
 * @category models
 */
export type PaymentLookup = (paymentId: string) => Promise<Settlement.PaymentRecord | undefined>

/**
 * Asks the facilitator at this address (`GET /payments/{id}`): the `lookup` of a paying fetch. Throws
 * `Misconfigured` where an option is a mistake; a question that gets no usable answer rejects with
 * `FacilitatorUnavailable`.
 *
 * @category constructors
 */
export const facilitatorLookup = (
  url: string | URL,
  options: Omit<FacilitatorClient.Options, "url"> = {}
): PaymentLookup => {
  const facilitator = Effect.runSync(FacilitatorClient.make({ ...options, url }))
  return (paymentId) => Effect.runPromise(facilitator.payment(paymentId))
}
