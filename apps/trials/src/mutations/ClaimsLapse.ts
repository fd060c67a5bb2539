/**
 * A claim that was left without an answer is resumed by nobody and given back by nobody: its lease has to lapse.
 */
import type { PaymentStore } from "@pontage/core"
import * as Effect from "effect/Effect"

type Store = PaymentStore.PaymentStore["Service"]

/**
 * @category mutations
 */
export const claimsLapse = {
  store: (store: Store): Store => ({
    ...store,
    claim: (payment, claim, intake) => {
      if (claim === undefined) return store.claim(payment, claim, intake)
      const { resumes: _, ...alone } = claim
      return store.claim(payment, alone, intake)
    },
    finish: (paymentId, claimId, outcome, caller) =>
      outcome === "unanswered" ? Effect.undefined : store.finish(paymentId, claimId, outcome, caller)
  })
}
