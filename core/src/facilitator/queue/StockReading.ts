/** The present state of the stock that a payment is delivered from. */
import * as Effect from "effect/Effect"

import type { Stock } from "../../scheme/Onward.ts"
import type { PaymentStore } from "../store/PaymentStore.ts"

/** Reads the stock. The time comes first, so that what is paid out meanwhile counts as reserved. */
export const coverOf = Effect.fnUntraced(function* (
  { now }: Pick<PaymentStore["Service"], "now">,
  { balance, perDay }: Stock
) {
  const readAt = yield* now
  return { readAt, perDay, balance: yield* balance }
})
