/** The charge of a response by a route's own function, as an amount of the asset that pays. */
import * as Result from "effect/Result"

import type { Asset } from "../../protocol/Asset.ts"
import * as PriceResolver from "../shop/PriceResolver.ts"
import type { Charge, ChargedResponse } from "./RouteConfig.ts"

/** The charge in the asset's smallest unit; the reason, for the log, why there is none. */
export type RouteCharge = (asset: Asset, response: ChargedResponse) => Result.Result<bigint, string>

/** Makes it of the route's function. */
export const make =
  (prices: PriceResolver.PriceResolver["Service"], charge: Charge): RouteCharge =>
  (asset, response) =>
    Result.try({ try: (): unknown => charge(response), catch: (error) => `charge failed: ${String(error)}` }).pipe(
      Result.flatMap((price) =>
        typeof price === "string" ? Result.succeed(price) : Result.fail("charge returned no text")
      ),
      Result.flatMap((price) =>
        Result.mapError(PriceResolver.resolve(prices, price, asset), ({ message }) => `charge: ${message}`)
      )
    )
