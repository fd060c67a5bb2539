/**
 * A transaction that was in a block once counts as included for ever: a settlement that a reorganisation has taken back stays
 * settled in the records.
 */
import type { SchemeFacilitator, TransactionObservation } from "@pontage/core"
import * as Effect from "effect/Effect"

export const reorganisationUnseen = {
  scheme: (scheme: SchemeFacilitator): SchemeFacilitator => {
    const seen = new Map<string, TransactionObservation>()
    return {
      ...scheme,
      isCanonical: () => Effect.succeed(true),
      observe: (observedPayments, attempts) =>
        Effect.suspend(() => {
          const key = `${attempts[0]?.transaction} ${observedPayments.length}`
          const known = seen.get(key)
          if (known !== undefined) return Effect.succeed(known)
          return Effect.tap(scheme.observe(observedPayments, attempts), (observation) =>
            Effect.sync(() => {
              if (observation.observations.every(({ _tag }) => _tag === "Settled")) seen.set(key, observation)
            })
          )
        })
    }
  }
}
