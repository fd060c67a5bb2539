/**
 * A payment of the operator on a network of another family, where each signing makes another payment. The one on record is sent until a
 * final block proves that it can never be made; only then is another one signed.
 */
import type { Asset, ChainUnavailable, DeliveryObservation, Payouts, PayoutState, Push } from "@pontage/core"
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
    pay: pay(payouts, { asset, recipient: route.recipient, amount: route.amount }, pushed, state)
  }
})

const pay = Effect.fnUntraced(function* (
  payouts: Payouts,
  order: Parameters<Payouts["sign"]>[0],
  pushed: Push | undefined,
  state: PayoutState | undefined
): Effect.fn.Return<DeliveryObservation, ChainUnavailable> {
  if (pushed !== undefined && state?._tag === "Open") return { _tag: "Ready", push: { ...pushed, once: true } }
  const signing = yield* payouts.sign(order)
  switch (signing._tag) {
    case "Waiting":
      return { _tag: "Underway", reason: signing.reason }
    case "Refused":
      return { _tag: "Blocked", reason: `${payouts.network} would refuse it now: ${signing.reason}` }
    case "Signed": {
      const isLastUnsent = state?._tag === "Over" && state.isUnsent
      return { _tag: "Ready", push: { ...signing.push, once: true }, ...(isLastUnsent && { isLastUnsent }) }
    }
  }
})
