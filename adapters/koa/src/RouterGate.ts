/**
 * Puts paid routes into a `@koa/router`: the gate becomes the first step of every layer that a key names. It then stands
 * after routing, where gate and router cannot disagree about a path.
 */
import { Misconfigured, RouteKey, type PricedRoute } from "@pontage/core"
import type { Context, Next } from "koa"

/**
 * The part of a router's layer that is looked at. `router.stack` holds the layers of nested routers too, with their
 * prefixes.
 *
 * @category models
 */
export interface RouterLayer {
  readonly path: string | RegExp
  /** Upper case; empty for middleware. */
  readonly methods: ReadonlyArray<string>
  stack: Array<(...parameters: Array<never>) => unknown>
}

/**
 * The part of a router that is looked at: `@koa/router` 13 and later fits as it is.
 *
 * @category models
 */
export interface LayeredRouter {
  readonly stack: ReadonlyArray<RouterLayer>
}

/**
 * A route and its key.
 *
 * @category models
 */
export interface KeyedRoute {
  readonly key: RouteKey.RouteKey
  readonly route: PricedRoute
}

/**
 * What runs in front of a layer.
 *
 * @category models
 */
export type Gatekeeper = (route: PricedRoute, ctx: Context, next: Next) => Promise<unknown>

/**
 * Gates that were put into a router.
 *
 * @category models
 */
export interface RouterGate {
  /** Gates the layers that were added since. Cheap when there are none. */
  readonly refresh: () => void
}

/**
 * Gates every layer that a key covers, by the key that says most about it. Throws `Misconfigured` for a key without a
 * layer: the route it means does not exist, or is added after the gate.
 *
 * @category constructors
 */
export const make = (router: LayeredRouter, routes: ReadonlyArray<KeyedRoute>, gatekeeper: Gatekeeper): RouterGate => {
  const sorted = routes.toSorted((one, other) => RouteKey.compare(one.key.segments, other.key.segments))
  const gated = new WeakSet<RouterLayer>()
  let seen = -1
  const refresh = () => {
    if (router.stack.length === seen) return
    seen = router.stack.length
    for (const layer of router.stack) if (!gated.has(layer)) gate(layer, sorted, gatekeeper, gated)
  }
  for (const { key } of routes) {
    if (!router.stack.some((layer) => isMeant(key, layer))) throw new Misconfigured({ message: missing(router, key) })
  }
  refresh()
  return { refresh }
}

/** A layer for HEAD alone serves what GET sells. */
const isMeant = (key: RouteKey.RouteKey, layer: RouterLayer): boolean =>
  (layer.methods.includes(key.method) || (key.method === "GET" && layer.methods.includes("HEAD"))) &&
  RouteKey.covers(key.segments, segmentsOf(layer))

/** A part in braces is optional: the layer is looked at as if it were there. A regular expression is never named. */
const segmentsOf = ({ path }: RouterLayer): ReadonlyArray<RouteKey.Segment> =>
  RouteKey.segmentsOf(typeof path === "string" ? path.replaceAll(/[{}]/g, "") : "/*")

const missing = (router: LayeredRouter, { text }: RouteKey.RouteKey): string => {
  const known = router.stack.flatMap(({ methods, path }) =>
    methods.filter((method) => method !== "HEAD").map((method) => `${method} ${String(path)}`)
  )
  const list = known.length === 0 ? "none" : known.slice(0, 40).join(", ")
  return `route ${JSON.stringify(text)}: the router has no such route; add it to the router before the payment middleware is made, or correct the key. The router's routes: ${list}`
}

const gate = (
  layer: RouterLayer,
  sorted: ReadonlyArray<KeyedRoute>,
  gatekeeper: Gatekeeper,
  gated: WeakSet<RouterLayer>
): void => {
  const byMethod = new Map<string, PricedRoute>()
  for (const { key, route } of sorted) {
    if (!byMethod.has(key.method) && isMeant(key, layer)) byMethod.set(key.method, route)
  }
  const [first] = byMethod.values()
  if (first === undefined) return
  gated.add(layer)
  layer.stack = [
    (ctx: Context, next: Next) => {
      const route = ctx.method === "OPTIONS" ? first : byMethod.get(ctx.method === "HEAD" ? "GET" : ctx.method)
      return route === undefined ? next() : gatekeeper(route, ctx, next)
    },
    ...layer.stack
  ]
}
