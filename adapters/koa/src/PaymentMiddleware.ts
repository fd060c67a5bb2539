/**
 * Sells routes of a Koa application: by a map of routes in front of (or inside) a router, or by a step for a single
 * route.
 */
import {
  DiscoveryOptions,
  DiscoveryPages,
  OptionCheck,
  RequestTarget,
  RouteKey,
  RouteTable,
  Seller,
  type PricedRoute,
  type RouteConfig,
  type RouteMap
} from "@pontage/core"
import * as Result from "effect/Result"
import type { Context, Middleware, Next } from "koa"

import * as GateStep from "./GateStep.ts"
import * as PaidHandler from "./PaidHandler.ts"
import * as PaidResponse from "./PaidResponse.ts"
import * as RouterGate from "./RouterGate.ts"
import * as Layers from "./RouterLayer.ts"
import * as RouterOrder from "./RouterOrder.ts"
import * as UngatedResponse from "./UngatedResponse.ts"

/** Options of `paymentMiddleware`. */
export interface PaymentOptions<Keys extends string = string> extends Seller.SellerOptions {
  /** Prices by `<METHOD> <path>`, for example `GET /reports/:day`: its functions then read `params.day`. */
  readonly routes: RouteMap<Keys>
  /**
   * The application's `@koa/router` with its routes in place: the gate then stands before the handlers of the routes
   * that the keys name. Keys are the router's own paths, prefixes included. A key without a route is an error, and so
   * is a handler that is sold at one path or method and free at another. Nest the router, and use the middleware, after
   * this call.
   *
   * Without it the gate stands before all following middleware and matches by the path alone: it demands payment rather
   * too often (for a path that only resembles a route) than too seldom, and answers OPTIONS on sold paths itself. Then
   * the order matters: middleware that rewrites methods or paths stands before it, every router with sold handlers
   * after it.
   */
  readonly router?: Layers.LayeredRouter
  /**
   * The Koa application that uses this middleware. With it, routers that serve a sold handler without a payment are an
   * error when the middleware is made and when it gets `ready`; without it they are one at the first request.
   */
  readonly app?: RouterOrder.LayeredApp
  /**
   * Serves `/openapi.json` of the listed routes with their prices, for buyers' agents, and `/llms.txt` if wanted. Default:
   * the shop announces nothing. These paths then belong to the gate.
   */
  readonly discovery?: DiscoveryOptions.DiscoveryOptions
}

const check = OptionCheck.options<PaymentOptions>({
  ...Seller.keys,
  routes: OptionCheck.record(OptionCheck.any()),
  router: OptionCheck.optional(OptionCheck.having("a router of @koa/router", "stack")),
  app: OptionCheck.optional(OptionCheck.having("a Koa application", "middleware")),
  discovery: OptionCheck.optional(DiscoveryOptions.check)
})

/** The start and the end of a shop. */
export interface OpenShop {
  /** Resolves when all routes are proven against chains and facilitator; rejects with `Misconfigured`. */
  readonly ready: () => Promise<void>
  /** Sends the pending reports and stops; close the HTTP server first. */
  readonly close: () => Promise<void>
}

/**
 * Middleware that sells the routes of a map. Throws `Misconfigured` for every mistake that is visible without a
 * request.
 */
export const paymentMiddleware = <Keys extends string>(options: PaymentOptions<Keys>): Middleware & OpenShop => {
  const { app, discovery, router, routes, ...shop } = Result.getOrThrow(
    OptionCheck.read(check, options as PaymentOptions)
  )
  const seller = Seller.make(shop, { keepsResponses: true })
  try {
    const keyed = Object.entries(routes).map(([name, config]) => ({
      key: Result.getOrThrow(RouteKey.parse(name)),
      route: seller.route(name, config)
    }))
    const table = Result.getOrThrow(RouteTable.make(keyed.map(({ key, route }) => [key, route])))
    const gate = router === undefined ? before(seller, table, keyed) : inside(seller, router, keyed)
    const pages = Result.getOrThrow(DiscoveryPages.make(discovery, seller.origin, keyed))
    return standing(seller, withPages(gate, pages), app)
  } catch (mistake) {
    void seller.close()
    throw mistake
  }
}

interface Gate {
  readonly middleware: Middleware
  /** Throws if a router of the application serves a sold handler for free. */
  readonly checkOrder: (app: RouterOrder.LayeredApp, self: object | undefined) => void
}

