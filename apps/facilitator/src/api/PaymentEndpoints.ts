/**
 * Endpoints of payments: from the presented payment to the facilitator and back to a verdict.
 */
import {
  type DrawsApi,
  FacilitatorApi,
  Facilitator,
  FacilitatorSchemeRegistry,
  type PaymentError,
  type PaymentRequest,
  type PaymentRequirements,
  Settlement,
  type ValidationError
} from "@pontage/core"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import type * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as Result from "effect/Result"

import { RequestingCaller } from "../callers/RequestingCaller.ts"
import type { SettledPayment } from "../discovery/DiscoveredResource.ts"
import { Discovery } from "../discovery/Discovery.ts"
import { responseOf, Forbidden } from "../http/FacilitatorFault.ts"
import { defective } from "../http/RequestFaults.ts"
import * as FacilitatorMetrics from "../metrics/FacilitatorMetrics.ts"
import * as DrawRights from "./DrawRights.ts"
import { claiming, FacilitatorHttpApi, finishing, finishingSeveral, settling, verifying } from "./FacilitatorHttpApi.ts"
import * as FacilitatorVerdict from "./FacilitatorVerdict.ts"
import { jsonEndpoint } from "./JsonEndpoint.ts"
import * as PresentedPayment from "./PresentedPayment.ts"

/** A payment, and its buyer's origin as the caller names it. */
export interface BuyersPayment extends PresentedPayment.PresentedPayment {
  readonly buyer: string | undefined
}
type VerifyResponse = typeof FacilitatorApi.VerifyResponse.Type
type SettleResponse = typeof FacilitatorApi.SettleResponse.Type
type VoucherResponse = typeof DrawsApi.VoucherResponse.Type

/** Endpoints for servers. */
export const layerPayments = HttpApiBuilder.group(
  FacilitatorHttpApi,
  "payments",
  Effect.fnUntraced(function* (handlers) {
    const { schemes } = yield* FacilitatorSchemeRegistry.FacilitatorSchemeRegistry
    const services: Services = { facilitator: yield* Facilitator, schemes }
    const discovery = yield* Discovery
    const { facilitator } = services
    return handlers
      .handleRaw(
        "verify",
        jsonEndpoint(verifying, (payload, asked) => {
          const payment = PresentedPayment.read(payload)
          return Effect.map(verify(services, withBuyer(asked, payment)), payment.verified)
        })
      )
      .handleRaw(
        "settle",
        jsonEndpoint(settling, (payload, asked) => {
          const payment = PresentedPayment.read(payload)
          const claim = payload.protocolVersion === undefined ? undefined : payload.claim
          const settled = transact(services, "settle", withBuyer(asked, payment), (request) => {
            const right = claim === undefined ? Effect.void : DrawRights.demand(schemes, request.paymentRequirements)
            const response = FacilitatorVerdict.ofSettle(request, facilitator.settle(request, claim))
            return Effect.tap(Effect.andThen(right, response), (response) => {
              const sold = soldOf(request, response)
              return sold === undefined ? Effect.void : discovery.settled(sold)
            })
          })
          return Effect.map(settled, payment.settled)
        })
      )
      .handleRaw(
        "claim",
        jsonEndpoint(claiming, ({ claim, ...body }, asked) =>
          transact(services, "claim", withBuyer(asked, PresentedPayment.readOurs(body)), (request) =>
            Effect.andThen(
              DrawRights.demand(schemes, request.paymentRequirements),
              FacilitatorVerdict.ofClaim(request, facilitator.claim(request, claim))
            )
          )
        )
      )
      .handleRaw(
        "finish",
        jsonEndpoint(finishing, (payload, { params }) => finish(facilitator, params.id, payload))
      )
      .handleRaw(
        "finishSeveral",
        jsonEndpoint(finishingSeveral, ({ runs }) => finishSeveral(facilitator, runs))
      )
  })
)

/** With the place that the caller names in the request's header. */
export const withBuyer = (
  { request }: { readonly request: HttpServerRequest.HttpServerRequest },
  payment: PresentedPayment.PresentedPayment
): BuyersPayment => ({ ...payment, buyer: FacilitatorApi.buyerOf(request.headers[FacilitatorApi.buyerField]) })

/** The settled payment with the resource that it names; `undefined` if no money has moved. */
const soldOf = (
  { paymentRequirements: { resource, scheme } }: PaymentRequest,
  { amount, asset, network, payTo, paymentId, status, success }: SettleResponse
): SettledPayment | undefined =>
  success && Settlement.isSettled(status) && amount !== undefined && asset !== undefined && payTo !== undefined
    ? { paymentId, scheme, network, payTo, asset, amount, resource }
    : undefined

/** The services that judge payments. */
export interface Services {
  readonly facilitator: Facilitator["Service"]
  readonly schemes: FacilitatorSchemeRegistry.FacilitatorSchemeRegistry["Service"]["schemes"]
}

const verify = (services: Services, payment: BuyersPayment) =>
  FacilitatorMetrics.measured(
    "verify",
    outcomeOfVerify,
    respondTo(
      services,
      payment,
      (request) => FacilitatorVerdict.ofVerify(services.facilitator.verify(request)),
      FacilitatorVerdict.unreadableVerify
    )
  )

