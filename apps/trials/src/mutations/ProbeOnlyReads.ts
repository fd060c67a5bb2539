/**
 * The records are taken to be well as long as they can be read.
 */
import type { PaymentStore } from "@pontage/core"
import * as Effect from "effect/Effect"

type Store = PaymentStore.PaymentStore["Service"]

export const probeOnlyReads = {
  store: (store: Store): Store => ({ ...store, probe: Effect.asVoid(store.find("nobody's")) })
}
