/**
 * Sells routes of a Koa application: by a map of routes in front of (or inside) a router, or by a step for a single
 * route.
 */
import { OptionCheck, RequestTarget, RouteKey, type Seller, SoldRoutes, SoldSteps } from "@pontage/core"
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
export interface PaymentOptions<Keys extends string = string> extends SoldRoutes.SoldRoutesOptions<Keys> {
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
}

const check = OptionCheck.options<PaymentOptions>({
  ...SoldRoutes.keys,
  router: OptionCheck.optional(OptionCheck.having("a router of @koa/router", "stack")),
  app: OptionCheck.optional(OptionCheck.having("a Koa application", "middleware"))
})

/**
 * Middleware that sells the routes of a map. Throws `Misconfigured` for every mistake that is visible without a
 * request.
 */
export const paymentMiddleware = <Keys extends string>(
  options: PaymentOptions<Keys>
): Middleware & SoldRoutes.OpenShop => {
  const { app, router, ...shop } = Result.getOrThrow(OptionCheck.read(check, options as PaymentOptions))
  const sold = SoldRoutes.open(shop, { keepsResponses: true })
  try {
    return standing(sold, router === undefined ? before(sold) : inside(sold, router), app)
  } catch (mistake) {
    void sold.close()
    throw mistake
  }
}

interface Gate {
  readonly middleware: Middleware
  /** Throws if a router of the application serves a sold handler for free. */
  readonly checkOrder: (app: RouterOrder.LayeredApp, self: object | undefined) => void
}

/** Checks the application's routers whenever it has more middleware than before. */
const standing = (sold: SoldRoutes.SoldRoutes, gate: Gate, app: RouterOrder.LayeredApp | undefined) => {
  let seen = -1
  const self: Middleware = (ctx, next) => {
    if (ctx.app.middleware.length !== seen) gate.checkOrder(ctx.app, self)
    seen = ctx.app.middleware.length
    return gate.middleware(ctx, next)
  }
  if (app !== undefined) gate.checkOrder(app, undefined)
  const ready = async () => {
    if (app !== undefined) gate.checkOrder(app, self)
    await sold.ready()
  }
  return Object.assign(self, { ready, close: sold.close })
}

const before = ({ keyed, onPath, seller }: SoldRoutes.SoldRoutes): Gate => {
  const keys = keyed.map(({ key }) => key)
  const isOpen = (layer: Layers.RouterLayer) =>
    !GateStep.isIn(layer.stack) && keys.some((key) => Layers.isMeant(key, layer))
  const soldAs = (passage: UngatedResponse.Passage) =>
    UngatedResponse.keyOf(keys, passage) ?? openLayer(passage, isOpen)
  return {
    checkOrder: (app, self) =>
      self === undefined ? RouterOrder.checkAll(app, isOpen) : RouterOrder.checkEarlier(app, self, isOpen),
    middleware: (ctx, next) => {
      const match = onPath(ctx.method, ctx.path, RequestTarget.pathOf(ctx.originalUrl))
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
const inside = ({ keyed, pages, seller, voucherRoute }: SoldRoutes.SoldRoutes, router: Layers.LayeredRouter): Gate => {
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
      const path = RequestTarget.pathOf(ctx.originalUrl)
      const vouchers = voucherRoute(ctx.method, path)
      if (vouchers !== undefined) return PaidHandler.serve(seller, vouchers, ctx, next, {})
      const page = pages.find(ctx.method, path)
      if (page !== undefined) return PaidResponse.send(ctx, page)
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

/** A shop whose routes are sold one by one: `router.get("/report", payment.paid({ ... }), handler)`. */
export type PaymentRoutes = SoldSteps.SoldSteps<(ctx: Context, next: Next) => Promise<unknown>>

/** Opens a shop whose routes are sold one by one. Throws `Misconfigured` for a mistake in the options. */
export const paymentRoutes = (options: Seller.SellerOptions): PaymentRoutes =>
  SoldSteps.open(
    options,
    (seller, route) => GateStep.mark((ctx, next) => PaidHandler.serve(seller, route, ctx, next, paramsOf(ctx))),
    { keepsResponses: true }
  )
