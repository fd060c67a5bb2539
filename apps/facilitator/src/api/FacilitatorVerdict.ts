/**
 * Responses for the facilitator's values and failures. Knowledge about a payment, good or bad, is a verdict with status 200;
 * a failure without a verdict is a fault.
 */
import {
  ChannelCorrection,
  type DrawsApi,
  type FacilitatorApi,
  type PaymentFailure,
  type PaymentRequest,
  type ProtocolError,
  Settlement,
  type Settled,
  type SettlementPending,
  type ValidationError,
  type Verified,
  type VoucherKept
} from "@pontage/core"
import * as Effect from "effect/Effect"

import { TemporarilyUnavailable, FinishRefused, UnknownPayment } from "../http/FacilitatorFault.ts"
import { RequestWarning } from "../http/RequestFaults.ts"

/** Response of `POST /verify`. */
type VerifyResponse = typeof FacilitatorApi.VerifyResponse.Type

/** Response of `POST /settle` and `POST /claims`. */
type SettleResponse = typeof FacilitatorApi.SettleResponse.Type

/** The response to `POST /verify`. */
export const ofVerify = (
  verified: Effect.Effect<Verified, PaymentFailure>
): Effect.Effect<VerifyResponse, TemporarilyUnavailable> =>
  Effect.matchEffect(verified, {
    onSuccess: (verified) => Effect.succeed({ isValid: true, ...verified }),
    onFailure: (failure) =>
      failure._tag === "PaymentError" || failure._tag === "ValidationError"
        ? Effect.succeed({ isValid: false, ...reasonOf(failure) })
        : unavailable(failure)
  })

/** The response to `POST /settle`: success means that the money has moved. */
export const ofSettle = (
  request: PaymentRequest,
  settled: Effect.Effect<Settled, PaymentFailure>
): Effect.Effect<SettleResponse, TemporarilyUnavailable> =>
  ofTransaction(request, settled, ({ status }) => Settlement.isSettled(status))

/** The response to `POST /claims`: success means that the caller may serve the request. */
export const ofClaim = (
  request: PaymentRequest,
  claimed: Effect.Effect<Settled, PaymentFailure>
): Effect.Effect<SettleResponse, TemporarilyUnavailable> =>
  ofTransaction(request, claimed, ({ execution }) => execution === "granted")

/** The response to `POST /vouchers`. */
export const ofVoucher = (
  kept: Effect.Effect<VoucherKept, PaymentFailure>
): Effect.Effect<typeof DrawsApi.VoucherResponse.Type, TemporarilyUnavailable> =>
  Effect.matchEffect(kept, {
    onSuccess: ({ _tag, standing, transaction }) =>
      Effect.succeed({ voucher: voucherEnds[_tag], standing, transaction }),
    onFailure: (failure) =>
      failure._tag === "PaymentError" || failure._tag === "ValidationError"
        ? Effect.succeed(refusedVoucher(failure))
        : unavailable(failure)
  })

const voucherEnds = { Kept: "kept", Lower: "lower", Closed: "closed" } as const

/** The verdict of `POST /vouchers` on a payment that is none. */
export const refusedVoucher = (failure: Refused): typeof DrawsApi.VoucherResponse.Type => ({
  ...reasonOf(failure),
  ...factsOf(failure)
})

/** The verdict of `POST /verify` on a malformed payment. */
export const unreadableVerify = (failure: Refused): VerifyResponse => ({ isValid: false, ...reasonOf(failure) })

/** The verdict of `POST /settle` and `POST /claims` on a malformed payment. */
export const unreadableTransaction = (network: string, failure: Refused): SettleResponse => refused(network, failure)

/** The fault of a refused `finish`: the payment is unknown, or the execution's state forbids it. */
export const ofFinishFailure = (
  failure: ValidationError | ProtocolError
): Effect.Effect<never, TemporarilyUnavailable | FinishRefused | UnknownPayment> => {
  if (failure._tag !== "ValidationError") return unavailable(failure)
  const { detail, message, reason } = failure
  return Effect.fail(
    detail === "unknown_payment"
      ? new UnknownPayment({ message, reason, detail })
      : new FinishRefused({ message, reason, detail })
  )
}

/** Fails without a verdict: the log gets the cause, the caller an instruction. */
export const unavailable = (failure: ProtocolError): Effect.Effect<never, TemporarilyUnavailable> =>
  Effect.andThen(
    Effect.flatMap(RequestWarning, (warn) => warn(kindOf(failure), `${failure._tag}: ${failure.message}`)),
    Effect.fail(new TemporarilyUnavailable(publicFault(failure)))
  )

const kindOf = (failure: ProtocolError): string =>
  failure._tag === "ChainUnavailable" ? `${failure._tag} ${failure.network}` : failure._tag

const ofTransaction = (
  { paymentRequirements: { network } }: PaymentRequest,
  settled: Effect.Effect<Settled, PaymentFailure>,
  isSuccess: (settled: Settled) => boolean
): Effect.Effect<SettleResponse, TemporarilyUnavailable> =>
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
          return unavailable(failure)
      }
    }
  })

const fieldsOf = ({ entitlement, execution, ...value }: Settled) => ({
  ...value,
  ...(execution === undefined ? {} : { execution }),
  ...(entitlement === undefined ? {} : { entitlement })
})

type Refused = Extract<PaymentFailure, { readonly _tag: "PaymentError" | "ValidationError" }>

const reasonOf = (failure: Refused) => {
  const { detail, message } = failure
  return failure._tag === "PaymentError"
    ? { code: failure.code, detail, message }
    : { reason: failure.reason, detail, message }
}

/** The state of a channel, by which the payer of a refused voucher signs its next one. */
const factsOf = (failure: Refused) => (failure instanceof ChannelCorrection ? { extra: failure.facts } : {})

/** A refused payment has no record of its own, hence no id. */
const refused = (network: string, failure: Refused): SettleResponse => ({
  success: false,
  paymentId: "",
  status: "rejected",
  transaction: "",
  network,
  ...reasonOf(failure),
  ...factsOf(failure)
})

const pending = (network: string, { message, paymentId, status, transaction }: SettlementPending): SettleResponse => ({
  success: false,
  paymentId,
  status,
  transaction: transaction ?? "",
  network,
  message
})

/** Seconds until a retry when the failure names none. */
const usualRetry = 2

const publicFault = (failure: ProtocolError): ConstructorParameters<typeof TemporarilyUnavailable>[0] => {
  const retryAfter = (failure._tag === "FacilitatorUnavailable" ? failure.retryAfter : undefined) ?? usualRetry
  switch (failure._tag) {
    case "ChainUnavailable":
      return {
        error: "chain_unavailable",
        message: `${failure.network} does not respond now, so nothing is decided: send the same request again.`,
        retryAfter
      }
    case "FacilitatorUnavailable":
      return { error: "facilitator_unavailable", message: failure.message, retryAfter }
    case "Misconfigured":
      return {
        error: "misconfigured",
        message: "The facilitator is not configured for this. Its operator finds the reason in the log.",
        retryAfter
      }
    case "SettlementPending":
      return { error: "settlement_pending", message: failure.message, retryAfter }
  }
}
