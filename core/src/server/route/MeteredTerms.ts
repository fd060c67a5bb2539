/** The terms of a metered route in one asset: the price of a unit, and how much one voucher covers at a time. */
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"

import type { Asset } from "../../protocol/Asset.ts"
import * as PriceResolver from "../shop/PriceResolver.ts"
import type * as Shop from "../shop/Shop.ts"
import type { Metered } from "./RouteConfig.ts"

/** The terms. Amounts are in the asset's smallest unit. */
export interface MeteredTerms {
  readonly unit: string
  /** The price of one unit. */
  readonly tick: bigint
  /** The amount that each voucher after the first one covers. */
  readonly window: bigint
  /** Seconds for which a stream waits for its next voucher. */
  readonly idleSeconds: number
  /** The path on the shop's origin that takes the vouchers. */
  readonly voucherUrl: string
  readonly strangers: "serve" | "refuse"
}

const defaultIdleSeconds = 30

/** Checks a route's terms in an asset. `price` is the first window, if it is known at start. */
export const make = (
  { prices, voucherPath }: Pick<Shop.Shop, "prices" | "voucherPath">,
  { idleSeconds = defaultIdleSeconds, strangers = "serve", tick, unit, window }: Metered,
  asset: Asset,
  price: string | undefined
): Result.Result<MeteredTerms, string> =>
  Result.gen(function* () {
    const covered = window ?? price
    if (covered === undefined)
      return yield* Result.fail('metered.window is missing; give what one voucher covers, such as "$0.01"')
    const terms = {
      tick: yield* amountOf(prices, asset, "tick", tick),
      window: yield* amountOf(prices, asset, "window", covered)
    }
    if (terms.tick === 0n) return yield* Result.fail("metered.tick is free; give the price of one unit")
    const first = price === undefined ? terms.window : yield* amountOf(prices, asset, "window", price)
    return terms.window < terms.tick || first < terms.tick
      ? yield* Result.fail("metered: the window and the price have to cover one unit (tick) at least")
      : { ...terms, unit, idleSeconds, strangers, voucherUrl: voucherPath }
  })

const amountOf = (prices: PriceResolver.PriceResolver["Service"], asset: Asset, name: string, text: string) =>
  Result.mapError(PriceResolver.resolve(prices, text, asset), ({ message }) => `metered.${name}: ${message}`)

/** The terms as offers and responses carry them. */
export const onWire = ({
  idleSeconds,
  tick,
  unit,
  voucherUrl,
  window
}: MeteredTerms): Readonly<Record<string, Schema.Json>> => ({
  unit,
  tick: `${tick}`,
  window: `${window}`,
  voucherUrl,
  idleSeconds
})
