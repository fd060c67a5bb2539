/**
 * Payments on record that a third party has settled while they waited: a verification refuses such a payment, though the payment
 * itself has used its authorization. The payee has the money, so the payer of a bound payment gets the resource, and the payer of any
 * other is not asked to sign again.
 */
import * as Effect from "effect/Effect"

import type { PaymentError } from "../../protocol/PaymentError.ts"
import type { PaymentFailure } from "../../protocol/PaymentFailure.ts"
import { ChainUnavailable } from "../../protocol/ProtocolError.ts"
import type { ValidationError } from "../../protocol/ValidationError.ts"
import type { Conclusion, Payment, SchemeFacilitator } from "../../scheme/SchemeFacilitator.ts"
import type { StoredPayment } from "../store/PaymentStore.ts"
import { observedPaymentOf } from "./TrackedTransaction.ts"

/** The proof of a final block that a payment's transfer is impossible. */
export type Unused = Extract<Conclusion, { readonly _tag: "Unused" }>

/**
 * The state of an authorization on the chain, for a payment on record that was refused now: its transfer is `made`, it is `possible`
 * still, or a final block proves that it never will be made.
 */
export type TransferState = "made" | "possible" | Unused

/**
 * Queries the chain for the transfer of a payment on record, made after its intake. Every refusal may be due to it, because a
 * transfer changes the payer's balance, and a scheme may judge a payer before it looks for a transfer. `startedAt` is the start of
 * this process, in Unix milliseconds. Fails with `ChainUnavailable` while the chain does not show how a used or expired authorization
 * ended: a payer that is refused then signs another one, and may pay twice.
 */
export const stateOf = Effect.fnUntraced(function* (
  scheme: SchemeFacilitator,
  stored: StoredPayment,
  payment: Payment,
  refusal: PaymentError | ValidationError,
  startedAt: number
): Effect.fn.Return<TransferState, ChainUnavailable> {
  const conclusion = yield* ask(scheme, stored, payment, startedAt)
  if (conclusion._tag === "Settled") return "made"
  if (conclusion._tag === "Unused") return conclusion
  return saysOver(refusal) ? yield* unknown(scheme, stored) : "possible"
})

/** Whether the chain shows the transfer of a payment on record. */
export const isMade = (
  scheme: SchemeFacilitator,
  stored: StoredPayment,
  payment: Payment,
  startedAt: number
): Effect.Effect<boolean, ChainUnavailable> =>
  Effect.map(ask(scheme, stored, payment, startedAt), ({ _tag }) => _tag === "Settled")

const ask = (scheme: SchemeFacilitator, stored: StoredPayment, payment: Payment, startedAt: number) =>
  Effect.flatMap(scheme.chainHead, ({ head }) =>
    scheme.conclude(observedPaymentOf({ stored, payment, concluded: false }, head.number, startedAt))
  )

/** Whether a failure is a verdict about the payment, and not a fault of the chain or the facilitator. */
export const isVerdict = (failure: PaymentFailure): failure is PaymentError | ValidationError =>
  failure._tag === "PaymentError" || failure._tag === "ValidationError"

/** Whether a refusal says that the authorization is used, or that its validity is over. */
const saysOver = (refusal: PaymentError | ValidationError): boolean =>
  refusal._tag === "ValidationError" ? refusal.reason === "already_used" : refusal.code === "EXPIRED_PAYMENT"

const unknown = ({ network }: SchemeFacilitator, { paymentId }: StoredPayment) =>
  new ChainUnavailable({
    network,
    message: `${network} does not show yet whether ${paymentId} was settled by a third party; send the same payment again later, do not sign a new one`
  })
