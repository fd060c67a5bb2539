/**
 * Each claim leaves some 16 kB behind.
 */
import type { PaymentStore } from "@pontage/core"
import * as Effect from "effect/Effect"

const leaked: Array<ReadonlyArray<number>> = []
const length = 2_000

export const memoryLeak = {
  store: (store: PaymentStore.PaymentStore["Service"]): PaymentStore.PaymentStore["Service"] => ({
    ...store,
    claim: (...claim: Parameters<typeof store.claim>) =>
      Effect.tap(store.claim(...claim), () =>
        Effect.sync(() => void leaked.push(Array.from({ length }, (_, index) => index + leaked.length)))
      )
  })
}
