/**
 * The ways to sell routes of a Koa application: a map of routes in front of (or inside) a router, and a step for a single
 * route.
 */
import {
  OptionCheck,
  RequestTarget,
  RouteKey,
  RouteTable,
  Seller,
  type PricedRoute,
  type RouteConfig
} from "@pontage/core"
import * as Result from "effect/Result"
import type { Context, Middleware, Next } from "koa"

import * as PaidHandler from "./PaidHandler.ts"
import * as PaidResponse from "./PaidResponse.ts"
import * as RouterGate from "./RouterGate.ts"

/**
 * Options of `paymentMiddleware`.
 *
 * @category models
 */
export interface PaymentOptions extends Seller.SellerOptions {
  /** By `<METHOD> <path>`, for example `GET /reports/:day`. */
  readonly routes: Readonly<Record<string, RouteConfig>>
  /**
   * The application's `@koa/router` with its routes in place: the gate then stands before the handlers of the routes that
   * the keys name, and a key without a route is an error. Keys are the router's own paths, prefixes included.
   *
   * Without it the gate stands before whatever comes next and goes by the path alone: it asks for payment rather too
   * often (for a path that only looks like a route) than too seldom, and answers OPTIONS on sold paths itself. Middleware
   * that rewrites methods or paths must then stand before it.
   */
  readonly router?: RouterGate.LayeredRouter
}

const check = OptionCheck.options<PaymentOptions>({
  ...Seller.keys,
  routes: OptionCheck.record(OptionCheck.any()),
  router: OptionCheck.optional(OptionCheck.having("a router of @koa/router", "stack"))
})

/**
 * What opens and closes with a shop.
 *
 * @category models
 */
export interface OpenShop {
  /** Resolves when all routes are proven against chains and facilitator; rejects with `Misconfigured`. */
  readonly ready: () => Promise<void>
  /** Reports what is left to report and stops; close the HTTP server first. */
  readonly close: () => Promise<void>
}

/**
 * Middleware that sells the routes of a map. Throws `Misconfigured` for every mistake that can be seen without asking
 * anybody.
 *
 * @category constructors
 */
export const paymentMiddleware = (options: PaymentOptions): Middleware & OpenShop => {
  const { router, routes, ...shop } = Result.getOrThrow(OptionCheck.read(check, options))
  const seller = Seller.make(shop)
  const keyed = Object.entries(routes).map(([name, config]) => ({
    key: Result.getOrThrow(RouteKey.parse(name)),
    route: seller.route(name, config)
  }))
  const table = Result.getOrThrow(RouteTable.make(keyed.map(({ key, route }) => [key, route])))
  const middleware = router === undefined ? before(seller, table) : inside(seller, router, keyed)
  return Object.assign(middleware, doorOf(seller))
}

const doorOf = (seller: Seller.Seller): OpenShop => ({ ready: () => seller.ready(), close: () => seller.close() })

const before =
  (seller: Seller.Seller, table: RouteTable.RouteTable<PricedRoute>): Middleware =>
  (ctx, next) => {
    const match = table.find(ctx.method, ctx.path, RequestTarget.pathOf(ctx.originalUrl))
    switch (match._tag) {
      case "None":
        return next()
      case "Answered":
        return PaidResponse.send(ctx, match.answer)
      case "Found":
        return PaidHandler.serve(seller, match.route, ctx, next, match.params)
    }
  }

/** The gate is in the router; this only catches up with routes that were added later. */
const inside = (
  seller: Seller.Seller,
  router: RouterGate.LayeredRouter,
  keyed: ReadonlyArray<RouterGate.KeyedRoute>
): Middleware => {
  const gate = RouterGate.make(router, keyed, (route, ctx, next) =>
    PaidHandler.serve(seller, route, ctx, next, paramsOf(ctx))
  )
  return (_ctx, next) => {
    gate.refresh()
    return next()
  }
}

const paramsOf = (ctx: Context): Readonly<Record<string, string>> => ctx["params"] ?? {}

/**
 * A shop whose routes are sold one by one.
 *
 * @category models
 */
export interface PaymentRoutes extends OpenShop {
  /**
   * A step in front of a route's handler: `router.get("/report", payment.paid({ ... }), handler)`. Everything after it is
   * paid for. Throws `Misconfigured`. `name` is how messages call the route.
   */
  readonly paid: (config: RouteConfig, name?: string) => (ctx: Context, next: Next) => Promise<unknown>
}

/**
 * Opens a shop whose routes are sold one by one. Throws `Misconfigured` for a mistake in the options.
 *
 * @category constructors
 */
export const paymentRoutes = (options: Seller.SellerOptions): PaymentRoutes => {
  const seller = Seller.make(options)
  let count = 0
  return {
    paid: (config, name = `paid route ${++count}`) => {
      const route = seller.route(name, config)
      return (ctx, next) => PaidHandler.serve(seller, route, ctx, next, paramsOf(ctx))
    },
    ...doorOf(seller)
  }
}
