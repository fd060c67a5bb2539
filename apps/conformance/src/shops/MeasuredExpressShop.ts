/**
 * A shop to be measured: Express alone, or with the peer's middleware in front of the same two routes, of which one is sold.
 */
import { createServer } from "node:http"

import { listen } from "@pontage/devnet/LoopbackServer"
import { ExactEvmScheme } from "@x402/evm/exact/server"
import { paymentMiddlewareFromHTTPServer } from "@x402/express"
import * as Effect from "effect/Effect"
import express from "express"

import * as Goods from "./Goods.ts"
import type { MeasuredShopOptions } from "./MeasuredShopOptions.ts"
import { resourceServer } from "./PeerExpressShop.ts"

/** Opens it as long as the scope. */
export const start = Effect.fnUntraced(function* ({ facilitator, payTo, port }: MeasuredShopOptions) {
  const app = express()
  if (facilitator !== undefined) {
    const server = yield* resourceServer(facilitator, payTo, new ExactEvmScheme())
    app.use(paymentMiddlewareFromHTTPServer(server, undefined, undefined, false))
  }
  const body = { report: Goods.text }
  for (const path of [Goods.paths.report, "/free"]) {
    app.get(path, (_request, response) => {
      response.json(body)
    })
  }
  return { url: yield* listen(createServer(app), port) }
})
