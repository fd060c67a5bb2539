/**
 * A payment of the operator on a network of another family, where each signing makes another payment. The one on record is sent until a
 * final block proves that it can never be made; only then is another one signed, and only if the core can record it.
 */
import type {
  Asset,
  ChainUnavailable,
  DeliveryObservation,
  PayoutOrder,
  Payouts,
  PayoutState,
  Push,
  PushSigning
} from "@pontage/core"
import * as Effect from "effect/Effect"

import type { SignedInventory } from "../payment/InventoryReading.ts"

/** Makes the payment of a route, whose last signing is on record as `pushed`. */
export const make = Effect.fnUntraced(function* (
  payouts: Payouts,
  asset: Asset,
  { route }: SignedInventory,
  pushed: Push | undefined
) {
  const state = pushed && (yield* payouts.observe(pushed))
  return {
    end: () => Effect.succeed(state?._tag === "Delivered" ? state : undefined),
    pay: Effect.succeed(pay(payouts, { asset, recipient: route.recipient, amount: route.amount }, pushed, state))
  }
})

const pay = (
  payouts: Payouts,
  order: PayoutOrder,
  pushed: Push | undefined,
  state: PayoutState | undefined
): DeliveryObservation => {
  if (pushed !== undefined && state?._tag === "Open") return ready(pushed)
  const isLastUnsent = state?._tag === "Over" && state.isUnsent
  return { _tag: "Unsigned", sign: signed(payouts, order), ...(isLastUnsent && { isLastUnsent }) }
}

const ready = (push: Push): PushSigning => ({ _tag: "Ready", push: { ...push, once: true } })

const signed = (payouts: Payouts, order: PayoutOrder): Effect.Effect<PushSigning, ChainUnavailable> =>
  Effect.map(payouts.sign(order), (signing) => {
    switch (signing._tag) {
      case "Waiting":
        return { _tag: "Underway", reason: signing.reason }
      case "Refused":
        return { _tag: "Blocked", reason: `${payouts.network} would refuse it now: ${signing.reason}` }
      case "Signed":
        return ready(signing.push)
    }
  })
