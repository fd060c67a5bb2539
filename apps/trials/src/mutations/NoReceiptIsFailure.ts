/**
 * A transaction without a receipt is taken for a failed one: whatever takes longer than the first observation is reported to
 * its caller as refused, and paid all the same.
 */
import { refuse, type SchemeFacilitator } from "@pontage/core"
import * as Effect from "effect/Effect"

export const noReceiptIsFailure = {
  scheme: (scheme: SchemeFacilitator): SchemeFacilitator => ({
    ...scheme,
    observe: (observedPayments, attempts) =>
      Effect.map(scheme.observe(observedPayments, attempts), (observation) => ({
        ...observation,
        observations: observation.observations.map((one) =>
          one._tag === "Pending"
            ? { _tag: "Failed", transaction: attempts.at(-1)?.transaction ?? "", error: failed }
            : one
        )
      }))
  })
}

const failed = refuse("EXPIRED_PAYMENT", "no_receipt", "the transaction has no receipt")