/** Sends the discovery documents in front of the gate. */
const withPages = (gate: Gate, pages: DiscoveryPages.DiscoveryPages): Gate => ({
  checkOrder: gate.checkOrder,
  middleware: (ctx, next) => {
    const page = pages.find(ctx.method, RequestTarget.pathOf(ctx.originalUrl))
    return page === undefined ? gate.middleware(ctx, next) : PaidResponse.send(ctx, page)
  }
})

/** Checks the application's routers whenever it has more middleware than before. */
const standing = (seller: Seller.Seller, gate: Gate, app: RouterOrder.LayeredApp | undefined) => {
  let seen = -1
  const self: Middleware = (ctx, next) => {
    if (ctx.app.middleware.length !== seen) gate.checkOrder(ctx.app, self)
    seen = ctx.app.middleware.length
    return gate.middleware(ctx, next)
  }
  if (app !== undefined) gate.checkOrder(app, undefined)
  const ready = async () => {
    if (app !== undefined) gate.checkOrder(app, self)
    await seller.ready()
  }
  return Object.assign(self, { ready, close: () => seller.close() })
}

const before = (
  seller: Seller.Seller,
  table: RouteTable.RouteTable<PricedRoute>,
  keyed: ReadonlyArray<RouterGate.KeyedRoute>
): Gate => {
  const keys = keyed.map(({ key }) => key)
  const isOpen = (layer: Layers.RouterLayer) =>
    !GateStep.isIn(layer.stack) && keys.some((key) => Layers.isMeant(key, layer))
  const soldAs = (passage: UngatedResponse.Passage) =>
    UngatedResponse.keyOf(keys, passage) ?? openLayer(passage, isOpen)
  return {
    checkOrder: (app, self) =>
      self === undefined ? RouterOrder.checkAll(app, isOpen) : RouterOrder.checkEarlier(app, self, isOpen),
    middleware: (ctx, next) => {
      const match = table.find(ctx.method, ctx.path, RequestTarget.pathOf(ctx.originalUrl))
      switch (match._tag) {
        case "None":
          return UngatedResponse.watched(ctx, next, soldAs)
        case "Responded":
          return PaidResponse.send(ctx, match.response)
        case "Found":
          return PaidHandler.serve(seller, match.route, ctx, next, match.params)
      }
    }
  }
}

/**
 * The gate is in the router; this step gates routes that were added later, and detects responses that bypass the gate.
 */
const inside = (
  seller: Seller.Seller,
  router: Layers.LayeredRouter,
  keyed: ReadonlyArray<RouterGate.KeyedRoute>
): Gate => {
  const gate = RouterGate.make(router, keyed, (route, ctx, next) =>
    PaidHandler.serve(seller, route, ctx, next, paramsOf(ctx))
  )
  const keys = keyed.map(({ key }) => key)
  const soldAs = (passage: UngatedResponse.Passage) =>
    UngatedResponse.keyOf(keys, passage) ?? openLayer(passage, gate.isOpen)
  return {
    checkOrder: (app) => {
      gate.refresh()
      RouterOrder.checkAll(app, gate.isOpen)
    },
    middleware: (ctx, next) => {
      gate.refresh()
      return UngatedResponse.watched(ctx, next, soldAs)
    }
  }
}

const openLayer = ({ layers, methods }: UngatedResponse.Passage, isOpen: RouterOrder.IsOpen): string | undefined => {
  const layer = layers.find(
    (one) => isOpen(one) && one.methods.some((method) => methods.has(RouteKey.soldMethod(method)))
  )
  return layer === undefined ? undefined : Layers.nameOf(layer)
}

const paramsOf = (ctx: Context): Readonly<Record<string, string>> => ctx["params"] ?? {}

/** A shop whose routes are sold one by one. */
export interface PaymentRoutes extends OpenShop {
  /**
   * A step in front of a route's handler: `router.get("/report", payment.paid({ ... }), handler)`. All following
   * middleware belongs to the paid resource. Throws `Misconfigured`. Messages call the route `name`.
   */
  readonly paid: (config: RouteConfig, name?: string) => (ctx: Context, next: Next) => Promise<unknown>
}

/** Opens a shop whose routes are sold one by one. Throws `Misconfigured` for a mistake in the options. */
export const paymentRoutes = (options: Seller.SellerOptions): PaymentRoutes => {
  const seller = Seller.make(options, { keepsResponses: true })
  let count = 0
  return {
    paid: (config, name = `paid route ${++count}`) => {
      const route = seller.route(name, config)
      return GateStep.mark((ctx, next) => PaidHandler.serve(seller, route, ctx, next, paramsOf(ctx)))
    },
    ready: () => seller.ready(),
    close: () => seller.close()
  }
}
