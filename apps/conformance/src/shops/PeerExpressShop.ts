/**
 * A shop with the peer's Express middleware, as its README shows it.
 */
import { createServer } from "node:http"

import * as BaseSepolia from "@pontage/devnet/BaseSepolia"
import { listen } from "@pontage/devnet/LoopbackServer"
import { HTTPFacilitatorClient } from "@x402/core/server"
import type { Price, SchemeNetworkServer } from "@x402/core/types"
import { ExactEvmScheme } from "@x402/evm/exact/server"
import { paymentMiddlewareFromHTTPServer, x402HTTPResourceServer, x402ResourceServer } from "@x402/express"
import * as Effect from "effect/Effect"
import express from "express"

import type { ShopOptions } from "../RoleOptions.ts"
import * as Goods from "./Goods.ts"

/** Prices in other tokens or by other methods, and the extensions of all routes. */
export interface More {
  readonly price?: (path: Goods.Path) => Price
  readonly extensions?: Record<string, unknown>
  /** The name of the scheme in the offers; default `exact`. */
  readonly scheme?: string
  /** Awaited by each run of a handler. */
  readonly before?: (path: Goods.Path) => Promise<void>
}

/** The peer's routes: the goods at their price, each for `GET`, as its README writes them. */
const routes = (payTo: string, { extensions, price = () => BaseSepolia.price, scheme = "exact" }: More) => {
  const route = (path: Goods.Path) => ({
    accepts: { scheme, price: price(path), network: BaseSepolia.network, payTo } as const,
    description: "The report",
    mimeType: "application/json",
    ...(extensions && { extensions })
  })
  return Object.fromEntries(Object.values(Goods.paths).map((path) => [`GET ${path}`, route(path)]))
}

/**
 * The peer's half of a shop that knows no framework, with its start waited for. Their middleware starts it by itself and ends
 * the whole process when the facilitator does not do what the routes need; here that is an error.
 */
export const resourceServer = (
  facilitator: string,
  payTo: string,
  scheme: SchemeNetworkServer,
  more: More = {}
): Effect.Effect<x402HTTPResourceServer, unknown> =>
  Effect.tryPromise({
    try: async () => {
      const core = new x402ResourceServer(new HTTPFacilitatorClient({ url: facilitator }))
      const server = new x402HTTPResourceServer(core.register(BaseSepolia.network, scheme), routes(payTo, more))
      await server.initialize()
      return server
    },
    catch: (error) => error
  })

/** Opens it as long as the scope. */
export const start = (options: ShopOptions) => open(options, new ExactEvmScheme())

/** Opens a shop that prices its goods by this scheme. */
export const open = Effect.fnUntraced(function* (
  { facilitator, payTo, port }: ShopOptions,
  scheme: SchemeNetworkServer,
  more: More = {}
) {
  const goods = Goods.make()
  const app = express()
  const server = yield* resourceServer(facilitator, payTo, scheme, more)
  app.use(paymentMiddlewareFromHTTPServer(server, undefined, undefined, false))
  for (const path of Object.values(Goods.paths)) {
    app.get(path, async (_request, response) => {
      await more.before?.(path)
      const { body, status } = goods.deliver(path)
      response.status(status).json(body)
    })
  }
  return { url: yield* listen(createServer(app), port), goods } satisfies Goods.Shop
})
