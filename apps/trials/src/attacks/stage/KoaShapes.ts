/**
 * Koa applications in shapes that real ones have, each with a sold report and a way to it that does not lead through the
 * gate at first sight.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { Readable } from "node:stream"

import { Router } from "@koa/router"
import type { RouteConfig } from "@pontage/core"
import type { paymentMiddleware, PaymentOptions } from "@pontage/koa"
import Koa from "koa"

import * as ShopGoods from "./ShopGoods.ts"

/** The result of `paymentMiddleware`. */
export type Gate = ReturnType<typeof paymentMiddleware>

/** Makes a gate with the shop's terms beside these options. */
export type Gatekeeper = (
  routes: Readonly<Record<string, object>>,
  options?: Pick<PaymentOptions, "router" | "app">
) => Gate

/** A shape: the application, and the gate that it waits for. */
export interface KoaShape {
  readonly app: { readonly callback: () => (request: IncomingMessage, response: ServerResponse) => unknown }
  readonly gate: Gate
}

const report: Koa.Middleware = (context) => {
  context.body = ShopGoods.goods("report")
}

const cent = { price: "$0.01" }
const sold = { "GET /report": cent }
const withReport = (path: string | Array<string> = "/report") => new Router().get(path, report)

/** As method override packages write it. */
const override: Koa.Middleware = (context, next) => {
  context.method = context.get("x-method") || context.method
  return next()
}

const silent = (): Koa => Object.assign(new Koa(), { silent: true })

const using = (gate: Gate, router: Router): KoaShape => ({ app: silent().use(gate).use(router.routes()), gate })

const copied = (sell: Gatekeeper, isKnown: boolean): KoaShape => {
  const nested = withReport()
  const parent = new Router().use("/api", nested.routes())
  const app = new Koa().use(parent.routes())
  const gate = sell(sold, { router: nested, ...(isKnown && { app }) })
  return using(gate, parent)
}

const nestedLater = (sell: Gatekeeper): KoaShape => {
  const nested = withReport()
  const gate = sell(sold, { router: nested })
  return using(gate, new Router().use("/api", nested.routes()))
}

const inRouter = (sell: Gatekeeper, router: Router, routes: Readonly<Record<string, object>> = sold): KoaShape => {
  const gate = sell(routes, { router })
  return using(gate, router)
}

const rewritten = (sell: Gatekeeper, place: "before" | "in" | "behind"): KoaShape => {
  const router = withReport().post("/report", (context) => void (context.body = "thanks"))
  const gate = sell(sold, place === "in" ? { router } : {})
  const app = silent()
  if (place === "behind") app.use(gate).use(override)
  else app.use(override).use(gate)
  return { app: app.use(router.routes()), gate }
}

const lateGate = (sell: Gatekeeper): KoaShape => {
  const app = new Koa().use(withReport().routes())
  return { app, gate: sell(sold, { app }) }
}

/** The price of a tier as written by a seller who assumes that the handler gets the same parameter. */
const tiers: Pick<RouteConfig, "getPrice"> = { getPrice: ({ params }) => (params["tier"] === "Gold" ? "$1" : "$0.01") }

const tiered = (sell: Gatekeeper, isIn: boolean): KoaShape => {
  const router = new Router().get(
    "/report/:tier",
    (context) => void (context.body = ShopGoods.goods(`tier ${String(context.params["tier"])}`))
  )
  const gate = sell({ "GET /report/:tier": tiers }, isIn ? { router } : {})
  return using(gate, router)
}

const hooked = (sell: Gatekeeper, getPrice: unknown): KoaShape =>
  inRouter(sell, withReport(), { "GET /report": { getPrice, priceTimeoutMillis: 300 } })

const files = (sell: Gatekeeper): KoaShape =>
  inRouter(sell, new Router().get("/files/*rest", report), { "GET /files/*": cent })

const stream: Koa.Middleware = (context) => void (context.body = Readable.from(ShopGoods.pieces()))

/** By name. */
export const shapes: Readonly<Record<string, (sell: Gatekeeper) => KoaShape>> = {
  "copied by a parent": (sell) => copied(sell, false),
  "copied by a parent of a known application": (sell) => copied(sell, true),
  "nested after the gate": nestedLater,
  "all methods": (sell) => inRouter(sell, new Router().all("/report", report)),
  "two paths": (sell) => inRouter(sell, withReport(["/report", "/copy"])),
  "method rewritten before the gate": (sell) => rewritten(sell, "before"),
  "method rewritten before a gate in the router": (sell) => rewritten(sell, "in"),
  "method rewritten behind the gate": (sell) => rewritten(sell, "behind"),
  "gate after the router": lateGate,
  "tiers before the router": (sell) => tiered(sell, false),
  "tiers in the router": (sell) => tiered(sell, true),
  "a price that is a bigint": (sell) => hooked(sell, () => 1n),
  "a price that is an object without a prototype": (sell) => hooked(sell, () => Object.create(null)),
  "a price that throws nothing": (sell) => hooked(sell, () => Promise.reject(Object.create(null))),
  "a price that never comes": (sell) => hooked(sell, () => new Promise(() => {})),
  "whatever path": files,
  "HTTP/2": (sell) => inRouter(sell, new Router().get("/stream", stream), { "GET /stream": cent })
}
