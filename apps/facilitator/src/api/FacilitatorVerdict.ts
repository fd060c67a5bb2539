/**
 * How the facilitator's values and failures become answers. Everything that is known about a payment, good or bad, is a
 * verdict with status 200; what cannot be told is a fault.
 */
import {
  type FacilitatorApi,
  type PaymentFailure,
  type PaymentRequest,
  type ProtocolError,
  Settlement,
  type Settled,
  type SettlementPending,
  type ValidationError,
  type Verified
} from "@pontage/core"
import * as Effect from "effect/Effect"

import { TemporarilyUnavailable, FinishRefused, UnknownPayment } from "../http/FacilitatorFault.ts"
import { RequestWarning } from "../http/RequestFaults.ts"

/** The answer of `POST /verify`. */
type VerifyAnswer = typeof FacilitatorApi.VerifyResponse.Type

/** The answer of `POST /settle` and `POST /claims`. */
type SettleAnswer = typeof FacilitatorApi.SettleResponse.Type

/** The answer to `POST /verify`. */
export const ofVerify = (
  verified: Effect.Effect<Verified, PaymentFailure>
): Effect.Effect<VerifyAnswer, TemporarilyUnavailable> =>
  Effect.matchEffect(verified, {
    onSuccess: ({ payer }) => Effect.succeed({ isValid: true, payer }),
    onFailure: (failure) =>
      failure._tag === "PaymentError" || failure._tag === "ValidationError"
        ? Effect.succeed({ isValid: false, ...wordsOf(failure) })
        : cannotTell(failure)
  })

/** The answer to `POST /settle`: success means that the money has moved. */
export const ofSettle = (
  request: PaymentRequest,
  settled: Effect.Effect<Settled, PaymentFailure>
): Effect.Effect<SettleAnswer, TemporarilyUnavailable> =>
  ofTransaction(request, settled, ({ status }) => Settlement.isSettled(status))

/** The answer to `POST /claims`: success means that the caller may run the resource. */
export const ofClaim = (
  request: PaymentRequest,
  claimed: Effect.Effect<Settled, PaymentFailure>
): Effect.Effect<SettleAnswer, TemporarilyUnavailable> =>
  ofTransaction(request, claimed, ({ execution }) => execution === "granted")

/** The verdict of `POST /verify` on a payment that could not even be read. */
export const unreadableVerify = (failure: Refusal): VerifyAnswer => ({ isValid: false, ...wordsOf(failure) })

/** The verdict of `POST /settle` and `POST /claims` on a payment that could not even be read. */
export const unreadableTransaction = (network: string, failure: Refusal): SettleAnswer => refused(network, failure)

/** A `finish` that was refused: by a payment nobody knows, or by the run's own state. */
export const ofFinishFailure = (
  failure: ValidationError | ProtocolError
): Effect.Effect<never, TemporarilyUnavailable | FinishRefused | UnknownPayment> => {
  if (failure._tag !== "ValidationError") return cannotTell(failure)
  const { detail, message, reason } = failure
  return Effect.fail(
    detail === "unknown_payment"
      ? new UnknownPayment({ message, reason, detail })
      : new FinishRefused({ message, reason, detail })
  )
}

/** Nothing can be told: the log gets what is known, the caller what to do. */
export const cannotTell = (failure: ProtocolError): Effect.Effect<never, TemporarilyUnavailable> =>
  Effect.andThen(
    Effect.flatMap(RequestWarning, (warn) => warn(kindOf(failure), `${failure._tag}: ${failure.message}`)),
    Effect.fail(new TemporarilyUnavailable(publicWords(failure)))
  )

const kindOf = (failure: ProtocolError): string =>
  failure._tag === "ChainUnavailable" ? `${failure._tag} ${failure.network}` : failure._tag

const ofTransaction = (
  { paymentRequirements: { network } }: PaymentRequest,
  settled: Effect.Effect<Settled, PaymentFailure>,
  isSuccess: (settled: Settled) => boolean
): Effect.Effect<SettleAnswer, TemporarilyUnavailable> =>
  Effect.matchEffect(settled, {
    onSuccess: (value) => Effect.succeed({ success: isSuccess(value), ...fieldsOf(value) }),
    onFailure: (failure) => {
      switch (failure._tag) {
        case "PaymentError":
        case "ValidationError":
          return Effect.succeed(refused(network, failure))
        case "SettlementPending":
          return Effect.succeed(pending(network, failure))
        case "ChainUnavailable":
        case "FacilitatorUnavailable":
        case "Misconfigured":
          return cannotTell(failure)
      }
    }
  })

const fieldsOf = ({ entitlement, execution, ...value }: Settled) => ({
  ...value,
  ...(execution === undefined ? {} : { execution }),
  ...(entitlement === undefined ? {} : { entitlement })
})

type Refusal = Extract<PaymentFailure, { readonly _tag: "PaymentError" | "ValidationError" }>

const wordsOf = (failure: Refusal) => {
  const { detail, message } = failure
  return failure._tag === "PaymentError"
    ? { code: failure.code, detail, message }
    : { reason: failure.reason, detail, message }
}

/** A refused payment has no record of its own to be asked for, hence no name. */
const refused = (network: string, failure: Refusal): SettleAnswer => ({
  success: false,
  paymentId: "",
  status: "rejected",
  transaction: "",
  network,
  ...wordsOf(failure)
})

const pending = (network: string, { message, paymentId, status, transaction }: SettlementPending): SettleAnswer => ({
  success: false,
  paymentId,
  status,
  transaction: transaction ?? "",
  network,
  message
})

/** When the same request may make sense again, where nothing better is known; seconds. */
const usualRetry = 2

const publicWords = (failure: ProtocolError): ConstructorParameters<typeof TemporarilyUnavailable>[0] => {
  const retryAfter = (failure._tag === "FacilitatorUnavailable" ? failure.retryAfter : undefined) ?? usualRetry
  switch (failure._tag) {
    case "ChainUnavailable":
      return {
        error: "chain_unavailable",
        message: `${failure.network} cannot be asked now. Nothing is decided: send the same request again.`,
        retryAfter
      }
    case "FacilitatorUnavailable":
      return { error: "facilitator_unavailable", message: failure.message, retryAfter }
    case "Misconfigured":
      return {
        error: "misconfigured",
        message: "The facilitator is not set up for this. Its operator's log says more.",
        retryAfter
      }
    case "SettlementPending":
      return { error: "settlement_pending", message: failure.message, retryAfter }
  }
}
