/**
 * Asking a facilitator what became of a payment. A module of its own: a bundle that never asks holds none of it.
 */
import { FacilitatorClient, OptionCheck, type Settlement } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

/** What is known of a payment; `undefined` where nothing is. It is believed when it says that a payment is dead. */
export type PaymentLookup = (paymentId: string) => Promise<Settlement.PaymentRecord | undefined>

const { url: _, ...keys } = FacilitatorClient.keys
const check = OptionCheck.options<Omit<FacilitatorClient.Options, "url">>(keys)

/**
 * Asks the facilitator at this address (`GET /payments/{id}`): the `lookup` of a paying fetch. Throws
 * `Misconfigured` where an option is a mistake; a question that gets no usable answer rejects with
 * `FacilitatorUnavailable`.
 */
export const facilitatorLookup = (
  url: string | URL,
  options: Omit<FacilitatorClient.Options, "url"> = {}
): PaymentLookup => {
  const checked = Result.getOrThrow(OptionCheck.read(check, options, "facilitatorLookup"))
  const facilitator = Effect.runSync(FacilitatorClient.make({ ...checked, url }))
  return (paymentId) => Effect.runPromise(facilitator.payment(paymentId))
}
