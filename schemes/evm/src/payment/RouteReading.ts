/**
 * Reads payments that go on to another chain by a route: from the signed bytes and the offer alone. The signature covers the whole
 * route by its nonce. A route leads where the offer says, always; its amounts, and the fee's recipient, are compared for new payments
 * alone (`agree`): one on record is shown again with today's offer, whose price and fee may be others, and the core compares what arrives.
 */
import { invalid, type PaymentRequirements, refuse, type PaymentError, type ValidationError } from "@pontage/core"
import type { RequestBinding } from "@pontage/core/PaymentPayload"
import * as Effect from "effect/Effect"

import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmNetwork from "../primitives/EvmNetwork.ts"
import * as BridgeRoute from "../route/BridgeRoute.ts"
import * as RouteRouters from "../route/RouteRouters.ts"
import type * as Eip3009 from "../transfer/Eip3009.ts"
import * as RouteTerms from "./RouteTerms.ts"

/** The terms of an offer's route; fails with `malformed` where they are not terms of a route. */
export const termsOf = ({
  extra = {}
}: Pick<PaymentRequirements.PaymentRequirements, "extra">): Effect.Effect<RouteTerms.RouteTerms, ValidationError> => {
  const terms = RouteTerms.read(extra["route"])
  return typeof terms === "string"
    ? Effect.fail(invalid("malformed", "route_terms", `the ${terms} in the offer's extra.route is not usable`))
    : Effect.succeed(terms)
}

/** A route, the chain that it leads to, and its token there. */
export interface SignedRoute {
  readonly kind: RouteRouters.RouteKind
  readonly route: BridgeRoute.BridgeRoute
  readonly network: PaymentRequirements.PaymentRequirements["network"]
  readonly asset: EvmAddress.Address
  /** The amount that the offer asks to arrive, at least. */
  readonly asked: bigint
}

interface RoutedPayload {
  readonly signature: string
  readonly authorization: Eip3009.TransferWithAuthorization
  readonly route: BridgeRoute.BridgeRoute
  readonly binding?: RequestBinding
}

/** A route as the payload of a payment. */
export interface RouteReading extends Omit<RoutedPayload, "route"> {
  readonly route: SignedRoute
}

/** Reads a routed payment on a network; fails with the rule that it breaks. */
export const read = Effect.fnUntraced(function* (
  network: Parameters<typeof EvmNetwork.chainId>[0],
  requirements: PaymentRequirements.PaymentRequirements,
  { route, ...payload }: RoutedPayload
): Effect.fn.Return<RouteReading, ValidationError | PaymentError> {
  const { authorization } = payload
  if (!RouteTerms.isRouted(requirements)) return yield* refused("not_offered", "is not what the offer asks for")
  const terms = yield* termsOf(requirements)
  const destination = EvmNetwork.fromText(terms.network)
  if (destination === undefined || destination === network) {
    return yield* refused("network", `leads to "${terms.network}", which is no other EVM network`)
  }
  const { kind } = terms
  const router = RouteRouters.routers[kind].address
  if (authorization.to !== router) {
    const message = `the payment goes to ${EvmAddress.checksum(authorization.to)}; this route goes to the router ${EvmAddress.checksum(router)}`
    return yield* refuse("INVALID_RECIPIENT", "route_router", message)
  }
  if (authorization.nonce !== BridgeRoute.nonceOf(EvmNetwork.chainId(network), kind, route)) {
    return yield* refused("nonce", "is not the one that the nonce was made of")
  }
  if (authorization.value !== route.amount + route.fee) {
    return yield* refused("value", `takes ${route.amount + route.fee}, and the payment is of ${authorization.value}`)
  }
  if (route.token !== EvmAddress.fromText(requirements.asset ?? "")) {
    const message = `the payment is in ${EvmAddress.checksum(route.token)}, the offer asks ${requirements.asset}`
    return yield* invalid("asset_mismatch", "route_token", message)
  }
  const elsewhere = differing(route, placeIn(requirements, terms))
  if (elsewhere !== undefined) return yield* refused("terms", `has another ${elsewhere} than the offer`)
  if (route.recipient === EvmAddress.zero || route.recipient === terms.asset) {
    return yield* refuse("INVALID_RECIPIENT", "route_recipient", "the route leads to an address that cannot be paid")
  }
  if (route.minimum === 0n || route.minimum > route.amount) {
    return yield* refused("minimum", `lets ${route.minimum} of ${route.amount} arrive; expected 1 to the amount`)
  }
  return {
    ...payload,
    route: {
      kind,
      route,
      network: destination,
      asset: terms.asset,
      asked: kind === "cctp" ? terms.minimum : terms.amount
    }
  }
})

/** Succeeds if every part of a route is the offer's. */
export const agree = Effect.fnUntraced(function* (
  requirements: PaymentRequirements.PaymentRequirements,
  { route }: SignedRoute
): Effect.fn.Return<void, ValidationError> {
  const terms = yield* termsOf(requirements)
  const { amount, fee, feeTo: feeRecipient, minimum, options } = terms
  const other = differing(route, { ...placeIn(requirements, terms), amount, minimum, fee, feeRecipient, options })
  if (other !== undefined) return yield* refused("terms", `has another ${other} than the offer`)
})

/** The parts of a route that say where the money goes. */
const placeIn = (
  { asset = "" }: PaymentRequirements.PaymentRequirements,
  { bridge, destination, payTo: recipient }: RouteTerms.RouteTerms
) => ({ token: EvmAddress.fromText(asset), bridge, destination, recipient })

/** The first part of a route that is not as wanted. */
const differing = (route: BridgeRoute.BridgeRoute, wanted: Readonly<Record<string, unknown>>): string | undefined =>
  Object.entries(wanted).find(([key, value]) => Reflect.get(route, key) !== value)?.[0]

const refused = (rule: string, what: string): Effect.Effect<never, ValidationError> =>
  Effect.fail(invalid("unsupported_authorization", `route_${rule}`, `the payment's route ${what}`))
