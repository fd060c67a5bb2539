import { describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"

import * as MemoryPaymentStore from "../../src/facilitator/MemoryPaymentStore.ts"
import * as PaymentStoreLaws from "../../src/testing/PaymentStoreLaws.ts"

const subject = Layer.sync(PaymentStoreLaws.Subject, () => {
  let epoch = 0
  return PaymentStoreLaws.Subject.of({
    elapse: (millis) => TestClock.adjust(millis),
    lease: (lane) => Effect.sync(() => ({ lane, epoch: ++epoch, isValid: () => true }))
  })
})

describe("the laws of a payment store", () => {
  for (const law of PaymentStoreLaws.all) {
    it.effect(law.name, () => Effect.provide(law.effect, Layer.merge(MemoryPaymentStore.layer, subject)))
  }

  it.effect("hold one after another on one store", () =>
    Effect.provide(
      Effect.forEach(PaymentStoreLaws.all, ({ effect }) => effect),
      Layer.merge(MemoryPaymentStore.layer, subject)
    )
  )
})
