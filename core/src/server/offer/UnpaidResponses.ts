/**
 * The responses to requests without a payment, made once per request and epoch except for the token of each response.
 * Most requests of a shop have no payment, and they must cost a server almost nothing.
 */
import * as Effect from "effect/Effect"

import * as BoundedMap from "../../platform/BoundedMap.ts"
import * as RetryToken from "../../protocol/RetryToken.ts"
import * as Refusal from "../../wire/pontage/Refusal.ts"
import type { Refused } from "../http/Decision.ts"
import * as GateResponse from "../http/GateResponse.ts"
import type { PricedRoute } from "../route/PricedRoute.ts"
import * as OfferSigning from "./OfferSigning.ts"
import * as RouteOffer from "./RouteOffer.ts"
import type { SigningShop } from "./StatementSigning.ts"

/** The store of responses. */
export interface UnpaidResponses {
  /** Returns the refusal itself if it is already stored. */
  readonly responseTo: (
    request: RouteOffer.PricedRequest,
    epoch: number,
    crossOrigin: boolean,
    now: number
  ) => Refused | Effect.Effect<Refused>
}

/** The shop whose offers these are: its challenges, and its signer. */
export interface OfferingShop extends SigningShop {
  readonly signer: RouteOffer.ChallengeSigner
}

/** One response for requests with an `Origin`, one for the others. */
interface Pair {
  readonly plain: GateResponse.Draft
  readonly crossOrigin: GateResponse.Draft
  /** Time at which its offers are signed again, because the signer has failed; Unix milliseconds. */
  readonly retryAt?: number
}

interface Page {
  readonly epoch: number
  readonly pairs: BoundedMap.BoundedMap<string, Pair>
}

/**
 * Time for which a response without the signatures that its route wants is given before the signer is asked again, in milliseconds.
 */
export const retryMillis = 5_000

/** Limit on stored pairs per route; the oldest is dropped first. */
const maximumPairs = 512
const maximumTargetLength = 1024

/** An empty store. */
export const make = (shop: OfferingShop, entropy: RetryToken.Source): UnpaidResponses => {
  const pages = new WeakMap<PricedRoute, Page>()
  const pageOf = (route: PricedRoute, epoch: number): Page => {
    const page = pages.get(route)
    if (page !== undefined && page.epoch === epoch) return page
    const fresh: Page = { epoch, pairs: BoundedMap.oldestOut(maximumPairs) }
    pages.set(route, fresh)
    return fresh
  }
  return {
    responseTo: (request, epoch, crossOrigin, now) => {
      const key = keyOf(request)
      const { pairs } = pageOf(request.route, epoch)
      const known = key === undefined ? undefined : pairs.get(key)
      const isDue = known?.retryAt !== undefined && now >= known.retryAt
      if (known !== undefined && !isDue) return pick(entropy, known, crossOrigin, now)
      // One request asks the signer again, and the others get the response without it meanwhile.
      if (known !== undefined && key !== undefined) pairs.set(key, { ...known, retryAt: now + retryMillis })
      return Effect.map(pairOf(shop, request, epoch, now), (pair) => {
        if (key !== undefined) pairs.set(key, pair)
        return pick(entropy, pair, crossOrigin, now)
      })
    }
  }
}

const pick = (entropy: RetryToken.Source, pair: Pair, crossOrigin: boolean, now: number): Refused => ({
  _tag: "Refused",
  response: (crossOrigin ? pair.crossOrigin : pair.plain)(RetryToken.make(entropy), now)
})

const pairOf = Effect.fnUntraced(function* (
  shop: OfferingShop,
  request: RouteOffer.PricedRequest,
  epoch: number,
  now: number
): Effect.fn.Return<Pair> {
  const { dialects, settle: order, signedOffers } = request.route
  const accepts = yield* RouteOffer.accepts(shop.signer, request, epoch)
  const { hasFailed, offers: signed } = signedOffers
    ? yield* OfferSigning.sign(shop, request.target, accepts, epoch)
    : OfferSigning.none
  const terms = { ...RouteOffer.termsOf(shop.signer, request), ...(signed.length > 0 && { signed }) }
  const manner = { dialects, order, crossOrigin: false, terms }
  const refusal = Refusal.naming(Refusal.unpaid, request.onward?.unquoted ?? [])
  return {
    plain: GateResponse.drafted(manner, refusal, accepts),
    crossOrigin: GateResponse.drafted({ ...manner, crossOrigin: true }, refusal, accepts),
    ...(hasFailed && { retryAt: now + retryMillis })
  }
})

/** The key of a request; request targets hold no spaces, so no two requests share a key. */
const keyOf = ({
  amounts,
  bodyDigest,
  method,
  onward,
  route,
  target
}: RouteOffer.PricedRequest): string | undefined => {
  if (bodyDigest !== undefined || target.length > maximumTargetLength) return undefined
  const priced = typeof route.price === "function" ? `${method} ${target} ${amounts.join(" ")}` : `${method} ${target}`
  return onward === undefined ? priced : `${priced} ${onward.key}`
}
