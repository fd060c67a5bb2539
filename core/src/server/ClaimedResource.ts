/**
 * The name of what a claim asks for. It is keyed by the shop's secret, because whoever could compute it could make records
 * beforehand that look like purchases at this shop.
 */
import * as Effect from "effect/Effect"
import * as Base64Url from "effect/encoding/Base64Url"

import type { Notary, PricedRequest } from "./RouteOffer.ts"

const utf8 = new TextEncoder()

/** Keeps these digests apart from challenges, which the same secret makes. */
const purpose = "claimed resource"

/**
 * `base64url(HMAC-SHA-256(secret, JSON of purpose, origin, method, target and the body's digest))`.
 *
 * @category constructors
 */
export const digest = (
  { hash, origin, secret }: Notary,
  { bodyDigest, method, target }: PricedRequest
): Effect.Effect<string> => {
  const message = JSON.stringify([purpose, origin, method, target, bodyDigest ?? null])
  return Effect.map(hash.hmacSha256(secret, utf8.encode(message)), (bytes) => Base64Url.encode(bytes))
}
