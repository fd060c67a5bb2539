/** A Koa shop whose buyers' money is on one network and which is paid on another one. */
import { Router } from "@koa/router"
import { exactEvm } from "@pontage/evm"
import { paymentMiddleware } from "@pontage/koa"
import Koa from "koa"

import type { ShopOptions } from "./ShopOptions.ts"

/** Options of the shop. */
export interface BridgeShopOptions extends Pick<ShopOptions, "origin" | "facilitator" | "secret" | "evm"> {
  /** Both ends of the bridge; those of known tokens, such as USDT0, are known. */
  readonly bridges: NonNullable<Parameters<typeof exactEvm.server>[0]>["bridges"]
}

export const bridgeShop = ({ bridges = [], evm, facilitator, origin, secret }: BridgeShopOptions): Koa => {
  const router = new Router()
  router.get("/report", (context) => {
    context.body = { report: "It will rain on both sides." }
  })
  const app = new Koa()
  app.use(
    paymentMiddleware({
      origin,
      facilitator,
      secret,
      schemes: [exactEvm.server({ rpcUrl: evm.rpcUrl, network: "eip155:31337", bridges })],
      router,
      routes: {
        "GET /report": {
          description: "The report",
          scheme: "exact",
          network: "eip155:31337", // where the buyer's money is
          onward: { network: "eip155:31338" }, // where payTo gets the price
          price: "$10",
          payTo: evm.payTo,
          serve: "delivered", // once the money has arrived
          maxTimeoutSeconds: 120
        }
      }
    })
  )
  app.use(router.routes())
  return app
}
