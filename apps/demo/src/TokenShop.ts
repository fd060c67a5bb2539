/**
 * A Koa shop that sells in a token without transfer authorizations, as USDT is on Ethereum: a plain account pays by Permit2, a smart
 * account by a user operation.
 */
import { Router } from "@koa/router"
import { type EvmAsset, exactEvm } from "@pontage/evm"
import { paymentMiddleware } from "@pontage/koa"
import Koa from "koa"

import type { ShopOptions } from "./ShopOptions.ts"

/** Options of the shop. */
export interface TokenShopOptions extends Pick<ShopOptions, "origin" | "facilitator" | "secret" | "evm"> {
  readonly token: EvmAsset.CustomAsset
}

export const tokenShop = ({ evm, facilitator, origin, secret, token }: TokenShopOptions): Koa => {
  const router = new Router()
  router.get("/report", (context) => {
    context.body = { report: "It has rained." }
  })
  const app = new Koa()
  app.use(
    paymentMiddleware({
      origin,
      facilitator,
      secret,
      schemes: [exactEvm.server({ rpcUrl: evm.rpcUrl, assets: [token] })],
      router,
      routes: {
        "GET /report": {
          description: "The report",
          scheme: "exact",
          network: "eip155:31337",
          asset: token.symbol,
          price: "$0.01",
          payTo: evm.payTo
        }
      }
    })
  )
  app.use(router.routes())
  return app
}
