/**
 * A shop with the peer's Hono middleware on Node.
 */
import { createServer } from "node:http"

import { getRequestListener } from "@hono/node-server"
import { listen } from "@pontage/devnet/LoopbackServer"
import { ExactEvmScheme } from "@x402/evm/exact/server"
import { paymentMiddlewareFromHTTPServer } from "@x402/hono"
import * as Effect from "effect/Effect"
import { Hono } from "hono"

import type { ShopOptions } from "../RoleOptions.ts"
import * as Goods from "./Goods.ts"
import { resourceServer } from "./PeerExpressShop.ts"

/** Opens it as long as the scope. */
export const start = Effect.fnUntraced(function* ({ facilitator, payTo, port }: ShopOptions) {
  const goods = Goods.make()
  const app = new Hono()
  const server = yield* resourceServer(facilitator, payTo, new ExactEvmScheme())
  app.use(paymentMiddlewareFromHTTPServer(server, undefined, undefined, false))
  for (const path of Object.values(Goods.paths)) {
    app.get(path, () => {
      const { body, status } = goods.deliver(path)
      return new Response(JSON.stringify(body), { status, headers: { "content-type": "application/json" } })
    })
  }
  return { url: yield* listen(createServer(getRequestListener(app.fetch)), port), goods } satisfies Goods.Shop
})
