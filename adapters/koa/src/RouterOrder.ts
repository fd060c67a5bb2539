/**
 * Checks the position of the payment middleware in its application: a router before it serves sold handlers without it,
 * and a router that copied sold layers before they had a gate runs the copies.
 */
import { Misconfigured } from "@pontage/core"

import * as Layers from "./RouterLayer.ts"

/** The part of a Koa application that is read. */
export interface LayeredApp {
  readonly middleware: ReadonlyArray<object>
}

/** Whether a layer serves a sold handler for free. */
export type IsOpen = (layer: Layers.RouterLayer) => boolean

/**
 * Throws `Misconfigured` for a layer that serves a sold handler for free, in any router that the application already
 * uses.
 */
export const checkAll = ({ middleware }: LayeredApp, isOpen: IsOpen): void => {
  const layer = middleware.flatMap(layersOf).find(isOpen)
  if (layer === undefined) return
  throw new Misconfigured({
    message: `${Layers.nameOf(layer)} is sold, and served without a payment by a router that stands before the payment middleware, or that took a copy of it before the payment middleware was made; make it first, and use it before the routers`
  })
}

/**
 * The same for the routers before the payment middleware; no effect if the application does not show it (it is wrapped,
 * or used by another one).
 */
export const checkEarlier = ({ middleware }: LayeredApp, gate: object, isOpen: IsOpen): void => {
  checkAll({ middleware: middleware.slice(0, Math.max(0, middleware.indexOf(gate))) }, isOpen)
}

/** The router of a middleware; the function of `router.routes()` carries it. */
const layersOf = (middleware: object): ReadonlyArray<Layers.RouterLayer> => {
  const router: unknown = Reflect.get(middleware, "router")
  if (typeof router !== "object" || router === null || !("stack" in router) || !Array.isArray(router.stack)) return []
  return router.stack
}
