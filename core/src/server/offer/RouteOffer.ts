/**
 * The offers of a priced route for one request: its options as payment requirements, each with the current challenge.
 */
import * as Effect from "effect/Effect"

import type { HashFunctions } from "../../platform/Hash.ts"
import type { PaymentRequirements } from "../../protocol/PaymentRequirements.ts"
import * as RouteToken from "../../protocol/RouteToken.ts"
import type { OfferTerms } from "../../wire/pontage/Dialect.ts"
import type { PricedRoute } from "../route/PricedRoute.ts"
import * as RouteCall from "../route/RouteCall.ts"
import * as KeyedDigest from "../shop/KeyedDigest.ts"
import * as NetworkReadiness from "../shop/NetworkReadiness.ts"
import * as Challenge from "./Challenge.ts"
import type { OfferedOption, RequestOffers } from "./OnwardOffers.ts"

/** A request whose price is known. */
export interface PricedRequest {
  readonly route: PricedRoute
  /** GET for a HEAD request. */
  readonly method: string
  /** The path pattern that the host's router matched; empty if the route alone identifies it. */
  readonly pattern: string
  /** Path and query. */
  readonly target: string
  readonly bodyDigest: string | undefined
  /** One amount for each option, in their order. */
  readonly amounts: ReadonlyArray<bigint>
  /** The offers, if money of the route goes on to another network. */
  readonly onward?: RequestOffers
}

/** The keys and the origin that challenges are made with. */
export interface ChallengeSigner {
  readonly hash: HashFunctions
  /** Signs the offers. */
  readonly secret: Uint8Array
  /** All accepted secrets, the signing one among them. */
  readonly secrets: readonly [Uint8Array, ...ReadonlyArray<Uint8Array>]
  readonly origin: string
}

/** The options with their amounts. */
export const optionsOf = ({ amounts, onward, route }: PricedRequest): ReadonlyArray<OfferedOption> =>
  onward?.made ?? route.options.map((option, index) => ({ option, maxAmountRequired: `${amounts[index] ?? 0n}` }))

/** The options that a payment may have been signed for: those that are offered, and those by an earlier quote. */
export const knownOf = (request: PricedRequest): ReadonlyArray<OfferedOption> =>
  request.onward?.known() ?? optionsOf(request)

/** The terms that a payment on record has to meet: those of the options, without the fee of a way to another network. */
export const onRecordOf = (request: PricedRequest): ReadonlyArray<OfferedOption> =>
  request.onward?.onRecord() ?? optionsOf(request)

/** The challenge of an option in an epoch. */
export const challengeOf = (
  { hash, origin, secret }: ChallengeSigner,
  { bodyDigest, method, target }: PricedRequest,
  { maxAmountRequired, option }: OfferedOption,
  epoch: number
): Effect.Effect<string> => {
  const { asset, network, payTo, scheme } = option
  const terms = { scheme, network, asset: asset.address, payTo, maxAmountRequired }
  return Challenge.make(hash, secret, { origin, method, target, bodyDigest, ...terms }, epoch)
}

/** An option in its wire form. */
export const toRequirements = (
  origin: string,
  { route, target }: PricedRequest,
  { maxAmountRequired, option }: OfferedOption,
  challenge: string | undefined
): PaymentRequirements => ({
  scheme: option.scheme,
  network: option.network,
  maxAmountRequired,
  resource: route.resource ?? `${origin}${target}`,
  ...(route.description === undefined ? {} : { description: route.description }),
  ...(route.mimeType === undefined ? {} : { mimeType: route.mimeType }),
  payTo: option.payTo,
  maxTimeoutSeconds: route.maxTimeoutSeconds,
  asset: option.asset.address,
  extra: {
    ...NetworkReadiness.extraOf(option.proof, option.asset),
    ...option.extra,
    ...(challenge !== undefined && { challenge })
  }
})

/** The terms of a route beyond its options. */
export const termsOf = (
  { origin }: Pick<ChallengeSigner, "origin">,
  { method, route }: Pick<PricedRequest, "method" | "route">
): OfferTerms => ({
  repeats: route.repeat === "same",
  realm: realmOf(origin),
  call: RouteCall.of(route, method)
})

/** The realm of a shop, for dialects that name one: the host of its origin. */
export const realmOf = (origin: string): string => origin.slice(origin.indexOf("://") + 3)

/**
 * Whether a payment whose request the application refused is good for another request of the route. Without a binding
 * any stranger could use it.
 */
export const isReusable = ({ route }: Pick<PricedRequest, "route">): boolean =>
  route.refused === "reusable" && route.settle === "before-handler" && route.binding !== "off"

/**
 * The route's token: 128 bits of `HMAC-SHA-256(secret, JSON of purpose, origin, method, route and path pattern)`, so
 * that strangers cannot name a route of this shop. `undefined` if a refused payment is good for nothing else.
 */
export const routeTokenOf = (signer: ChallengeSigner, request: PricedRequest): Effect.Effect<string | undefined> => {
  if (!isReusable(request)) return Effect.undefined
  const { method, pattern, route } = request
  return Effect.map(
    KeyedDigest.remembered(signer, ["offered route", signer.origin, method, route.name, pattern]),
    (digest) => digest.slice(0, RouteToken.length)
  )
}

/**
 * All options in their wire form, with the route's token, and with the challenges of an epoch unless the route does not
 * bind.
 */
export const accepts = Effect.fnUntraced(function* (
  signer: ChallengeSigner,
  request: PricedRequest,
  epoch: number
): Effect.fn.Return<ReadonlyArray<PaymentRequirements>> {
  const token = yield* routeTokenOf(signer, request)
  const named = token === undefined ? {} : { [RouteToken.key]: token }
  const offers: Array<PaymentRequirements> = []
  for (const offered of optionsOf(request)) {
    const challenge = request.route.binding === "off" ? undefined : yield* challengeOf(signer, request, offered, epoch)
    const requirements = toRequirements(signer.origin, request, offered, challenge)
    offers.push({ ...requirements, extra: { ...requirements.extra, ...named } })
  }
  return offers
})
