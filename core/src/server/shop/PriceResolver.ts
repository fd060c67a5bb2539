/**
 * Converts a seller's price to an amount in an asset's smallest unit. A dollar stablecoin takes dollars one to one;
 * only the operator can price other assets.
 */
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"

import * as Amount from "../../protocol/Amount.ts"
import type { Asset } from "../../protocol/Asset.ts"
import * as Price from "../../protocol/Price.ts"

/**
 * The service. `amount` is called once for a fixed price and at every request for `getPrice`; it may use a rate that is
 * refreshed elsewhere, but it does not wait for one.
 */
export class PriceResolver extends Context.Service<
  PriceResolver,
  {
    /** The smallest units of `asset` for a price such as `$0.01`. */
    readonly amount: (price: string, asset: Asset) => Result.Result<bigint, Price.InvalidPrice>
  }
>()("@pontage/core/PriceResolver") {}

/** Dollars for dollar stablecoins, exactly; any other asset is refused. */
export const dollar: PriceResolver["Service"] = {
  amount: (price, asset) =>
    asset.dollar
      ? Price.toAmount(price, asset.decimals)
      : unpriced(price, `${asset.symbol} has no dollar price; give the shop "prices", which can price it`)
}

/**
 * A resolver from an operator's function: the smallest units, or `undefined` for an asset that it does not price; a
 * dollar stablecoin is then priced as dollars.
 */
export const fromFunction = (
  prices: (price: string, asset: Asset) => bigint | undefined
): PriceResolver["Service"] => ({
  amount: (price, asset) =>
    Result.flatMap(
      Result.try({
        try: () => prices(price, asset),
        catch: () => new Price.InvalidPrice({ price, message: `"prices" threw for ${price} in ${asset.symbol}` })
      }),
      (amount) => (amount === undefined ? dollar.amount(price, asset) : Result.succeed(amount))
    )
})

/** Dollars for dollar stablecoins. */
export const layerDollar: Layer.Layer<PriceResolver> = Layer.succeed(PriceResolver, dollar)

/**
 * The checked amount for a price from any resolver: the price is well formed, only the price zero gives the amount
 * zero, and the amount is in range.
 */
export const resolve = (
  resolver: PriceResolver["Service"],
  price: string,
  asset: Asset
): Result.Result<bigint, Price.InvalidPrice> =>
  Result.flatMap(Price.parse(price), ({ digits }) =>
    digits === 0n
      ? Result.succeed(0n)
      : Result.flatMap(resolver.amount(price, asset), (amount) => checked(price, asset, amount))
  )

const checked = (price: string, asset: Asset, amount: bigint) =>
  typeof amount === "bigint" && amount > 0n && amount <= Amount.maximum
    ? Result.succeed(amount)
    : unpriced(
        price,
        `${price} gives the amount ${amount} in the smallest unit of ${asset.symbol}; expected a whole amount from 1 to 2^256-1`
      )

const unpriced = (price: string, message: string): Result.Result<never, Price.InvalidPrice> =>
  Result.fail(new Price.InvalidPrice({ price, message }))
