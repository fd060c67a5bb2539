/**
 * Payments on record that somebody else has settled while they waited: a verification calls such a payment used, though it
 * is this payment that has used it. The payee has the money, so the payer of a bound payment gets what it was for, and the
 * payer of any other is not told to sign again.
 */
import * as Effect from "effect/Effect"

import type { PaymentFailure } from "../../protocol/PaymentFailure.ts"
import { ChainUnavailable } from "../../protocol/ProtocolError.ts"
import type { Payment, SchemeFacilitator } from "../../scheme/SchemeFacilitator.ts"
import type { StoredPayment } from "../store/PaymentStore.ts"
import { observedPaymentOf } from "./TrackedTransaction.ts"

/**
 * Whether a refusal may be due to the payment's own transfer, by somebody else's hand: it is used, or over by now.
 */
export const mayExplain = (refusal: PaymentFailure): boolean =>
  refusal._tag === "ValidationError"
    ? refusal.reason === "already_used"
    : refusal._tag === "PaymentError" && refusal.code === "EXPIRED_PAYMENT"

/**
 * Whether the chain shows the transfer of a payment on record, made after it was taken in; `false` is proven by a final block.
 * `startedAt` is when this process began to settle, in Unix milliseconds. Fails with `ChainUnavailable` while neither is shown:
 * whoever is told then that the payment is no good signs another one, and may pay twice.
 */
export const isSettled = Effect.fnUntraced(function* (
  scheme: SchemeFacilitator,
  stored: StoredPayment,
  payment: Payment,
  startedAt: number
): Effect.fn.Return<boolean, ChainUnavailable> {
  const { head } = yield* scheme.chainHead
  const conclusion = yield* scheme.conclude(
    observedPaymentOf({ stored, payment, concluded: false }, head.number, startedAt)
  )
  return conclusion._tag === "Pending" ? yield* unknown(scheme, stored) : conclusion._tag === "Settled"
})

const unknown = ({ network }: SchemeFacilitator, { paymentId }: StoredPayment) =>
  new ChainUnavailable({
    network,
    message: `${network} does not show yet whether ${paymentId} was settled by somebody else; send the same payment again later, do not sign a new one`
  })
