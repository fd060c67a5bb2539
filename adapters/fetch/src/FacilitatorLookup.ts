/**
 * Asks a facilitator for the state of a payment. A module of its own, so that a bundle without it does not contain it.
 */
import { FacilitatorClient, OptionCheck, type Settlement } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

/**
 * The known state of a payment; `undefined` if it is unknown. A record that says that a payment is dead is believed.
 */
export type PaymentLookup = (paymentId: string) => Promise<Settlement.PaymentRecord | undefined>

const { url: _, ...keys } = FacilitatorClient.keys
const check = OptionCheck.options<Omit<FacilitatorClient.Options, "url">>(keys)

/**
 * Asks the facilitator at this address (`GET /payments/{id}`): the `lookup` of a paying fetch. Throws `Misconfigured`
 * if an option is a mistake; a request without a usable response rejects with `FacilitatorUnavailable`.
 */
export const facilitatorLookup = (
  url: string | URL,
  options: Omit<FacilitatorClient.Options, "url"> = {}
): PaymentLookup => {
  const checked = Result.getOrThrow(OptionCheck.read(check, options, "facilitatorLookup"))
  const facilitator = Effect.runSync(FacilitatorClient.make({ ...checked, url }))
  return (paymentId) => Effect.runPromise(facilitator.payment(paymentId))
}
