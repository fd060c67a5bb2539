/**
 * Takes a voucher for a metered stream at the shop's voucher URL. It is idempotent, bills nothing and runs no handler: whatever it is
 * sent, the response is a refusal or the state of the channel.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import type { Facilitator, PaymentRequest, VoucherKept } from "../../facilitator/Facilitator.ts"
import type { RepeatedWarning } from "../../platform/RepeatedWarning.ts"
import type { PaymentFailure } from "../../protocol/PaymentFailure.ts"
import { openPayload } from "../../protocol/PaymentPayload.ts"
import type { PaymentRequirements } from "../../protocol/PaymentRequirements.ts"
import { FacilitatorUnavailable } from "../../protocol/ProtocolError.ts"
import * as RetryToken from "../../protocol/RetryToken.ts"
import { invalid } from "../../protocol/ValidationError.ts"
import { ChannelCorrection } from "../../scheme/ChannelCorrection.ts"
import type { PresentedPayment } from "../../wire/pontage/Dialect.ts"
import * as Refusal from "../../wire/pontage/Refusal.ts"
import * as SellerDialects from "../../wire/SellerDialects.ts"
import type { GateRequest, Refused } from "../http/Decision.ts"
import * as GateResponse from "../http/GateResponse.ts"
import type { PricedRoute } from "../route/PricedRoute.ts"
import * as NetworkReadiness from "../shop/NetworkReadiness.ts"
import type { MeteredOption, Shop } from "../shop/Shop.ts"
import * as StreamEnds from "./StreamEnds.ts"

/** The services that a voucher needs. */
export interface VoucherContext {
  readonly shop: Pick<Shop, "metered" | "origin" | "voucherPath">
  readonly facilitator: Facilitator["Service"]
  readonly entropy: RetryToken.Source
  readonly warn: RepeatedWarning
}

/** The most different recipients and tokens of one network that a voucher is compared with. */
const candidatesAtMost = 16

/** Decides a request at the voucher URL. */
export const decide = Effect.fnUntraced(function* (
  context: VoucherContext,
  route: PricedRoute,
  request: GateRequest
): Effect.fn.Return<Refused> {
  if (request.method !== "POST") return respond(GateResponse.plain(405, { error: "a voucher is sent by POST" }))
  const crossOrigin = request.header("origin") !== undefined
  const found = SellerDialects.readPayment(route.dialects, request.header)
  if (found === undefined) return respond(GateResponse.plain(400, { error: missing }))
  const { dialects, presented } = found
  const { entropy } = context
  const now = yield* Clock.currentTimeMillis
  const refused = (failure: PaymentFailure, offers: ReadonlyArray<PaymentRequirements>) => {
    const manner = { dialects, crossOrigin, order: route.settle }
    return respond(GateResponse.drafted(manner, Refusal.fromFailure(failure), offers)(RetryToken.make(entropy), now))
  }
  if (Result.isFailure(presented)) return refused(presented.failure, [])
  const offers = offersFor(context, presented.success)
  const kept = yield* Effect.result(keep(context, presented.success, offers))
  if (Result.isSuccess(kept)) {
    if (ends(presented.success)) endStreams(context, kept.success)
    return respond(responseOf(kept.success))
  }
  const { failure } = kept
  if (failure._tag !== "ValidationError" && failure._tag !== "PaymentError")
    yield* context.warn(`${route.name} ${failure._tag}`, `${route.name}: ${failure.message}`)
  return refused(
    failure,
    offers.map((offer) => corrected(offer, failure))
  )
})

const decodeEnds = Schema.decodeUnknownResult(Schema.Struct({ ends: Schema.Literal(true) }))

/** Whether the buyer ends its streams that wait for a voucher. */
const ends = ({ payment }: PresentedPayment): boolean =>
  Result.isSuccess(Result.flatMap(openPayload(payment), decodeEnds))

