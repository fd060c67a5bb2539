/**
 * What a priced route offers to one request: its options as payment requirements, each with the challenge of the moment.
 */
import * as Effect from "effect/Effect"

import type { HashFunctions } from "../platform/Hash.ts"
import type { PaymentRequirements } from "../protocol/PaymentRequirements.ts"
import * as Challenge from "./Challenge.ts"
import type { PricedOption, PricedRoute } from "./PricedRoute.ts"

/**
 * A request whose price is known.
 *
 * @category models
 */
export interface PricedRequest {
  readonly route: PricedRoute
  /** GET where the request says HEAD. */
  readonly method: string
  /** The path pattern that the host's router went by; empty where the route alone says it. */
  readonly pattern: string
  /** Path and query. */
  readonly target: string
  readonly bodyDigest: string | undefined
  /** One for each option, in their order. */
  readonly amounts: ReadonlyArray<bigint>
}

/**
 * An option as this request is offered it.
 *
 * @category models
 */
export interface OfferedOption {
  readonly option: PricedOption
  readonly maxAmountRequired: string
}

/**
 * What challenges are made with.
 *
 * @category models
 */
export interface Notary {
  readonly hash: HashFunctions
  /** Signs what is offered. */
  readonly secret: Uint8Array
  /** All whose signatures are taken, the one that signs among them. */
  readonly secrets: readonly [Uint8Array, ...ReadonlyArray<Uint8Array>]
  readonly origin: string
}

/**
 * The options with their amounts.
 *
 * @category getters
 */
export const optionsOf = ({ amounts, route }: PricedRequest): ReadonlyArray<OfferedOption> =>
  route.options.map((option, index) => ({ option, maxAmountRequired: `${amounts[index] ?? 0n}` }))

/**
 * The challenge of an option in an epoch.
 *
 * @category constructors
 */
export const challengeOf = (
  { hash, origin, secret }: Notary,
  { bodyDigest, method, target }: PricedRequest,
  { maxAmountRequired, option }: OfferedOption,
  epoch: number
): Effect.Effect<string> => {
  const { asset, network, payTo, scheme } = option
  const terms = { scheme, network, asset: asset.address, payTo, maxAmountRequired }
  return Challenge.make(hash, secret, { origin, method, target, bodyDigest, ...terms }, epoch)
}

/**
 * An option as it travels.
 *
 * @category conversions
 */
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
  extra: { ...option.proof.extra, ...option.extra, ...(challenge !== undefined && { challenge }) }
})

/**
 * All options as they travel, with the challenges of an epoch unless the route does without.
 *
 * @category conversions
 */
export const accepts = (
  notary: Notary,
  request: PricedRequest,
  epoch: number
): Effect.Effect<ReadonlyArray<PaymentRequirements>> => {
  const offered = optionsOf(request)
  return request.route.binding === "off"
    ? Effect.succeed(offered.map((option) => toRequirements(notary.origin, request, option, undefined)))
    : Effect.forEach(offered, (option) =>
        Effect.map(challengeOf(notary, request, option, epoch), (challenge) =>
          toRequirements(notary.origin, request, option, challenge)
        )
      )
}
