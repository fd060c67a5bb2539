/**
 * Payments on record that somebody else has settled while they waited: a verification calls such a payment used, though it
 * is this payment that has used it. The payee has the money, so the payer of a bound payment gets what it was for.
 */
import * as Effect from "effect/Effect"

import type { PaymentFailure } from "../../protocol/PaymentFailure.ts"
import type { ChainUnavailable } from "../../protocol/ProtocolError.ts"
import type { Payment, SchemeFacilitator } from "../../scheme/SchemeFacilitator.ts"
import type { StoredPayment } from "../store/PaymentStore.ts"
import { passengerOf } from "./TrackedTransaction.ts"

/**
 * Whether a refusal may be due to the payment's own transfer, by somebody else's hand: it is used, or over by now.
 *
 * @category guards
 */
export const mayExplain = ({ authorization }: Pick<Payment, "authorization">, refusal: PaymentFailure): boolean =>
  authorization.binding !== undefined &&
  (refusal._tag === "ValidationError"
    ? refusal.reason === "already_used"
    : refusal._tag === "PaymentError" && refusal.code === "EXPIRED_PAYMENT")

/**
 * Whether the chain shows the transfer of a payment on record, made after it was taken in. `startedAt` is when this process
 * began to settle, in Unix milliseconds.
 *
 * @category combinators
 */
export const isSettled = Effect.fnUntraced(function* (
  half: SchemeFacilitator,
  stored: StoredPayment,
  payment: Payment,
  startedAt: number
): Effect.fn.Return<boolean, ChainUnavailable> {
  const { head } = yield* half.survey
  const conclusion = yield* half.conclude(passengerOf({ stored, payment, concluded: false }, head.number, startedAt))
  return conclusion._tag === "Settled"
})
