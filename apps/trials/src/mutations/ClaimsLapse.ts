/**
 * The claim of a dead call holds until a lease has lapsed: neither the shop nor the restarted process resumes it or gives
 * it back.
 */
import { type PaymentStore, Execution } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

type Store = PaymentStore.PaymentStore["Service"]

export const claimsLapse = {
  store: (store: Store): Store => ({
    ...store,
    claim: (payment, claim, intake) =>
      Effect.gen(function* () {
        const known = yield* store.find(payment.paymentId)
        const result = yield* store.claim(payment, claim, intake)
        const now = yield* Clock.currentTimeMillis
        const isOwn = known === undefined || known.execution.holder?.claimId === claim?.id
        const isOver = now >= (known?.history[0]?.at ?? 0) + Execution.leaseMillis
        return result._tag === "Claimed" && result.execution === "granted" && !isOwn && !isOver
          ? { ...result, execution: "held" as const }
          : result
      })
  })
}
