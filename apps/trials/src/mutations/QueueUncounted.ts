/**
 * The mutation that lets every payment into a lane's queue: the count of waiting payments is always zero.
 */
import type { PaymentStore } from "@pontage/core"
import * as Effect from "effect/Effect"

type Store = PaymentStore.PaymentStore["Service"]

export const queueUncounted = {
  store: (store: Store): Store => ({ ...store, waitingBy: () => Effect.succeed([]) })
}
