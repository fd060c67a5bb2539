/**
 * From a price as the seller writes it to an amount in an asset's smallest unit. A dollar stablecoin takes dollars one to
 * one; what a dollar is worth in anything else only the operator can say.
 */
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"

import * as Amount from "../../protocol/Amount.ts"
import type { Asset } from "../../protocol/Asset.ts"
import * as Price from "../../protocol/Price.ts"

/**
 * The service. `amount` is asked once for a fixed price and at every request for `getPrice`; it may answer from a rate
 * that is refreshed elsewhere, but it does not wait for one.
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
      : unpriced(price, `a dollar price says nothing about ${asset.symbol}; give the shop "prices", which can price it`)
}

/**
 * The resolver of a function of the operator's: the smallest units, or `undefined` for what it does not price, which then
 * is priced as dollars where the asset is one.
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
 * The amount for a price, whoever resolved it: the price is one, only the price zero is the amount zero, and the amount
 * fits.
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
    : unpriced(price, `${price} comes to ${amount} of the smallest unit of ${asset.symbol}; that is no amount to ask`)

const unpriced = (price: string, message: string): Result.Result<never, Price.InvalidPrice> =>
  Result.fail(new Price.InvalidPrice({ price, message }))
