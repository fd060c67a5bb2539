/**
 * Concludes a request whose validity is over: it moved the money, or it never will. The masterchain reverts nothing, so an
 * account as of a block whose time is past the validity is the proof.
 */
import type { ChainUnavailable, Conclusion, ObservedPayment } from "@pontage/core"
import * as Effect from "effect/Effect"

import type { SignedJettonTransfer } from "../payment/ExactTonReading.ts"
import * as TonPayer from "../payment/TonPayer.ts"
import * as TonObservation from "./TonObservation.ts"

/** Seconds by which a block of the basechain may be older than the masterchain block that commits it. */
export const overlap = 5

const pending: Conclusion = { _tag: "Pending" }

/** Concludes a payment; `Pending` while its request is valid. */
export const conclude = Effect.fnUntraced(function* (
  context: TonObservation.Context,
  observed: ObservedPayment<SignedJettonTransfer>
): Effect.fn.Return<Conclusion, ChainUnavailable> {
  const { payment } = observed
  const { payload: signed } = payment
  const account = yield* context.rpc.account(signed.payer)
  const { head } = account
  const isUsed = TonPayer.isUsed(signed, account)
  const walletTransaction = isUsed ? yield* context.searches.find(payment, account) : undefined
  const observation =
    walletTransaction && (yield* TonObservation.observeTransfer(context, observed, walletTransaction, undefined))
  if (observation !== undefined && observation._tag !== "Failed") return observation
  if (head.time < signed.request.validUntil + overlap) return pending
  // A payer's own message that never ran has cost the relayer its share of the message that went with it. It may have been lost
  // on the way, or with a process, so the payer is not blamed. A payment that was never prepared has cost nothing.
  if (signed.kind === "external" && observed.unprepared !== true)
    yield* context.expenses.recordUnused(payment, (yield* context.tariff).external, false)
  yield* TonObservation.forget(context, payment)
  return { _tag: "Unused", at: { number: head.number, hash: head.hash } }
})
