/**
 * The facilitator over HTTP, as the same service as the one in this process. It accepts only a complete, well-formed
 * response with status 200: every other result is `FacilitatorUnavailable`, which servers response with 503 and "send the
 * same payment again", because a `/settle` without a response may have settled.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import * as OptionCheck from "../../protocol/OptionCheck.ts"
import * as PaymentId from "../../protocol/PaymentId.ts"
import { protocolVersion } from "../../protocol/PaymentPayload.ts"
import type { FacilitatorUnavailable, Misconfigured } from "../../protocol/ProtocolError.ts"
import { PaymentRecord } from "../../protocol/Settlement.ts"
import * as Supported from "../../protocol/Supported.ts"
import { invalid, type ValidationError } from "../../protocol/ValidationError.ts"
import * as FacilitatorApi from "../../wire/pontage/FacilitatorApi.ts"
import * as DrawId from "../channel/DrawId.ts"
import { CurrentBuyer } from "../CurrentBuyer.ts"
import { Facilitator, type Claim, type PaymentRequest, type ExecutionEnd } from "../Facilitator.ts"
import * as DrawClient from "./DrawClient.ts"
import * as FacilitatorAnswer from "./FacilitatorAnswer.ts"
import * as FacilitatorExchange from "./FacilitatorExchange.ts"
import type { Call, Exchange, Reply } from "./FacilitatorExchange.ts"
import * as FacilitatorResponse from "./FacilitatorResponse.ts"
import * as GroupedCalls from "./GroupedCalls.ts"

/** Address of the facilitator, and options of its requests. */
export type Options = FacilitatorExchange.Options

/** The keys of the options, for callers that use a part of them. */
export const { keys } = FacilitatorExchange

/** The uncertainty after a failed call, which may have reached the facilitator. */
export const { leavesOpen } = FacilitatorExchange

const check = OptionCheck.options<Options>(keys)

const encodeVerify = Schema.encodeResult(FacilitatorApi.VerifyRequest)
const encodeSettle = Schema.encodeResult(FacilitatorApi.SettleRequest)
const encodeFinish = Schema.encodeResult(FacilitatorApi.FinishRequest)
const encodeFinishes = Schema.encodeResult(FacilitatorApi.FinishesRequest)
const decodeFinishes = Schema.decodeUnknownResult(
  Schema.Struct({ answers: Schema.Array(Schema.Struct({ status: Schema.Int, body: Schema.Unknown })) })
)
const decodeVerify = Schema.decodeUnknownResult(FacilitatorApi.VerifyResponse)
const decodeSettle = Schema.decodeUnknownResult(FacilitatorApi.SettleResponse)
const decodeRecord = Schema.decodeUnknownResult(PaymentRecord)

/** The service over HTTP. Fails if an option is a mistake; it sends nothing at start. */
export const make = Effect.fnUntraced(function* (options: Options) {
  const checked = yield* Effect.fromResult(OptionCheck.read(check, options, "facilitator"))
  return over(yield* Effect.fromResult(FacilitatorExchange.make(checked)))
})

/** The service over an existing exchange, and the draws on it. */
export const over = (exchange: Exchange, draws = DrawClient.make(exchange)): Facilitator["Service"] => {
  const report = GroupedCalls.make<Report, PaymentRecord, ValidationError | FacilitatorUnavailable>({
    alone: (one) => finishOne(exchange, one),
    together: (reports) => finishSeveral(exchange, reports),
    maximum: maximumReports
  })
  return Facilitator.of({
    verify: (request) => verify(exchange, request),
    settle: (request, claim) => {
      const alone = settle(exchange, request, claim)
      return claim !== undefined && draws.isDrawn(request.paymentRequirements)
        ? inDraw(draws.take(request, claim, alone))
        : alone
    },
    claim: (request, claim) => {
      const alone = takeClaim(exchange, request, claim)
      return draws.isDrawn(request.paymentRequirements) ? inDraw(draws.take(request, claim, alone)) : alone
    },
    finish: (paymentId, claimId, outcome, charge) =>
      finish(report, { paymentId, claimId, outcome, ...(charge !== undefined && { charge }) }),
    payment: (paymentId) => payment(exchange, paymentId),
    supported: Effect.tap(supported(exchange), (known) => Effect.sync(() => draws.learn(known))),
    credits: draws.credits
  })
}

/** The layer of a facilitator over HTTP. */
export const layer = (options: Options): Layer.Layer<Facilitator, Misconfigured> =>
  Layer.effect(Facilitator, make(options))

const maySettle = "Whether the payment is settled is unknown: send the same payment again, never a new one."

const verify = Effect.fnUntraced(function* (
  exchange: Exchange,
  { paymentPayload, paymentRequirements }: PaymentRequest
) {
  const body = yield* FacilitatorAnswer.written(encodeVerify({ protocolVersion, paymentPayload, paymentRequirements }))
  const call = { method: "POST", path: "/verify", body } as const
  const reply = yield* exchange.call(call)
  const response = yield* FacilitatorAnswer.decoded(exchange, call, reply, decodeVerify)
  return yield* FacilitatorAnswer.meaningOf(exchange, call, reply, FacilitatorResponse.verified(response))
}, Effect.withSpan("FacilitatorClient.verify"))

const settle = (exchange: Exchange, request: PaymentRequest, claim: Claim | undefined) =>
  inSettle(transact(exchange, { path: "/settle", request, claim, wish: "settled" }))

