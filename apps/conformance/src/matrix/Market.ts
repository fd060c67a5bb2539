import * as BaseSepoliaChain from "@pontage/devnet/BaseSepoliaChain"
/**
 * One chain, every facilitator, and every shop at each of them, all in this process: what the cells of the matrix share.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"

import type { Shop } from "../shops/Goods.ts"
import { untilOnSale } from "../shops/OnSale.ts"
import { facilitatorNames, facilitators, shopNames, shops, type FacilitatorName, type ShopName } from "./Parties.ts"

/** A shop, or why it does not open. */
export type Opened = Exit.Exit<Shop, unknown>

/** Everything that is open. */
export interface Market {
  readonly chain: BaseSepoliaChain.BaseSepoliaChain
  readonly shop: (shop: ShopName, facilitator: FacilitatorName) => Opened
}

/** Whether a shop is expected to sell at a facilitator. */
export type Sells = (shop: ShopName, facilitator: FacilitatorName) => boolean

/** Opens everything as long as the scope, and waits for the shops that are expected to sell. */
export const make = Effect.fnUntraced(function* (sells: Sells): Effect.fn.Return<Market, unknown, Scope.Scope> {
  const chain = yield* BaseSepoliaChain.make
  const opened = yield* Effect.forEach(facilitatorNames, (name, lane) => openAround(chain, name, lane, sells), together)
  const open = new Map(opened.flat())
  return {
    chain,
    shop: (name, facilitator) => open.get(keyOf(name, facilitator)) ?? Exit.fail("there is no such shop")
  }
})

const together = { concurrency: "unbounded" } as const

/** Starts a facilitator, and every shop at it. */
const openAround = Effect.fnUntraced(function* (
  { node }: BaseSepoliaChain.BaseSepoliaChain,
  facilitator: FacilitatorName,
  lane: number,
  sells: Sells
) {
  const { accounts, rpcUrl } = node
  const { privateKey: key } = [...accounts.signers, accounts.stranger][lane] ?? accounts.stranger
  const { url } = yield* facilitators[facilitator].start({ rpcUrl, key, pollingMillis: 20 })
  return yield* Effect.forEach(
    shopNames,
    (name) =>
      shops[name].start({ facilitator: url, rpcUrl, payTo: accounts.payee.address }).pipe(
        Effect.tap((shop) => (sells(name, facilitator) ? untilOnSale(shop.url) : Effect.void)),
        Effect.exit,
        Effect.map((shop) => [keyOf(name, facilitator), shop] as const)
      ),
    together
  )
})

/** Why a shop did not open, in its own words. */
export const reasonOf = (exit: Exit.Failure<unknown, unknown>): string => String(Cause.squash(exit.cause))

const keyOf = (shop: ShopName, facilitator: FacilitatorName) => `${shop}@${facilitator}`
