/**
 * The price of one request: the route's fixed amounts, or what `getPrice` says this time.
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import { InvalidPrice } from "../protocol/Price.ts"
import type { GateRequest } from "./Decision.ts"
import type { PricedRoute } from "./PricedRoute.ts"
import * as PriceResolver from "./PriceResolver.ts"
import * as RequestTarget from "./RequestTarget.ts"
import type { GetPrice } from "./RouteConfig.ts"

/**
 * Asks `getPrice` and turns its price into the amounts of the route's options. Fails when it throws or says no price.
 *
 * @category combinators
 */
export const ask = (
  resolver: PriceResolver.PriceResolver["Service"],
  route: PricedRoute,
  request: GateRequest,
  getPrice: GetPrice
): Effect.Effect<ReadonlyArray<bigint>, InvalidPrice> =>
  Effect.flatMap(
    Effect.tryPromise({
      try: async () => getPrice(seen(request)),
      catch: (error) => new InvalidPrice({ price: "", message: `getPrice failed: ${String(error)}` })
    }),
    (price) =>
      Effect.fromResult(Result.all(route.options.map(({ asset }) => PriceResolver.resolve(resolver, price, asset))))
  )

const seen = ({ body, headers, method, native, params, target }: GateRequest) => ({
  method,
  path: RequestTarget.pathOf(target),
  params,
  query: RequestTarget.queryOf(target),
  headers,
  body,
  native
})
