/**
 * Puts paid routes into a `@koa/router`: the gate becomes the first step of every layer that a key names. It then
 * stands after routing, where gate and router cannot disagree about a path. A handler that would be sold at one path
 * and free at another is a mistake, found at start.
 */
import { Misconfigured, type PricedRoute, RouteKey, type SoldRoutes } from "@pontage/core"
import type { Context, Next } from "koa"

import * as GateStep from "./GateStep.ts"
import * as Layers from "./RouterLayer.ts"

/** The gate's step in front of a layer. */
export type Gatekeeper = (route: PricedRoute, ctx: Context, next: Next) => Promise<unknown>

/** The gates in a router. */
export interface RouterGate {
  /** Gates the layers that were added since, and closes those that are mistakes. Cheap if there are none. */
  readonly refresh: () => void
  /** Whether a layer, of this router or another one, runs a sold handler without a gate before it. */
  readonly isOpen: (layer: Layers.RouterLayer) => boolean
}

/**
 * Gates every layer that a key covers, by the most specific key. Throws `Misconfigured` for a key without a layer (its
 * route does not exist, or is added after the gate), for a layer that is covered in some of its methods only, for a
 * sold handler that another layer serves for free, and for a free layer that answers a sold path first.
 */
export const make = (
  router: Layers.LayeredRouter,
  routes: ReadonlyArray<SoldRoutes.KeyedRoute>,
  gatekeeper: Gatekeeper
): RouterGate => {
  for (const { key } of routes) {
    if (!router.stack.some((layer) => Layers.isMeant(key, layer))) {
      throw new Misconfigured({ message: missing(router, key) })
    }
  }
  const gates = new LayerGates(router, routes, gatekeeper)
  const mistake = gates.gateNew()[0]
  if (mistake !== undefined) throw new Misconfigured({ message: mistake.message })
  return {
    refresh: () => {
      for (const { layer, message } of gates.gateNew()) layer.stack = [closed(message)]
    },
    isOpen: (layer) => gates.isOpen(layer)
  }
}

const missing = (router: Layers.LayeredRouter, { text }: RouteKey.RouteKey): string => {
  const known = router.stack.flatMap(({ methods, path }) =>
    methods.filter((method) => method !== "HEAD").map((method) => `${method} ${String(path)}`)
  )
  const list = known.length === 0 ? "none" : known.slice(0, 40).join(", ")
  return `route ${JSON.stringify(text)}: the router has no such route; add it to the router before the payment middleware is made, or correct the key. The router's routes: ${list}`
}

/** A step that fails, so that Koa responds with 500 and logs the message. */
const closed = (message: string) =>
  GateStep.mark(() => {
    throw new Misconfigured({ message })
  })

interface LayerMistake {
  readonly layer: Layers.RouterLayer
  readonly message: string
}

class LayerGates {
  readonly #router: Layers.LayeredRouter
  readonly #routes: ReadonlyArray<SoldRoutes.KeyedRoute>
  readonly #gatekeeper: Gatekeeper
  readonly #looked = new WeakSet<Layers.RouterLayer>()
  /** The sold handlers, each with its key. */
  readonly #sold = new WeakMap<object, string>()
  #count = -1

  constructor(router: Layers.LayeredRouter, routes: ReadonlyArray<SoldRoutes.KeyedRoute>, gatekeeper: Gatekeeper) {
    this.#router = router
    this.#routes = routes.toSorted((one, other) => RouteKey.compare(one.key.segments, other.key.segments))
    this.#gatekeeper = gatekeeper
  }

  isOpen(layer: Layers.RouterLayer): boolean {
    const handler = Layers.handlerOf(layer)
    return handler !== undefined && this.#sold.has(handler) && !GateStep.isIn(layer.stack)
  }

