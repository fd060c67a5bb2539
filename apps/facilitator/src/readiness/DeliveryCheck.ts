/**
 * The check of deliveries to other networks. Stuck ones are shown and logged, and the service stays ready: their recipients and their
 * bridges cause them, and every other payment settles as before.
 */
import type { PaymentStore } from "@pontage/core"
import * as Effect from "effect/Effect"

import * as DeliveryMetrics from "../metrics/DeliveryMetrics.ts"
import type { DeliveryView, Finding, ReadinessCheck, Trouble } from "./ReadinessCheck.ts"

/** Makes the check. It remembers the pairs of networks that had open deliveries, whose metrics would otherwise stay as they were. */
export const make = (store: PaymentStore.PaymentStore["Service"]): ReadinessCheck => {
  const crossings = new Map<string, DeliveryMetrics.Crossing>()
  return {
    name: "deliveries",
    run: Effect.gen(function* () {
      const open = yield* store.openDeliveries
      for (const { from, to } of open) crossings.set(`${from} ${to}`, { from, to })
      yield* DeliveryMetrics.show([...crossings.values()], open)
      const deliveries = [...crossings.values()].map((crossing) => viewOf(crossing, open))
      return { troubles: deliveries.flatMap(troubleOf), deliveries } satisfies Finding
    }),
    failed: (why) => ({
      troubles: [
        {
          kind: "deliveries_unseen",
          problem: `the deliveries cannot be read: ${why}`,
          mend: "check the database of PONTAGE_STORE and the connection to it"
        }
      ]
    }),
    watched: true
  }
}

const viewOf = (
  { from, to }: DeliveryMetrics.Crossing,
  open: ReadonlyArray<PaymentStore.OpenDeliveries>
): DeliveryView => {
  const countOf = (state: PaymentStore.OpenDeliveries["status"]): number =>
    open.find((one) => one.from === from && one.to === to && one.status === state)?.count ?? 0
  return { from, to, pending: countOf("pending"), stuck: countOf("stuck") }
}

const troubleOf = ({ from, stuck, to }: DeliveryView): ReadonlyArray<Trouble> =>
  stuck === 0
    ? []
    : [
        {
          kind: "delivery_stuck",
          subject: `${from} ${to}`,
          problem: `${stuck} payments have left ${from} and are stuck on their way to ${to}`,
          mend: "GET /payments names each one's reason in delivery.detail; the service goes on trying",
          tolerated: true
        }
      ]
