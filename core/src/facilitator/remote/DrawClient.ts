/**
 * Draws on payment channels at a facilitator over HTTP. Draws that arrive together share a request; one that takes longer than the others
 * should wait for is sent again by itself, under the same claim, which is granted once.
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import type { PaymentFailure } from "../../protocol/PaymentFailure.ts"
import { protocolVersion } from "../../protocol/PaymentPayload.ts"
import type { PaymentRequirements } from "../../protocol/PaymentRequirements.ts"
import type { Supported } from "../../protocol/Supported.ts"
import { invalid } from "../../protocol/ValidationError.ts"
import * as DrawsApi from "../../wire/pontage/DrawsApi.ts"
import * as FacilitatorApi from "../../wire/pontage/FacilitatorApi.ts"
import * as DrawId from "../channel/DrawId.ts"
import { CurrentBuyer } from "../CurrentBuyer.ts"
import type { ChannelCredits, Claim, CreditRequest, PaymentRequest, Settled } from "../Facilitator.ts"
import * as FacilitatorAnswer from "./FacilitatorAnswer.ts"
import type { Call, Exchange, Reply } from "./FacilitatorExchange.ts"
import * as FacilitatorResponse from "./FacilitatorResponse.ts"
import * as GroupedCalls from "./GroupedCalls.ts"

/** A draw to be granted. */
export interface SentDraw {
  readonly request: PaymentRequest
  readonly claim: Claim
  readonly buyer: string | undefined
}

/** The draws at one facilitator. */
export interface DrawClient {
  /** Notes on which networks the facilitator keeps a ledger. */
  readonly learn: (supported: Supported) => void
  /** Whether payments for this offer are draws there. */
  readonly isDrawn: (requirements: PaymentRequirements) => boolean
  /** Asks for a draw with others; `alone` sends it by itself. */
  readonly take: (
    request: PaymentRequest,
    claim: Claim,
    alone: Effect.Effect<Settled, PaymentFailure>
  ) => Effect.Effect<Settled, PaymentFailure>
  readonly credits: ChannelCredits
}

type Answer = Settled | "alone"

const encodeDraws = Schema.encodeResult(DrawsApi.DrawsRequest)
const encodeWindow = Schema.encodeResult(DrawsApi.WindowRequest)
const encodeRenew = Schema.encodeResult(DrawsApi.RenewRequest)
const encodeVoucher = Schema.encodeResult(DrawsApi.VoucherRequest)
const decodeDraws = Schema.decodeUnknownResult(
  Schema.Struct({ answers: Schema.Array(Schema.Struct({ status: Schema.Int, body: Schema.Unknown })) })
)
const decodeSettle = Schema.decodeUnknownResult(FacilitatorApi.SettleResponse)
const decodeWindow = Schema.decodeUnknownResult(DrawsApi.WindowResponse)
const decodeRenew = Schema.decodeUnknownResult(DrawsApi.RenewResponse)
const decodeClosed = Schema.decodeUnknownResult(DrawsApi.ClosedResponse)
const decodeStanding = Schema.decodeUnknownResult(DrawsApi.Standing)
const decodeVoucher = Schema.decodeUnknownResult(DrawsApi.VoucherResponse)

/** Begins without knowledge of the facilitator's ledger. */
export const make = (exchange: Exchange): DrawClient => {
  let drawn: ReadonlySet<string> = new Set()
  const grouped = GroupedCalls.make<SentDraw, Answer, PaymentFailure>({
    alone: (one) => Effect.flatMap(together(exchange, [one]), ([answer]) => Effect.fromResult(answer ?? sendAlone)),
    together: (draws) => together(exchange, draws),
    maximum: DrawsApi.maximumDraws
  })
  return {
    learn: ({ kinds }) => {
      drawn = new Set(kinds.flatMap(({ draws, network, scheme }) => (draws === true ? [`${scheme} ${network}`] : [])))
    },
    isDrawn: ({ network, scheme }) => drawn.has(`${scheme} ${network}`),
    take: Effect.fnUntraced(function* (request, claim, alone) {
      const answer = yield* grouped({ request, claim, buyer: yield* CurrentBuyer })
      return answer === "alone" ? yield* alone : answer
    }),
    credits: {
      voucher: (request) => voucher(exchange, request),
      reserve: (request) => reserve(exchange, request),
      renew: (paymentId, claimId) => renew(exchange, paymentId, claimId),
      isClosed: (paymentId) => isClosed(exchange, paymentId),
      standing: (paymentId) => standing(exchange, paymentId)
    }
  }
}

const sendAlone: Result.Result<Answer, PaymentFailure> = Result.succeed("alone")

const unknownGrant = "Whether the draws are granted is unknown: send the same payments again."

