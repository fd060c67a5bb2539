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
 * Asks `getPrice` and turns its price into the amounts of the route's options. Fails when it throws, returns something
 * else than a price, or takes longer than the route allows.
 *
 * @category combinators
 */
export const ask = (
  resolver: PriceResolver.PriceResolver["Service"],
  route: PricedRoute,
  request: GateRequest,
  getPrice: GetPrice
): Effect.Effect<ReadonlyArray<bigint>, InvalidPrice> =>
  Effect.flatMap(answered(route, request, getPrice), (price) =>
    Effect.fromResult(Result.all(route.options.map(({ asset }) => PriceResolver.resolve(resolver, price, asset))))
  )

const answered = ({ priceTimeoutMillis }: PricedRoute, request: GateRequest, getPrice: GetPrice) =>
  Effect.tryPromise({
    try: async (): Promise<unknown> => getPrice(seen(request)),
    catch: (error) => unpriced(`getPrice failed: ${messageOf(error)}`)
  }).pipe(
    Effect.timeoutOrElse({
      duration: priceTimeoutMillis,
      orElse: () =>
        Effect.fail(unpriced(`getPrice did not answer within ${priceTimeoutMillis} ms (priceTimeoutMillis)`))
    }),
    Effect.flatMap((price) =>
      typeof price === "string"
        ? Effect.succeed(price)
        : Effect.fail(unpriced(`getPrice returned ${kindOf(price)}; expected a text such as "$0.01"`))
    )
  )

const unpriced = (message: string) => new InvalidPrice({ price: "", message })

/** `String` itself fails for an object without a prototype. */
const messageOf = (error: unknown): string => (error instanceof Error ? error.message : `threw ${kindOf(error)}`)

const kindOf = (value: unknown): string => (value === null ? "null" : `a value of type ${typeof value}`)

const seen = ({ body, headers, method, native, params, query, target }: GateRequest) => ({
  method,
  path: RequestTarget.pathOf(target),
  params,
  query,
  headers,
  body,
  native
})