  gateNew(): ReadonlyArray<LayerMistake> {
    const { stack } = this.#router
    if (stack.length === this.#count) return []
    this.#count = stack.length
    const fresh = stack.filter((layer) => !this.#looked.has(layer))
    for (const layer of fresh) this.#looked.add(layer)
    const halves = fresh.flatMap((layer) => this.#gate(layer))
    return [...halves, ...fresh.flatMap((layer) => this.#gift(layer) ?? [])]
  }

  /** Gates a sold layer; returns its methods that no key sells. */
  #gate(layer: Layers.RouterLayer): ReadonlyArray<LayerMistake> {
    const byMethod = new Map<string, PricedRoute>()
    let sold: string | undefined
    const misnamed: Array<LayerMistake> = []
    for (const { key, route } of this.#routes) {
      if (byMethod.has(key.method) || !Layers.isMeant(key, layer)) continue
      byMethod.set(key.method, route)
      sold ??= key.text
      const message = misnaming(key, route, layer)
      if (message !== undefined) misnamed.push({ layer, message })
    }
    if (sold === undefined) return []
    const handler = Layers.handlerOf(layer)
    if (handler !== undefined) this.#sold.set(handler, sold)
    layer.stack = [gateOf(layer, byMethod, this.#gatekeeper), ...layer.stack]
    const others = [...Layers.methodsOf(layer)].filter((method) => !byMethod.has(method))
    if (others.length === 0) return misnamed
    const message = `route ${JSON.stringify(sold)}: its handler also answers ${others.slice(0, 6).join(", ")}${others.length > 6 ? ", ..." : ""} ${String(layer.path)}, which no key sells; register it for the methods that are sold only, or give the others a handler of their own`
    return [{ layer, message }]
  }

  /**
   * The mistake of a layer without a gate that serves a sold resource for free: by running its handler, or by answering
   * its path first.
   */
  #gift(layer: Layers.RouterLayer): LayerMistake | undefined {
    if (layer.methods.length === 0 || GateStep.isIn(layer.stack)) return undefined
    const sold = this.#sold.get(Layers.handlerOf(layer) ?? layer)
    if (sold !== undefined) {
      const message = `route ${JSON.stringify(sold)}: its handler also answers ${Layers.nameOf(layer)} for free; give that a key, or a handler function of its own`
      return { layer, message }
    }
    const shadowed = this.#routes.find(({ key }) => Layers.isTouched(key, layer) && this.#isFirst(layer, key))
    if (shadowed === undefined) return undefined
    const message = `route ${JSON.stringify(shadowed.key.text)}: ${Layers.nameOf(layer)} can answer its requests before it, and for free; declare it later, give it a key, or make it router.use()`
    return { layer, message }
  }

  #isFirst(layer: Layers.RouterLayer, key: RouteKey.RouteKey): boolean {
    const { exclusive, stack } = this.#router
    return exclusive === true || stack.indexOf(layer) < stack.findLastIndex((other) => Layers.isMeant(key, other))
  }
}

/** A price function reads the parameters that its key names, so the router must use the same names. */
const misnaming = (key: RouteKey.RouteKey, route: PricedRoute, layer: Layers.RouterLayer): string | undefined => {
  if (typeof route.price !== "function" && route.validate === undefined) return undefined
  const [name] = RouteKey.unnamedIn(key.segments, Layers.segmentsOf(layer))
  return name === undefined
    ? undefined
    : `route ${JSON.stringify(key.text)}: the router's ${Layers.nameOf(layer)} has no parameter :${name}, so getPrice and validate would read none; write the key as the router writes its path`
}

/** The gate for a request's method; a method that was rewritten after routing opens nothing. */
const gateOf = (layer: Layers.RouterLayer, byMethod: ReadonlyMap<string, PricedRoute>, gatekeeper: Gatekeeper) => {
  const [first] = byMethod.values()
  return GateStep.mark((ctx: Context, next: Next) => {
    const method = RouteKey.soldMethod(ctx.method)
    const route = method === "OPTIONS" ? first : byMethod.get(method)
    if (route !== undefined) return gatekeeper(route, ctx, next)
    throw new Misconfigured({
      message: `${ctx.method} reached ${Layers.nameOf(layer)}, where it has no price; rewrite methods before the router`
    })
  })
}
