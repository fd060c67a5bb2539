/**
 * A push is not remembered, and each one has a name of its own: a delivery that takes longer than the pause between two observations is
 * pushed again and again.
 */
import type { PaymentStore, SchemeFacilitator } from "@pontage/core"
import * as Effect from "effect/Effect"

type Store = PaymentStore.PaymentStore["Service"]

/** The number of a push's attempt is at most this. */
const attempts = 1_000

/** A store that does not remember pushes. */
export const forgetting = (store: Store): Store => ({
  ...store,
  deliver: (paymentId, report) => {
    if (report._tag === "Delivered") return store.deliver(paymentId, report)
    const { push: _, ...rest } = report
    return store.deliver(paymentId, rest)
  }
})

const renaming = (scheme: SchemeFacilitator): SchemeFacilitator => {
  const { onward } = scheme
  if (onward === undefined) return scheme
  let pushes = 0
  return {
    ...scheme,
    onward: {
      destination: (payment) => onward.destination(payment),
      observe: (departure) =>
        Effect.map(onward.observe(departure), (observation) => {
          if (observation._tag !== "Ready") return observation
          const { payload, requirements } = observation.push
          const attempt = 1 + (pushes++ % attempts)
          return { ...observation, push: { requirements, payload: { ...Object(payload), attempt } } }
        })
    }
  }
}

export const pushesRepeated = { store: forgetting, scheme: renaming }