const takeClaim = (exchange: Exchange, request: PaymentRequest, claim: Claim) =>
  inClaim(transact(exchange, { path: "/claims", request, claim, wish: "claimed" }))

/** Made once: a span that is made at each call captures a stack trace, which costs more than the span. */
const inSettle = Effect.withSpan("FacilitatorClient.settle")
const inClaim = Effect.withSpan("FacilitatorClient.claim")
const inDraw = Effect.withSpan("FacilitatorClient.draw")

interface Transaction extends Pick<FacilitatorResponse.SentRequest, "wish"> {
  readonly path: string
  readonly request: PaymentRequest
  readonly claim: Claim | undefined
}

const transact = Effect.fnUntraced(function* (exchange: Exchange, { claim, path, request, wish }: Transaction) {
  const { paymentPayload, paymentRequirements } = request
  const claimed = claim === undefined ? {} : { claim }
  const body = yield* FacilitatorAnswer.written(
    encodeSettle({ protocolVersion, paymentPayload, paymentRequirements, ...claimed })
  )
  const headers = FacilitatorApi.buyerHeaders(yield* CurrentBuyer)
  const call = { method: "POST", path, body, headers, unsettled: maySettle } as const
  const reply = yield* exchange.call(call)
  const response = yield* FacilitatorAnswer.decoded(exchange, call, reply, decodeSettle)
  const sent = {
    requirements: paymentRequirements,
    claimed: claim !== undefined,
    wish
  }
  return yield* FacilitatorAnswer.meaningOf(exchange, call, reply, FacilitatorResponse.settled(sent, response))
})

/** The end of an execution. */
interface Report {
  readonly paymentId: string
  readonly claimId: string
  readonly outcome: ExecutionEnd
  /** The most that a draw is charged. */
  readonly charge?: bigint
}

/**
 * Maximum number of reports in one call; each record of a 64 KiB response may then take 1.6 KiB, which is twice the
 * usual size.
 */
const maximumReports = 40

const finish = Effect.fnUntraced(function* (
  report: (one: Report) => Effect.Effect<PaymentRecord, ValidationError | FacilitatorUnavailable>,
  one: Report
) {
  if (!PaymentId.isPaymentId(one.paymentId) && !DrawId.isDrawId(one.paymentId)) {
    return yield* invalid("malformed", "payment_id", "a payment's id is pay_ and 22 characters of base64url")
  }
  yield* FacilitatorAnswer.written(encodeFinish(one))
  return yield* report(one)
}, Effect.withSpan("FacilitatorClient.finish"))

const finishOne = Effect.fnUntraced(function* (exchange: Exchange, { paymentId, ...run }: Report) {
  const body = yield* FacilitatorAnswer.written(encodeFinish(run))
  const call = { method: "POST", path: `/payments/${paymentId}/finish`, body } as const
  return yield* ended(exchange, call, yield* exchange.call(call), paymentId)
})

/**
 * Reports several ends. If a facilitator does not support groups, or gives an unusable response, each member is sent by
 * itself: reporting an end twice does no harm.
 */
const finishSeveral = Effect.fnUntraced(function* (exchange: Exchange, runs: ReadonlyArray<Report>) {
  const call = {
    method: "POST",
    path: "/payments/finish",
    body: yield* FacilitatorAnswer.written(encodeFinishes({ runs }))
  } as const
  const reply = yield* exchange.call(call)
  if (reply.status === 429 || reply.status >= 500) return yield* exchange.unusable(call, reply)
  const answers = reply.status === 200 ? Result.getOrUndefined(decodeFinishes(reply.json))?.answers : undefined
  const answered = answers?.length === runs.length ? answers : undefined
  return yield* Effect.forEach(
    runs,
    (run, index) => {
      const response = answered?.[index]
      return Effect.result(
        response === undefined
          ? finishOne(exchange, run)
          : ended(exchange, call, { ...reply, status: response.status, json: response.body }, run.paymentId)
      )
    },
    { concurrency: "unbounded" }
  )
})

const ended = Effect.fnUntraced(function* (exchange: Exchange, call: Call, reply: Reply, paymentId: string) {
  const refusal = reply.status === 404 || reply.status === 409 ? FacilitatorAnswer.refusalOf(reply) : undefined
  if (refusal !== undefined) return yield* refusal
  return yield* recordOf(exchange, call, reply, paymentId)
})

const payment = Effect.fn("FacilitatorClient.payment")(function* (exchange: Exchange, paymentId: string) {
  if (!PaymentId.isPaymentId(paymentId)) return undefined
  const call = { method: "GET", path: `/payments/${paymentId}` } as const
  const reply = yield* exchange.call(call)
  if (reply.status === 404 && FacilitatorAnswer.isUnknownPayment(reply)) return undefined
  return yield* recordOf(exchange, call, reply, paymentId)
})

const supported = Effect.fn("FacilitatorClient.supported")(function* (exchange: Exchange) {
  const call = { method: "GET", path: "/supported" } as const
  const reply = yield* exchange.call(call)
  return yield* FacilitatorAnswer.decoded(exchange, call, reply, Supported.decode)
})

const recordOf = Effect.fnUntraced(function* (exchange: Exchange, call: Call, reply: Reply, paymentId: string) {
  const record = yield* FacilitatorAnswer.decoded(exchange, call, reply, decodeRecord)
  if (record.paymentId !== paymentId) return yield* exchange.unusable(call, reply, "is about another payment")
  return record
})
