/**
 * A purchase across chains: the second chain, LayerZero's contracts between it and the first one, a facilitator of both, a shop that is
 * paid on the second, and a buyer whose dollars are on the first.
 */
import { createServer } from "node:http"

import { LocalFacilitator } from "@pontage/core"
import { DevBridge, type RoutedSchemes } from "@pontage/devnet/bridge"
import * as LoopbackServer from "@pontage/devnet/LoopbackServer"
import type { EvmTestChain } from "@pontage/evm/testing"
import * as FacilitatorService from "@pontage/facilitator"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import type * as Scope from "effect/Scope"

import { bridgeShop } from "./BridgeShop.ts"
import { crossBuyer } from "./Buyer.ts"
import { crossLedgers } from "./Ledgers.ts"
import type { Narrator } from "./Narrator.ts"
import * as Purchase from "./Purchase.ts"

/** The chains and the shop. */
export interface Crossing extends DevBridge.DevBridge {
  readonly facilitator: string
  readonly shop: Purchase.Shop
}

/**
 * Starts all of it beside the chain, which others use meanwhile. It has signers of its own, since each facilitator numbers the
 * transactions of its own signers.
 */
export const start = Effect.fnUntraced(function* (
  evm: EvmTestChain.Shape,
  secret: string
): Effect.fn.Return<Crossing, unknown, Scope.Scope> {
  const bridge = yield* DevBridge.make(evm)
  const { schemes } = bridge
  const facilitator = yield* startFacilitator(schemes, evm)
  const server = createServer()
  const origin = yield* LoopbackServer.listen(server)
  const { bridges } = schemes
  const payTo = evm.accounts.payee.address
  const app = bridgeShop({ origin, facilitator, secret, evm: { rpcUrl: evm.rpcUrl, payTo }, bridges })
  server.on("request", app.callback())
  return { ...bridge, facilitator, shop: { name: "Bridge", origin } }
})

const startFacilitator = Effect.fnUntraced(function* (
  { deliveries, facilitatorBy }: RoutedSchemes.RoutedSchemes,
  { accounts, rpcUrl }: EvmTestChain.Shape
) {
  const [, signer] = accounts.signers
  const facilitator = LocalFacilitator.layerMemory({ schemes: [facilitatorBy(signer, rpcUrl), deliveries] })
  const served = Effect.flatMap(Layer.build(facilitator), (context) =>
    Effect.provide(FacilitatorService.serve({ port: 0 }), context)
  )
  // A program may read the output, so nothing is logged.
  return (yield* Effect.provide(served, Logger.layer([]))).url
})

/** Buys the report, and shows both of its transactions. */
export const buy = Effect.fnUntraced(function* (crossing: Crossing, narrator: Narrator) {
  const { facilitator, first, schemes, second, shop } = crossing
  const { near, onward } = crossLedgers(crossing)
  // The last payer of the chain: the other buyers of the demonstration are the first.
  const payer = first.accounts.payers.at(-1) ?? first.accounts.payers[0]
  yield* narrator.heading(
    "A purchase across chains: paid on one, received on the other, by one signature and without coin"
  )
  yield* narrator.row("EVM 2", `${second.network} at ${second.rpcUrl}`, `LayerZero between it and ${first.network}`)
  yield* narrator.row(shop.name, shop.origin, `sells GET /report for $10, which arrive on ${second.network}`)
  const pay = crossBuyer(payer.privateKey, schemes.bridges)
  yield* Purchase.untilOnSale(shop.origin)
  const buyer: Purchase.Buyer = { kind: "key, across chains", pay, ledger: near }
  yield* narrator.bought(yield* Purchase.buyAcross(buyer, shop, "/report", { facilitator, ledger: onward }))
})
