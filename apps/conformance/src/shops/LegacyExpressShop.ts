/**
 * A shop with the peer's older Express middleware, which speaks only the protocol's first version.
 */
import { createServer } from "node:http"

import * as BaseSepolia from "@pontage/devnet/BaseSepolia"
import { listen } from "@pontage/devnet/LoopbackServer"
import * as Effect from "effect/Effect"
import express from "express"
import { paymentMiddleware } from "x402-express"

import type { ShopOptions } from "../RoleOptions.ts"
import * as Goods from "./Goods.ts"

/** Opens it as long as the scope. */
export const start = Effect.fnUntraced(function* ({ facilitator, payTo, port }: ShopOptions) {
  const goods = Goods.make()
  const route = {
    price: BaseSepolia.price,
    network: BaseSepolia.legacyNetwork,
    // As long as a payment is valid, our client sends it again where the outcome is unknown.
    config: { description: "The report", maxTimeoutSeconds: 20 }
  } as const
  const routes = Object.fromEntries(Object.values(Goods.paths).map((path) => [`GET ${path}`, route]))
  const app = express()
  app.use(paymentMiddleware(payTo, routes, { url: locationOf(facilitator) }))
  for (const path of Object.values(Goods.paths)) {
    app.get(path, (_request, response) => {
      const { body, status } = goods.deliver(path)
      response.status(status).json(body)
    })
  }
  return { url: yield* listen(createServer(app), port), goods } satisfies Goods.Shop
})

/** Their type of a URL wants to see its scheme. */
const locationOf = (url: string) => `http://${new URL(url).host}` as const
