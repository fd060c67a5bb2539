/**
 * Our shop on Koa.
 */
import { createServer } from "node:http"

import { Router } from "@koa/router"
import type { RouteConfig, SchemeServer, SellerDialect } from "@pontage/core"
import { listen } from "@pontage/devnet/LoopbackServer"
import { type EvmAsset, exactEvm } from "@pontage/evm"
import { paymentMiddleware, type PaymentOptions } from "@pontage/koa"
import * as Effect from "effect/Effect"
import Koa from "koa"

import type { ShopOptions } from "../RoleOptions.ts"
import * as Goods from "./Goods.ts"
import { routeOf, secret } from "./OurRoute.ts"

/** Tokens beside the known ones, other schemes, a facilitator in the shop's process, and the terms of a path that differ. */
export interface More {
  readonly assets?: ReadonlyArray<EvmAsset.CustomAsset>
  readonly schemes?: ReadonlyArray<SchemeServer>
  readonly facilitator?: PaymentOptions["facilitator"]
  /** Awaited by each run of a handler. */
  readonly before?: () => Promise<void>
  readonly route?: (path: Goods.Path) => {
    readonly scheme?: string
    readonly asset?: string
    readonly extra?: Readonly<Record<string, string>>
    readonly dialects?: ReadonlyArray<SellerDialect>
    readonly input?: NonNullable<RouteConfig["input"]>
  }
}

/** Opens it as long as the scope. It sells once it has proven its wiring. */
export const start = Effect.fnUntraced(function* (options: ShopOptions, more: More = {}) {
  const { facilitator, port, rpcUrl } = options
  const { assets = [], before, route, schemes } = more
  const goods = Goods.make()
  const router = new Router()
  for (const path of Object.values(Goods.paths)) {
    router.get(path, async (context) => {
      await before?.()
      const { body, status } = goods.deliver(path)
      context.status = status
      context.body = body
    })
  }
  const server = createServer()
  const url = yield* listen(server, port)
  const payment = paymentMiddleware({
    origin: options.origin ?? url,
    facilitator: more.facilitator ?? facilitator,
    secret,
    schemes: schemes ?? [exactEvm.server({ rpcUrl, assets })],
    router,
    ...(options.receiptKey && { receipts: exactEvm.receiptSigner(options.receiptKey) }),
    routes: Object.fromEntries(
      Object.values(Goods.paths).map((path) => [
        `GET ${path}`,
        { ...routeOf(options), ...(options.receiptKey && { signedOffers: true }), ...route?.(path) }
      ])
    )
  })
  const app = new Koa()
  app.use(payment).use(router.routes())
  server.on("request", app.callback())
  yield* Effect.addFinalizer(() => Effect.promise(() => payment.close()))
  return { url, goods } satisfies Goods.Shop
})
