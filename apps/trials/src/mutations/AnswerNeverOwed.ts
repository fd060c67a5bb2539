/**
 * A payment without a claim is on record as answered from the beginning: its first call gets the response if it lives until
 * then, and every later call gets the refusal that the payment was used.
 */
import type { PaymentStore } from "@pontage/core"
import * as Effect from "effect/Effect"

type Store = PaymentStore.PaymentStore["Service"]

export const answerNeverOwed = {
  store: (store: Store): Store => {
    const first = new Set<string>()
    return {
      ...store,
      claim: (payment, claim, intake) =>
        Effect.tap(store.claim(payment, claim, intake), (result) => {
          if (claim !== undefined || result._tag !== "Claimed" || !result.created) return Effect.void
          first.add(payment.paymentId)
          return store.takeAnswer(payment.paymentId, "nobody")
        }),
      takeAnswer: (paymentId, call) =>
        Effect.suspend(() => (first.delete(paymentId) ? Effect.succeed(true) : store.takeAnswer(paymentId, call)))
    }
  }
}
