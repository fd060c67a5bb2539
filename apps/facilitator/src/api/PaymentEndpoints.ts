/**
 * Answers the endpoints about payments: from the presented payment to the facilitator and back to a verdict.
 */
import {
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
import { answerOf, Forbidden } from "../http/FacilitatorFault.ts"
import { defective } from "../http/RequestFaults.ts"
import * as FacilitatorMetrics from "../metrics/FacilitatorMetrics.ts"
import { claiming, FacilitatorHttpApi, finishing, finishingSeveral, settling, verifying } from "./FacilitatorHttpApi.ts"
import * as FacilitatorVerdict from "./FacilitatorVerdict.ts"
import { answering } from "./JsonEndpoint.ts"
import * as PresentedPayment from "./PresentedPayment.ts"

/** A payment, and the place that it comes from as its caller tells it. */
interface Presented extends PresentedPayment.PresentedPayment {
  readonly buyer: string | undefined
}
type VerifyAnswer = typeof FacilitatorApi.VerifyResponse.Type
type SettleAnswer = typeof FacilitatorApi.SettleResponse.Type

/** What servers call. */
export const layerPayments = HttpApiBuilder.group(
  FacilitatorHttpApi,
  "payments",
  Effect.fnUntraced(function* (handlers) {
    const { schemes } = yield* FacilitatorSchemeRegistry.FacilitatorSchemeRegistry
    const desk: Desk = { facilitator: yield* Facilitator, schemes }
    const { facilitator } = desk
    return handlers
      .handleRaw(
        "verify",
        answering(verifying, (payload, asked) => {
          const payment = PresentedPayment.read(payload)
          return Effect.map(verify(desk, from(asked, payment)), payment.verified)
        })
      )
      .handleRaw(
        "settle",
        answering(settling, (payload, asked) => {
          const payment = PresentedPayment.read(payload)
          const claim = payload.protocolVersion === undefined ? undefined : payload.claim
          const settled = transact(desk, "settle", from(asked, payment), (request) =>
            FacilitatorVerdict.ofSettle(request, facilitator.settle(request, claim))
          )
          return Effect.map(settled, payment.settled)
        })
      )
      .handleRaw(
        "claim",
        answering(claiming, ({ claim, ...body }, asked) =>
          transact(desk, "claim", from(asked, PresentedPayment.readOurs(body)), (request) =>
            FacilitatorVerdict.ofClaim(request, facilitator.claim(request, claim))
          )
        )
      )
      .handleRaw(
        "finish",
        answering(finishing, (payload, { params }) => finish(facilitator, params.id, payload))
      )
      .handleRaw(
        "finishSeveral",
        answering(finishingSeveral, ({ runs }) => finishSeveral(facilitator, runs))
      )
  })
)

const from = (
  { request }: { readonly request: HttpServerRequest.HttpServerRequest },
  payment: PresentedPayment.PresentedPayment
): Presented => ({ ...payment, buyer: FacilitatorApi.buyerOf(request.headers[FacilitatorApi.buyerField]) })

interface Desk {
  readonly facilitator: Facilitator["Service"]
  readonly schemes: FacilitatorSchemeRegistry.FacilitatorSchemeRegistry["Service"]["schemes"]
}

const verify = (desk: Desk, payment: Presented) =>
  FacilitatorMetrics.measured(
    "verify",
    outcomeOfVerify,
    presented(
      desk,
      payment,
      (request) => FacilitatorVerdict.ofVerify(desk.facilitator.verify(request)),
      FacilitatorVerdict.unreadableVerify
    )
  )

const transact = <E extends { readonly error: string }>(
  desk: Desk,
  operation: "settle" | "claim",
  payment: Presented,
  answer: (request: PaymentRequest) => Effect.Effect<SettleAnswer, E>
) =>
  FacilitatorMetrics.measured(
    operation,
    outcomeOfTransaction,
    presented(desk, payment, answer, (failure) => FacilitatorVerdict.unreadableTransaction(payment.network, failure))
  )

/** A run that cannot be finished like this cost a look into the records for nothing. */
const finish = (
  facilitator: Facilitator["Service"],
  id: string,
  { claimId, outcome }: typeof FacilitatorApi.FinishRequest.Type
) =>
  FacilitatorMetrics.measured(
    "finish",
    () => outcome,
    facilitator.finish(id, claimId, outcome).pipe(
      Effect.catch(FacilitatorVerdict.ofFinishFailure),
      Effect.tapError(({ error }) =>
        error === "finish_refused" || error === FacilitatorApi.unknownPayment
          ? Effect.flatMap(RequestingCaller, ({ limits }) => limits.penalise("runs"))
          : Effect.void
      )
    )
  )

/** One after the other would be as good: together they are one commit for a store that groups them. */
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
        onFailure: answerOf
      }),
    { concurrency: "unbounded" }
  )
  return { answers }
})

type Answer = VerifyAnswer | SettleAnswer

/**
 * A caller that may not have this payee paid learns nothing about the payment. Where bad payments come from too often, and a
 * payer that pays too often, waits before anything of its payment is checked.
 */
const presented = Effect.fnUntraced(function* <A extends Answer, E, R>(
  { schemes }: Desk,
  { buyer, paymentRequirements, request }: Presented,
  answer: (request: PaymentRequest) => Effect.Effect<A, E, R>,
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
  const answered = yield* answer(request.success)
  if (isRefused(answered)) yield* limits.blame(buyer, payer)
  if (payer !== undefined && isProvenPayer(answered)) yield* limits.countPayer(payer)
  if (payer !== undefined && isGood(answered)) yield* limits.trust(buyer, payer)
  return answered
})

const notRegistered = ({
  asset = "an asset that is not named",
  network,
  payTo
}: PaymentRequirements.PaymentRequirements) =>
  new Forbidden({ message: `payments to ${payTo} in ${asset} on ${network} are not registered for this caller` })

/** Also what was used already: the payments of a shop are public, and one that is not on record here asks the chain. */
const isRefused = ({ code, reason }: Answer): boolean => code !== undefined || reason !== undefined

/** A signature was good, or nothing would be known of the balance. A payer is not held to what others sign in its name. */
const isProvenPayer = ({ code, reason }: Answer): boolean =>
  code === "INSUFFICIENT_BALANCE" || (code === undefined && reason === undefined)

/** It was neither refused nor left open: the money was there. */
const isGood = (answer: Answer): boolean =>
  "isValid" in answer ? answer.isValid : answer.success || answer.execution === "granted"

const outcomeOfVerify = ({ code, isValid, reason }: VerifyAnswer): string =>
  isValid ? "valid" : (code ?? reason ?? "invalid")

const outcomeOfTransaction = ({ code, execution = "granted", reason, status, success }: SettleAnswer): string => {
  if (code !== undefined || reason !== undefined) return code ?? reason ?? "refused"
  if (execution !== "granted") return execution
  if (!success) return "pending"
  return Settlement.isSettled(status) ? "settled" : "granted"
}
