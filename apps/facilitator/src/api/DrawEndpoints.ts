/**
 * Endpoints of draws on payment channels, for servers whose ledger is kept here.
 */
import {
  type ChannelCredits,
  type ChannelStanding,
  type Credit,
  DrawId,
  DrawsApi,
  Facilitator,
  FacilitatorApi,
  FacilitatorSchemeRegistry,
  FacilitatorUnavailable
} from "@pontage/core"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Option from "effect/Option"

import { RequestingCaller } from "../callers/RequestingCaller.ts"
import { drawResponseOf, type TemporarilyUnavailable, UnknownPayment } from "../http/FacilitatorFault.ts"
import { defective } from "../http/RequestFaults.ts"
import * as FacilitatorMetrics from "../metrics/FacilitatorMetrics.ts"
import * as DrawRights from "./DrawRights.ts"
import { drawing, FacilitatorHttpApi, keeping, renewing, reserving } from "./FacilitatorHttpApi.ts"
import * as FacilitatorVerdict from "./FacilitatorVerdict.ts"
import { jsonEndpoint } from "./JsonEndpoint.ts"
import * as PaymentEndpoints from "./PaymentEndpoints.ts"
import * as PresentedPayment from "./PresentedPayment.ts"

type Services = PaymentEndpoints.Services

/** Time that the draws of one request wait for each other. One with a deposit, or in its channel's line, takes longer. */
const together = "100 millis"

/** Endpoints of draws. */
export const layerDraws = HttpApiBuilder.group(
  FacilitatorHttpApi,
  "draws",
  Effect.fnUntraced(function* (handlers) {
    const { schemes } = yield* FacilitatorSchemeRegistry.FacilitatorSchemeRegistry
    const services: Services = { facilitator: yield* Facilitator, schemes }
    const credits = services.facilitator.credits
    return handlers
      .handleRaw(
        "draw",
        jsonEndpoint(drawing, ({ draws }) => drawSeveral(services, draws))
      )
      .handleRaw(
        "window",
        jsonEndpoint(reserving, (wish, { params: { id } }) => window(credits, id, wish))
      )
      .handleRaw(
        "renew",
        jsonEndpoint(renewing, ({ claimId }, { params: { id } }) =>
          Effect.map(renewed(credits, id, claimId), (open) => ({ open }))
        )
      )
      .handle("closed", ({ params: { id } }) => Effect.map(isClosed(credits, id), (closed) => ({ closed })))
      .handle("standing", ({ params: { id } }) => standing(credits, id))
      .handleRaw(
        "voucher",
        jsonEndpoint(keeping, (body, asked) =>
          keepVoucher(services, PaymentEndpoints.withBuyer(asked, PresentedPayment.readOurs(body)))
        )
      )
  })
)

type OneDraw = (typeof drawing.payload.Type)["draws"][number]

/** Asks for several draws at once, so that a ledger that groups writes needs one commit for all. */
const drawSeveral = Effect.fnUntraced(function* (services: Services, draws: ReadonlyArray<OneDraw>) {
  const { limits } = yield* RequestingCaller
  yield* limits.count("payments", draws.length - 1)
  const answers = yield* Effect.forEach(draws, (one) => drawInTime(services, one), { concurrency: "unbounded" })
  return { answers }
})

/** One that is not decided in time is given up here: the server sends it again, under the same claim. */
const drawInTime = (services: Services, one: OneDraw) =>
  Effect.map(
    Effect.timeoutOption(
      Effect.match(Effect.catchDefect(draw(services, one), defective), {
        onSuccess: (body) => ({ status: 200, body }) as const,
        onFailure: drawResponseOf
      }),
      together
    ),
    Option.getOrElse(() => later)
  )

const later = {
  status: 202,
  body: { error: DrawsApi.sendAlone, message: "this draw takes longer; send it by POST /claims, under the same claim" }
} as const

const draw = (services: Services, { buyer, claim, ...body }: OneDraw) =>
  PaymentEndpoints.transact(services, "draw", { ...PresentedPayment.readOurs(body), buyer }, (request) =>
    Effect.andThen(
      DrawRights.demand(services.schemes, request.paymentRequirements),
      FacilitatorVerdict.ofSettle(request, services.facilitator.settle(request, claim))
    )
  )

const window = (credits: ChannelCredits | undefined, id: string, wish: typeof reserving.payload.Type) =>
  FacilitatorMetrics.measured(
    "window",
    ({ window: end }) => end,
    Effect.gen(function* () {
      const { limits } = yield* RequestingCaller
      if (credits === undefined || !DrawId.isDrawId(id)) return yield* unknown
      const credit = credits.reserve({ paymentId: id, known: undefined, ...wish })
      return yield* credit.pipe(
        Effect.map(responseOfCredit),
        Effect.catch(FacilitatorVerdict.ofFinishFailure),
        Effect.tapError(({ error }) =>
          error === FacilitatorApi.unknownPayment ? limits.penalise("runs") : Effect.void
        )
      )
    })
  )

const responseOfCredit = (credit: Credit): typeof DrawsApi.WindowResponse.Type => {
  const { standing } = credit
  switch (credit._tag) {
    case "Granted":
      return { window: "granted", standing }
    case "Closed":
      return { window: "closed", standing }
    case "Wanting":
      return { window: "wanting", required: credit.required, standing }
  }
}

const renewed = (
  credits: ChannelCredits | undefined,
  id: string,
  claimId: string
): Effect.Effect<boolean, TemporarilyUnavailable> =>
  credits === undefined || !DrawId.isDrawId(id)
    ? Effect.succeed(false)
    : Effect.catch(credits.renew(id, claimId), FacilitatorVerdict.unavailable)

const isClosed = (credits: ChannelCredits | undefined, id: string): Effect.Effect<boolean, TemporarilyUnavailable> =>
  credits === undefined || !DrawId.isDrawId(id)
    ? Effect.succeed(false)
    : Effect.catch(credits.isClosed(id), FacilitatorVerdict.unavailable)

const unknown = new UnknownPayment({ message: "this draw is unknown here" })

const standing = Effect.fnUntraced(function* (
  credits: ChannelCredits | undefined,
  id: string
): Effect.fn.Return<ChannelStanding, TemporarilyUnavailable | UnknownPayment> {
  if (credits === undefined || !DrawId.isDrawId(id)) return yield* unknown
  const found = yield* Effect.catch(credits.standing(id), FacilitatorVerdict.unavailable)
  return found ?? (yield* unknown)
})

const keepVoucher = ({ facilitator, schemes }: Services, payment: PaymentEndpoints.BuyersPayment) =>
  FacilitatorMetrics.measured(
    "voucher",
    ({ code, reason, voucher = "refused" }) => code ?? reason ?? voucher,
    PaymentEndpoints.respondTo(
      { facilitator, schemes },
      payment,
      (request) =>
        Effect.andThen(
          DrawRights.demand(schemes, request.paymentRequirements),
          FacilitatorVerdict.ofVoucher(facilitator.credits?.voucher(request) ?? Effect.fail(noLedger))
        ),
      FacilitatorVerdict.refusedVoucher
    )
  )

const noLedger = new FacilitatorUnavailable({ message: "this facilitator keeps no ledger of payment channels" })