/** Answers a request for an execution, and counts it. */
export const transact = <E extends { readonly error: string }>(
  services: Services,
  operation: "settle" | "claim" | "draw",
  payment: BuyersPayment,
  respond: (request: PaymentRequest) => Effect.Effect<SettleResponse, E>
) =>
  FacilitatorMetrics.measured(
    operation,
    outcomeOfTransaction,
    respondTo(services, payment, respond, (failure) =>
      FacilitatorVerdict.unreadableTransaction(payment.network, failure)
    )
  )

/** Reports the end of an execution. A refused report costs the caller extra tokens, because it read the records in vain. */
const finish = (
  facilitator: Facilitator["Service"],
  id: string,
  { charge, claimId, outcome }: typeof FacilitatorApi.FinishRequest.Type
) =>
  FacilitatorMetrics.measured(
    "finish",
    () => outcome,
    facilitator.finish(id, claimId, outcome, charge).pipe(
      Effect.catch(FacilitatorVerdict.ofFinishFailure),
      Effect.tapError(({ error }) =>
        error === "finish_refused" || error === FacilitatorApi.unknownPayment
          ? Effect.flatMap(RequestingCaller, ({ limits }) => limits.penalise("runs"))
          : Effect.void
      )
    )
  )

/** Reports several ends at once, so that a store that groups writes needs one commit for all. */
const finishSeveral = Effect.fnUntraced(function* (
  facilitator: Facilitator["Service"],
  runs: (typeof FacilitatorApi.FinishesRequest.Type)["runs"]
) {
  const { limits } = yield* RequestingCaller
  yield* limits.count("runs", runs.length - 1)
  const answers = yield* Effect.forEach(
    runs,
    ({ paymentId, ...run }) =>
      Effect.match(Effect.catchDefect(finish(facilitator, paymentId, run), defective), {
        onSuccess: (record) => ({ status: 200, body: record }) as const,
        onFailure: responseOf
      }),
    { concurrency: "unbounded" }
  )
  return { answers }
})

type PaymentResponse = VerifyResponse | SettleResponse | VoucherResponse

/**
 * Checks the caller's rights and limits around a payment. A caller without the right to this payee learns nothing about the
 * payment. Origins with too many bad payments and payers over their rate are refused before the payment is checked.
 */
export const respondTo = Effect.fnUntraced(function* <A extends PaymentResponse, E, R>(
  { schemes }: Services,
  { buyer, paymentRequirements, request }: BuyersPayment,
  respond: (request: PaymentRequest) => Effect.Effect<A, E, R>,
  unreadable: (failure: PaymentError | ValidationError) => A
) {
  const { limits, mayHavePaid } = yield* RequestingCaller
  if (Result.isSuccess(paymentRequirements) && !mayHavePaid(paymentRequirements.success)) {
    return yield* notRegistered(paymentRequirements.success)
  }
  const payer =
    limits.limitsPayers && Result.isSuccess(request)
      ? yield* PresentedPayment.payerOf(schemes, request.success)
      : undefined
  yield* limits.admitBuyer(buyer, payer)
  if (Result.isFailure(request)) {
    yield* limits.blame(buyer, undefined)
    return unreadable(request.failure)
  }
  if (payer !== undefined) yield* limits.admitPayer(payer)
  const response = yield* respond(request.success)
  if (isRefused(response)) yield* limits.blame(buyer, payer)
  if (payer !== undefined && isProvenPayer(response)) yield* limits.countPayer(payer)
  if (payer !== undefined && isGood(response)) yield* limits.trust(buyer, payer)
  return response
})

const notRegistered = ({
  asset = "an asset that is not named",
  network,
  payTo
}: PaymentRequirements.PaymentRequirements) =>
  new Forbidden({ message: `payments to ${payTo} in ${asset} on ${network} are not registered for this caller` })

/** Includes used payments: the payments of a shop are public, and one without a record here costs a request to the chain. */
const isRefused = ({ code, reason }: PaymentResponse): boolean => code !== undefined || reason !== undefined

/** Whether the payer's signature was valid; the balance is only checked after it. Invalid signatures do not count for a payer. */
const isProvenPayer = ({ code, reason }: PaymentResponse): boolean =>
  code === "INSUFFICIENT_BALANCE" || (code === undefined && reason === undefined)

/** Whether the payment was accepted: neither refused nor pending. */
const isGood = (response: PaymentResponse): boolean => {
  if ("isValid" in response) return response.isValid
  return "success" in response ? response.success || response.execution === "granted" : response.voucher !== undefined
}

const outcomeOfVerify = ({ code, isValid, reason }: VerifyResponse): string =>
  isValid ? "valid" : (code ?? reason ?? "invalid")

const outcomeOfTransaction = ({ code, execution = "granted", reason, status, success }: SettleResponse): string => {
  if (code !== undefined || reason !== undefined) return code ?? reason ?? "refused"
  if (execution !== "granted") return execution
  if (!success) return "pending"
  return Settlement.isSettled(status) ? "settled" : "granted"
}
