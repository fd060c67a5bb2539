/**
 * Answers the endpoints about payments: from the presented payment to the facilitator and back to a verdict.
 */
import {
  type FacilitatorApi,
  Facilitator,
  PaymentId,
  type PaymentRequest,
  Settlement,
  type ValidationError
} from "@pontage/core"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Result from "effect/Result"

import { Caller } from "./CallerKeys.ts"
import { Forbidden, UnknownPayment } from "./FacilitatorFault.ts"
import { FacilitatorHttpApi } from "./FacilitatorHttpApi.ts"
import * as FacilitatorMetrics from "./FacilitatorMetrics.ts"
import * as FacilitatorVerdict from "./FacilitatorVerdict.ts"
import * as PresentedPayment from "./PresentedPayment.ts"

type Body = typeof PresentedPayment.VerifyRequest.Type
type VerifyAnswer = typeof FacilitatorApi.VerifyResponse.Type
type SettleAnswer = typeof FacilitatorApi.SettleResponse.Type

/**
 * What servers call.
 *
 * @category layers
 */
export const layerPayments = HttpApiBuilder.group(
  FacilitatorHttpApi,
  "payments",
  Effect.fnUntraced(function* (handlers) {
    const facilitator = yield* Facilitator
    return handlers.handleAll({
      verify: ({ payload }) => verify(facilitator, payload),
      settle: ({ payload: { claim, ...body } }) =>
        transact("settle", body, (request) => FacilitatorVerdict.ofSettle(request, facilitator.settle(request, claim))),
      claim: ({ payload: { claim, ...body } }) =>
        transact("claim", body, (request) => FacilitatorVerdict.ofClaim(request, facilitator.claim(request, claim))),
      finish: ({ params, payload }) => finish(facilitator, params.id, payload)
    })
  })
)

/**
 * What anybody may ask.
 *
 * @category layers
 */
export const layerRecords = HttpApiBuilder.group(
  FacilitatorHttpApi,
  "records",
  Effect.fnUntraced(function* (handlers) {
    const facilitator = yield* Facilitator
    return handlers.handleAll({
      payment: ({ params }) => payment(facilitator, params.id),
      supported: () => Effect.catch(facilitator.supported, FacilitatorVerdict.cannotTell)
    })
  })
)

const verify = (facilitator: Facilitator["Service"], body: Body) =>
  FacilitatorMetrics.measured(
    "verify",
    outcomeOfVerify,
    presented(
      body,
      (request) => FacilitatorVerdict.ofVerify(facilitator.verify(request)),
      FacilitatorVerdict.unreadableVerify
    )
  )

const transact = <E extends { readonly error: string }>(
  operation: "settle" | "claim",
  body: Body,
  answer: (request: PaymentRequest) => Effect.Effect<SettleAnswer, E>
) =>
  FacilitatorMetrics.measured(
    operation,
    outcomeOfTransaction,
    presented(body, answer, (failure) =>
      FacilitatorVerdict.unreadableTransaction(body.paymentRequirements.network, failure)
    )
  )

const finish = (
  facilitator: Facilitator["Service"],
  id: string,
  { claimId, outcome }: typeof FacilitatorApi.FinishRequest.Type
) =>
  FacilitatorMetrics.measured(
    "finish",
    () => outcome,
    Effect.catch(facilitator.finish(id, claimId, outcome), FacilitatorVerdict.ofFinishFailure)
  )

/** A caller that may not have this payee paid learns nothing about the payment. */
const presented = Effect.fnUntraced(function* <A, E>(
  body: Body,
  answer: (request: PaymentRequest) => Effect.Effect<A, E>,
  unreadable: (failure: ValidationError) => A
) {
  const { paymentRequirements } = body
  const caller = yield* Caller
  if (!caller.mayHavePaid(paymentRequirements)) {
    const { network, payTo } = paymentRequirements
    return yield* new Forbidden({ message: `this API key is not for payments to ${payTo} on ${network}` })
  }
  const request = PresentedPayment.toRequest(body)
  return Result.isSuccess(request) ? yield* answer(request.success) : unreadable(request.failure)
})

const payment = Effect.fnUntraced(function* (facilitator: Facilitator["Service"], id: string) {
  const record = PaymentId.isPaymentId(id)
    ? yield* Effect.catch(facilitator.payment(id), FacilitatorVerdict.cannotTell)
    : undefined
  return record ?? (yield* new UnknownPayment({ message: "nobody here knows this payment" }))
})

const outcomeOfVerify = ({ code, isValid, reason }: VerifyAnswer): string =>
  isValid ? "valid" : (code ?? reason ?? "invalid")

const outcomeOfTransaction = ({ code, execution = "granted", reason, status, success }: SettleAnswer): string => {
  if (code !== undefined || reason !== undefined) return code ?? reason ?? "refused"
  if (execution !== "granted") return execution
  if (!success) return "pending"
  return Settlement.isSettled(status) ? "settled" : "granted"
}
