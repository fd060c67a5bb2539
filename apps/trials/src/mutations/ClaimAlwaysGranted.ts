/**
 * Every claim is granted the run of its payment, whoever runs it already: one authorization buys as many executions as
 * there are servers that ask.
 */
import type { PaymentStore } from "@pontage/core"
import * as Effect from "effect/Effect"

type Store = PaymentStore.PaymentStore["Service"]

export const claimAlwaysGranted = {
  store: (store: Store): Store => ({
    ...store,
    claim: (payment, claim, intake) =>
      Effect.map(store.claim(payment, claim, intake), (result) =>
        result._tag === "Claimed" && claim !== undefined ? { ...result, execution: "granted" } : result
      )
  })
}
