/**
 * Payments on record that somebody else has settled while they waited: a verification refuses such a payment, though it
 * is this payment that has used its authorization. The payee has the money, so the payer of a bound payment gets what it was
 * for, and the payer of any other is not told to sign again.
 */
import * as Effect from "effect/Effect"

import type { PaymentError } from "../../protocol/PaymentError.ts"
import type { PaymentFailure } from "../../protocol/PaymentFailure.ts"
import { ChainUnavailable } from "../../protocol/ProtocolError.ts"
import type { ValidationError } from "../../protocol/ValidationError.ts"
import type { Payment, SchemeFacilitator } from "../../scheme/SchemeFacilitator.ts"
import type { StoredPayment } from "../store/PaymentStore.ts"
import { observedPaymentOf } from "./TrackedTransaction.ts"

/**
 * The state of an authorization on the chain, for a payment on record that was refused now: its transfer is `made`, a final block
 * proves that it is `impossible`, or it is `possible` still.
 */
export type TransferState = "made" | "impossible" | "possible"

/**
 * Asks the chain for the transfer of a payment on record, made after it was taken in: every refusal may be due to it, because a
 * transfer changes what the payer holds, and a scheme may judge a payer before it looks for a transfer. `startedAt` is when this
 * process began to settle, in Unix milliseconds. Fails with `ChainUnavailable` while the chain does not show by what an
 * authorization was used or is over: whoever is told then that the payment is no good signs another one, and may pay twice.
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
  if (conclusion._tag === "Unused") return "impossible"
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

/** Whether a failure is a verdict about the payment, and not about those who were asked for it. */
export const isVerdict = (failure: PaymentFailure): failure is PaymentError | ValidationError =>
  failure._tag === "PaymentError" || failure._tag === "ValidationError"

/** Whether a refusal says that the authorization is used, or over. */
const saysOver = (refusal: PaymentError | ValidationError): boolean =>
  refusal._tag === "ValidationError" ? refusal.reason === "already_used" : refusal.code === "EXPIRED_PAYMENT"

const unknown = ({ network }: SchemeFacilitator, { paymentId }: StoredPayment) =>
  new ChainUnavailable({
    network,
    message: `${network} does not show yet whether ${paymentId} was settled by somebody else; send the same payment again later, do not sign a new one`
  })
