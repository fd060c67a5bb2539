/** The tariff at the chain's present prices: its configuration is read again after a while, since a vote may change it. */
import { ChainUnavailable } from "@pontage/core"
import type { Network } from "@pontage/core/Network"
import type { Cell } from "@ton/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import * as TonAsset from "../transfer/TonAsset.ts"
import * as TonPrices from "./TonPrices.ts"
import * as TonTariff from "./TonTariff.ts"

/** The tariff of the configuration, remembered while the configuration stays the same. */
export const make = (
  network: Network,
  config: Effect.Effect<Cell, ChainUnavailable>,
  attachedTon: bigint | undefined
): Effect.Effect<TonTariff.TonTariff, ChainUnavailable> => {
  let known: { readonly cell: Cell; readonly tariff: TonTariff.TonTariff } | undefined
  return Effect.flatMap(config, (cell) => {
    if (known?.cell === cell) return Effect.succeed(known.tariff)
    const prices = TonPrices.read(cell)
    if (prices === undefined) {
      const message = `the configuration of ${network} has no readable prices`
      return Effect.fail(new ChainUnavailable({ network, message }))
    }
    const tariff = TonTariff.make(prices, TonAsset.isKnown, attachedTon)
    known = { cell, tariff }
    return Effect.succeed(tariff)
  })
}

/** Milliseconds that a configuration is used: prices change seldom, by a vote. */
const configMillis = 600_000

/** The configuration, read again once it is that old. */
export const refreshed = <A, E>(request: Effect.Effect<A, E>): Effect.Effect<A, E> => {
  let known: { readonly value: A; readonly until: number } | undefined
  return Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    if (known !== undefined && now < known.until) return known.value
    const value = yield* request
    known = { value, until: now + configMillis }
    return value
  })
}
