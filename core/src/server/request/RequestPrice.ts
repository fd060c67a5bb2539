/** The price of one request: the route's fixed amounts, or the price that `getPrice` returns for it. */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import { InvalidPrice } from "../../protocol/Price.ts"
import type { GateRequest } from "../http/Decision.ts"
import type { PricedRoute } from "../route/PricedRoute.ts"
import type { GetPrice } from "../route/RouteConfig.ts"
import * as RouteHook from "../route/RouteHook.ts"
import * as PriceResolver from "../shop/PriceResolver.ts"

/**
 * Calls `getPrice` and converts its price into the amounts of the route's options. Fails if it throws, returns
 * something other than a price, or takes longer than the route allows.
 */
export const ask = (
  resolver: PriceResolver.PriceResolver["Service"],
  route: PricedRoute,
  request: GateRequest,
  getPrice: GetPrice
): Effect.Effect<ReadonlyArray<bigint>, InvalidPrice> =>
  Effect.flatMap(returnedBy(route, request, getPrice), (price) =>
    Effect.fromResult(Result.all(route.options.map(({ asset }) => PriceResolver.resolve(resolver, price, asset))))
  )

const returnedBy = (route: PricedRoute, request: GateRequest, getPrice: GetPrice) =>
  RouteHook.ask("getPrice", route, request, getPrice).pipe(
    Effect.mapError(({ message }) => unpriced(message)),
    Effect.flatMap((price) =>
      typeof price === "string"
        ? Effect.succeed(price)
        : Effect.fail(unpriced(`getPrice returned ${RouteHook.kindOf(price)}; expected a text such as "$0.01"`))
    )
  )

const unpriced = (message: string) => new InvalidPrice({ price: "", message })
