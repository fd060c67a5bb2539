/**
 * A shop that lives while its facilitator dies: our middleware on Koa, goods that are paid before the handler runs and goods
 * that are paid after it, and a count of what has left the shop for which authorization.
 */
import { createServer } from "node:http"

import { Router } from "@koa/router"
import * as LoopbackServer from "@pontage/devnet/LoopbackServer"
import { exactEvm } from "@pontage/evm"
import { paymentMiddleware } from "@pontage/koa"
import * as Effect from "effect/Effect"
import Koa from "koa"

import * as PaidHeaders from "./PaidHeaders.ts"
import type { TrialWorld } from "./TrialWorld.ts"

/** The shop. */
export interface TrialShop {
  readonly url: string
  /** Number of times that goods have left the shop whole, by authorization (`PaidHeaders.keyOf`). */
  readonly served: ReadonlyMap<string, number>
  /** Number of handler runs. */
  readonly runs: () => number
}

/** The price of everything that the shop sells. */
export const price = "$0.001"

/** Opens a shop in front of a facilitator, as long as the scope. It sells when this succeeds. */
export const make = Effect.fnUntraced(function* (world: TrialWorld, facilitator: string) {
  const { chain, load } = world
  const served = new Map<string, number>()
  let runs = 0
  const router = new Router()
  const hand = (context: Koa.Context) => {
    runs += 1
    const payment = PaidHeaders.paymentIn((name) => context.get(name) || undefined)
    if (payment !== undefined) {
      const key = PaidHeaders.keyOf(payment)
      context.res.once("finish", () => {
        if (context.res.statusCode === 200) served.set(key, (served.get(key) ?? 0) + 1)
      })
    }
    context.body = { goods: context.path }
  }
  router.get("/goods/:name", hand).get("/late/:name", hand)
  const server = createServer()
  const url = yield* LoopbackServer.listen(server)
  const terms = {
    network: chain.network,
    asset: chain.token.address,
    payTo: load.payTo,
    price,
    ...(load.validSeconds !== undefined && { maxTimeoutSeconds: load.validSeconds })
  }
  const payment = paymentMiddleware({
    origin: url,
    facilitator: { url: facilitator },
    secret: "a secret of at least thirty-two characters",
    schemes: [exactEvm.server({ rpcUrl: chain.rpcUrl, assets: [{ network: chain.network, ...chain.token }] })],
    router,
    routes: { "GET /goods/:name": terms, "GET /late/:name": { ...terms, settle: "after-handler" } }
  })
  yield* Effect.addFinalizer(() => Effect.promise(() => payment.close()))
  const app = new Koa()
  app.silent = true
  server.on("request", app.use(payment).use(router.routes()).callback())
  yield* Effect.promise(() => payment.ready())
  const shop: TrialShop = { url, served, runs: () => runs }
  return shop
})