/** Ends the channel's streams. Everybody can read a voucher that a claim has named, so that one proves no buyer. */
const endStreams = ({ facilitator }: VoucherContext, { _tag, standing }: VoucherKept): void => {
  const { accepted, channelId, published } = standing
  if (_tag === "Kept" && accepted > published) StreamEnds.of(facilitator).end(channelId, accepted)
}

const respond = (response: GateResponse.GateResponse): Refused => ({ _tag: "Refused", response })

const missing = "send the voucher in the header PAYMENT-SIGNATURE, or X-Payment"

/** The metered offers of the shop that a voucher may be for, one for each recipient and token. */
const offersFor = (
  { shop: { metered, origin, voucherPath } }: VoucherContext,
  { accepted, payment }: PresentedPayment
): ReadonlyArray<PaymentRequirements> => {
  const fits = ({ asset, network, payTo, scheme, schemeServer }: MeteredOption) =>
    scheme === payment.scheme &&
    schemeServer.scheme.network(payment.network) === network &&
    (accepted === undefined || (accepted.asset === asset.address && accepted.payTo === payTo))
  const unique = new Map(metered.filter(fits).map((option) => [`${option.payTo} ${option.asset.address}`, option]))
  return [...unique.values()].slice(0, candidatesAtMost).map((option) => ({
    scheme: option.scheme,
    network: option.network,
    maxAmountRequired: `${option.metered.window}`,
    resource: `${origin}${voucherPath}`,
    payTo: option.payTo,
    maxTimeoutSeconds: longestSeconds,
    asset: option.asset.address,
    extra: { ...NetworkReadiness.extraOf(option.proof, option.asset), ...option.extra }
  }))
}

/** Terms of a deposit's validity, in seconds. */
const longestSeconds = 3_600

/** Shows the voucher to the facilitator for each offer, until it is one of the offer's channels. */
const keep = Effect.fnUntraced(function* (
  { facilitator: { credits } }: VoucherContext,
  { payment }: PresentedPayment,
  offers: ReadonlyArray<PaymentRequirements>
): Effect.fn.Return<VoucherKept, PaymentFailure> {
  if (credits === undefined) return yield* noCredit
  let first: PaymentFailure = notOffered
  for (const offer of offers) {
    const request: PaymentRequest = {
      paymentPayload: { ...payment, network: offer.network },
      paymentRequirements: offer
    }
    const kept = yield* Effect.result(credits.voucher(request))
    if (Result.isSuccess(kept)) return kept.success
    const { failure } = kept
    if (failure._tag !== "ValidationError" && failure._tag !== "PaymentError") return yield* failure
    if (failure instanceof ChannelCorrection || first === notOffered) first = failure
  }
  return yield* first
})

const notOffered = invalid(
  "unsupported_scheme",
  "scheme_not_offered",
  "the voucher is for no metered route of this shop; send the one that the offer asks for"
)

const noCredit = new FacilitatorUnavailable({ message: "the facilitator keeps no ledger of payment channels" })

const corrected = (offer: PaymentRequirements, failure: PaymentFailure): PaymentRequirements =>
  failure instanceof ChannelCorrection && offer.scheme === failure.scheme && offer.network === failure.network
    ? { ...offer, extra: { ...offer.extra, ...failure.facts } }
    : offer

const words = {
  Lower: { status: 409, error: "lower_voucher", message: "a higher voucher of this channel is accepted already" },
  Closed: { status: 410, error: "channel_closed", message: "this channel is drawn on no more; open another one" }
} as const

const responseOf = ({ _tag, standing: { accepted, facts }, transaction }: VoucherKept): GateResponse.GateResponse => {
  const state = { ...facts, acceptedCumulative: `${accepted}`, ...(transaction !== "" && { transaction }) }
  if (_tag === "Kept") return GateResponse.plain(200, state)
  const { error, message, status } = words[_tag]
  return GateResponse.plain(status, { error, message, ...state })
}
