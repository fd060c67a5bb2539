/** The quotes of an inventory: the fee of the settings, and the highest price that the money on the other network covers now. */
import { ChainUnavailable } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import * as RouteQuotes from "../bridge/RouteQuotes.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import { balanceOf, type ServedInventory, type ServedPair } from "./ServedInventory.ts"

/** Makes the effect that quotes all pairs. A pair whose inventory is below its least price has a reason instead of a quote. */
export const make = (inventory: ServedInventory): Effect.Effect<RouteQuotes.QuoteReport> => {
  const pairs = inventory.pairs.map((pair) => RouteQuotes.renewing(quoted(inventory, pair), pair.name))
  return Effect.map(Effect.all(pairs, { concurrency: "unbounded" }), (quotes) => ({
    quotes: quotes.filter((quote) => typeof quote !== "string"),
    unquoted: quotes.flatMap((reason, index) => {
      const network = inventory.pairs[index]?.chain.network
      return typeof reason === "string" && network !== undefined ? [{ network, reason }] : []
    })
  }))
}

const quoted = Effect.fnUntraced(function* (
  inventory: ServedInventory,
  pair: ServedPair
): Effect.fn.Return<RouteQuotes.Quote, ChainUnavailable> {
  const { arriving, chain, fee, minimumAmount, paid } = pair
  yield* pair.proven
  const balance = yield* balanceOf(inventory, pair)
  const account = EvmAddress.checksum(inventory.account)
  if (balance < minimumAmount) {
    const holder = "payouts" in chain ? chain.payouts.account : account
    const message = `the inventory ${holder} holds ${balance} of ${arriving.symbol}, and the least price is ${minimumAmount}; send it more`
    return yield* new ChainUnavailable({ network: chain.network, message, lack: "stock_short" })
  }
  return {
    kind: "inventory",
    from: paid.address,
    network: chain.network,
    asset: arriving.address,
    account,
    fee: `${fee}`,
    minimumAmount: `${minimumAmount}`,
    maximumAmount: `${balance < pair.maximumAmount ? balance : pair.maximumAmount}`,
    quotedUntil: Math.floor((yield* Clock.currentTimeMillis) / 1000) + RouteQuotes.quoteSeconds
  }
})
