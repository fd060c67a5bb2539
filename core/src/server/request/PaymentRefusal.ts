/**
 * The refusal of a presented payment, with fresh offers. Failures that are not the payment's fault go to the operator's log.
 */
import * as Effect from "effect/Effect"

import type { RepeatedWarning } from "../../platform/RepeatedWarning.ts"
import type { PaymentFailure } from "../../protocol/PaymentFailure.ts"
import type { PaymentRequirements } from "../../protocol/PaymentRequirements.ts"
import * as RetryToken from "../../protocol/RetryToken.ts"
import { ChannelCorrection } from "../../scheme/ChannelCorrection.ts"
import type { AcceptedOffer } from "../../wire/pontage/Dialect.ts"
import * as Refusal from "../../wire/pontage/Refusal.ts"
import type { SellerDialects } from "../../wire/SellerDialects.ts"
import type { Refused } from "../http/Decision.ts"
import * as GateResponse from "../http/GateResponse.ts"
import * as RouteOffer from "../offer/RouteOffer.ts"

/** Services that every refusal needs. */
export interface RefusingShop {
  readonly signer: RouteOffer.ChallengeSigner
  readonly entropy: RetryToken.Source
  readonly warn: RepeatedWarning
}

/** A priced request, and the manner of its response. */
export interface GatedRequest {
  readonly priced: RouteOffer.PricedRequest
  readonly epoch: number
  /** Time of the request in Unix milliseconds. */
  readonly now: number
  /** Whether it asks for the head of the response alone. */
  readonly isHead: boolean
  /** Whether the request names its `Origin`. */
  readonly crossOrigin: boolean
  /** Dialects of the response. */
  readonly dialects: SellerDialects
  /** The offer that came back with the payment. */
  readonly accepted: AcceptedOffer | undefined
  /** Client address of the request; `undefined` if the host does not know it. */
  readonly clientAddress: string | undefined
  /** The host's own request. */
  readonly native: unknown
}

/** The refusal of a presented payment. Failures that are not the payment's fault go to the operator's log. */
export const refused = (shop: RefusingShop, request: GatedRequest, failure: PaymentFailure): Effect.Effect<Refused> => {
  const token = failure instanceof ChannelCorrection ? RetryToken.of(request.accepted?.extra) : undefined
  const refusal = refusalFor(shop, request, Refusal.fromFailure(failure), { correct: correctionOf(failure), token })
  return failure._tag === "PaymentError" || failure._tag === "ValidationError"
    ? refusal
    : Effect.andThen(warned(shop, request, failure), refusal)
}

/**
 * A repeated warning: strangers can cause any number of these while the facilitator is down or rate-limits the shop.
 */
const warned = ({ warn }: RefusingShop, { priced: { route } }: GatedRequest, { _tag, message }: PaymentFailure) =>
  warn(`${route.name} ${_tag}`, `${route.name}: ${_tag}: ${message}`)

/** Changes of a refusal's offers. */
interface OfferChanges {
  readonly correct?: (offer: PaymentRequirements) => PaymentRequirements
  /**
   * Default a new one. A corrected request is known by the token that it came with: it holds the turn of its channel's line, whether its
   * buyer repeats the first offer or this one.
   */
  readonly token?: string | undefined
}

/** The refusal with these words. */
export const refusalFor = (
  { entropy, signer }: RefusingShop,
  { crossOrigin, epoch, now, priced, dialects }: GatedRequest,
  refusal: Refusal.Refusal,
  { correct = (offer) => offer, token }: OfferChanges = {}
): Effect.Effect<Refused> =>
  Effect.map(RouteOffer.accepts(signer, priced, epoch), (accepts) => ({
    _tag: "Refused",
    response: GateResponse.drafted(
      { dialects, order: priced.route.settle, crossOrigin, terms: RouteOffer.termsOf(signer, priced) },
      refusal,
      accepts.map(correct)
    )(token ?? RetryToken.make(entropy), now)
  }))

/** The offers after a stale voucher name the state of its channel, for its payer to sign the right one. */
const correctionOf =
  (failure: PaymentFailure) =>
  (offer: PaymentRequirements): PaymentRequirements =>
    failure instanceof ChannelCorrection && offer.scheme === failure.scheme && offer.network === failure.network
      ? { ...offer, extra: { ...offer.extra, ...failure.facts } }
      : offer
