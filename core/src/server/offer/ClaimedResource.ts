/**
 * The names of the resource that a claim asks for, and of the route that sells it. They are keyed by the shop's secret:
 * a stranger who could compute them could make records in advance that look like purchases at this shop.
 */
import * as Effect from "effect/Effect"

import * as KeyedDigest from "../shop/KeyedDigest.ts"
import { isReusable, type ChallengeSigner, type PricedRequest } from "./RouteOffer.ts"

const purpose = "claimed resource"
const routePurpose = "claimed route"

/** `base64url(HMAC-SHA-256(secret, JSON of purpose, origin, method, target and the body's digest))`. */
export const digest = (signer: ChallengeSigner, { bodyDigest, method, target }: PricedRequest): Effect.Effect<string> =>
  KeyedDigest.remembered(signer, [purpose, signer.origin, method, target, bodyDigest ?? null])

/**
 * `base64url(HMAC-SHA-256(secret, JSON of purpose, origin, method, route and path pattern))`; `undefined` if a refused
 * payment is good for no other request of the route.
 */
export const routeDigest = (signer: ChallengeSigner, request: PricedRequest): Effect.Effect<string | undefined> =>
  isReusable(request)
    ? KeyedDigest.remembered(signer, [routePurpose, signer.origin, request.method, request.route.name, request.pattern])
    : Effect.undefined