/** Asks for several draws. A facilitator that does not take groups, or gives an unusable response, is asked one by one. */
const together = Effect.fnUntraced(function* (
  exchange: Exchange,
  sent: ReadonlyArray<SentDraw>
): Effect.fn.Return<ReadonlyArray<Result.Result<Answer, PaymentFailure>>, PaymentFailure> {
  const draws = sent.map(({ buyer, claim, request }): typeof DrawsApi.Draw.Type => ({
    protocolVersion,
    ...request,
    claim,
    ...(buyer !== undefined && { buyer })
  }))
  const body = yield* FacilitatorAnswer.written(encodeDraws({ draws }))
  const call = { method: "POST", path: "/draws", body, unsettled: unknownGrant } as const
  const reply = yield* exchange.call(call)
  if (reply.status === 429 || reply.status >= 500) return yield* exchange.unusable(call, reply)
  const answers = reply.status === 200 ? Result.getOrUndefined(decodeDraws(reply.json))?.answers : undefined
  if (answers?.length !== sent.length) return sent.map(() => sendAlone)
  return yield* Effect.forEach(sent, ({ request }, index) => {
    const { body: json, status = 202 } = answers[index] ?? {}
    return status === 202
      ? Effect.succeed(sendAlone)
      : Effect.result(grantOf(exchange, call, { ...reply, status, json }, request))
  })
})

const grantOf = Effect.fnUntraced(function* (
  exchange: Exchange,
  call: Call,
  reply: Reply,
  { paymentRequirements: requirements }: PaymentRequest
): Effect.fn.Return<Answer, PaymentFailure> {
  const response = yield* FacilitatorAnswer.decoded(exchange, call, reply, decodeSettle)
  const sent = { requirements, claimed: true, wish: "settled" } as const
  return yield* FacilitatorAnswer.meaningOf(exchange, call, reply, FacilitatorResponse.settled(sent, response))
})

const voucher = Effect.fn("FacilitatorClient.voucher")(function* (
  exchange: Exchange,
  { paymentPayload, paymentRequirements }: PaymentRequest
) {
  const body = yield* FacilitatorAnswer.written(encodeVoucher({ protocolVersion, paymentPayload, paymentRequirements }))
  const unsettled = "Whether the voucher is kept is unknown: send the same one again."
  const headers = FacilitatorApi.buyerHeaders(yield* CurrentBuyer)
  const call = { method: "POST", path: "/vouchers", body, headers, unsettled } as const
  const reply = yield* exchange.call(call)
  const response = yield* FacilitatorAnswer.decoded(exchange, call, reply, decodeVoucher)
  return yield* FacilitatorAnswer.meaningOf(
    exchange,
    call,
    reply,
    FacilitatorResponse.kept(paymentRequirements, response)
  )
})

const reserve = Effect.fn("FacilitatorClient.reserve")(function* (
  exchange: Exchange,
  { amount, claimId, known, paymentId, waitMillis }: CreditRequest
) {
  if (!DrawId.isDrawId(paymentId)) return yield* noDraw
  // A wait that is as long as the exchange's patience would end as an unknown outcome.
  const wait = Math.min(waitMillis, DrawsApi.longestWaitMillis, Math.floor(exchange.timeoutMillis / 2))
  const wish = { claimId, amount, ...(known !== undefined && { known }), waitMillis: Math.max(0, Math.floor(wait)) }
  const body = yield* FacilitatorAnswer.written(encodeWindow(wish))
  const call = { method: "POST", path: `/draws/${paymentId}/windows`, body } as const
  const reply = yield* exchange.call(call)
  const refusal = reply.status === 404 || reply.status === 409 ? FacilitatorAnswer.refusalOf(reply) : undefined
  if (refusal !== undefined) return yield* refusal
  const response = yield* FacilitatorAnswer.decoded(exchange, call, reply, decodeWindow)
  return FacilitatorResponse.creditOf(paymentId, response)
})

const renew = Effect.fn("FacilitatorClient.renew")(function* (exchange: Exchange, paymentId: string, claimId: string) {
  if (!DrawId.isDrawId(paymentId)) return false
  const body = yield* FacilitatorAnswer.written(encodeRenew({ claimId }))
  const call = { method: "POST", path: `/draws/${paymentId}/renew`, body } as const
  const reply = yield* exchange.call(call)
  return (yield* FacilitatorAnswer.decoded(exchange, call, reply, decodeRenew)).open
})

const isClosed = Effect.fn("FacilitatorClient.isClosed")(function* (exchange: Exchange, paymentId: string) {
  if (!DrawId.isDrawId(paymentId)) return false
  const call = { method: "GET", path: `/draws/${paymentId}/closed` } as const
  const reply: Reply = yield* exchange.call(call)
  return (yield* FacilitatorAnswer.decoded(exchange, call, reply, decodeClosed)).closed
})

const standing = Effect.fn("FacilitatorClient.standing")(function* (exchange: Exchange, paymentId: string) {
  if (!DrawId.isDrawId(paymentId)) return undefined
  const call = { method: "GET", path: `/draws/${paymentId}` } as const
  const reply: Reply = yield* exchange.call(call)
  if (reply.status === 404 && FacilitatorAnswer.isUnknownPayment(reply)) return undefined
  return yield* FacilitatorAnswer.decoded(exchange, call, reply, decodeStanding)
})

const noDraw = invalid("malformed", "payment_id", "a draw's name is draw-, its channel, - and its voucher's maximum")
