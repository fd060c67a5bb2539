/** The environment of the store's laws; leases are granted by counting. */
import { PaymentStoreLaws } from "@pontage/core/testing"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"

/** Each lease of a lane has the epoch after the one before. */
export const counting = (
  elapse: PaymentStoreLaws.StoreSubject["elapse"] = (millis) => TestClock.adjust(millis)
): Layer.Layer<PaymentStoreLaws.Subject> => {
  const epochs = new Map<string, number>()
  return Layer.succeed(PaymentStoreLaws.Subject, {
    elapse,
    lease: (lane) =>
      Effect.sync(() => {
        const epoch = (epochs.get(lane) ?? 0) + 1
        epochs.set(lane, epoch)
        return { lane, epoch, isValid: () => true }
      })
  })
}
