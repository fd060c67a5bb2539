/**
 * Notices the first push of a delivery that this process puts on record, so that a failpoint can strike the second leg of payments.
 */
import { Delivery, type PaymentStore } from "@pontage/core"
import * as Effect from "effect/Effect"

import type { Mutation } from "../Mutation.ts"

type Store = PaymentStore.PaymentStore["Service"]

let isThere = false

/** Whether a push is on record. */
export const isOnRecord = (): boolean => isThere

/** The same mutation, with a store that notices. */
export const noticedBy = (mutation: Mutation): Mutation => ({
  ...mutation,
  store: (store) => noticing(mutation.store?.(store) ?? store)
})

const noticing = (store: Store): Store => ({
  ...store,
  claim: (payment, claim, intake) =>
    Effect.tap(store.claim(payment, claim, intake), () =>
      Effect.sync(() => void (isThere ||= Delivery.isPush(payment.requirements)))
    )
})
