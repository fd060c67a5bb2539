/**
 * Where the payment middleware stands in its application: a router before it answers what it sells without it, and a router
 * that has copied sold layers before they had a gate runs the copies.
 */
import { Misconfigured } from "@pontage/core"

import * as Layers from "./RouterLayer.ts"

/** The part of a Koa application that is looked at. */
export interface LayeredApp {
  readonly middleware: ReadonlyArray<object>
}

/** Whether a layer gives away what is sold. */
export type IsOpen = (layer: Layers.RouterLayer) => boolean

/**
 * Throws `Misconfigured` for a layer that gives away what is sold, in any router that the application uses already.
 */
export const checkAll = ({ middleware }: LayeredApp, isOpen: IsOpen): void => {
  const layer = middleware.flatMap(layersOf).find(isOpen)
  if (layer === undefined) return
  throw new Misconfigured({
    message: `${Layers.nameOf(layer)} is sold, and served without a payment by a router that stands before the payment middleware, or that took a copy of it before the payment middleware was made; make it first, and use it before the routers`
  })
}

/**
 * The same for the routers that stand before the payment middleware; nothing where the application does not show it (it is
 * wrapped, or used by another one).
 */
export const checkEarlier = ({ middleware }: LayeredApp, gate: object, isOpen: IsOpen): void => {
  checkAll({ middleware: middleware.slice(0, Math.max(0, middleware.indexOf(gate))) }, isOpen)
}

/** What `router.routes()` gives carries its router. */
const layersOf = (middleware: object): ReadonlyArray<Layers.RouterLayer> => {
  const router: unknown = Reflect.get(middleware, "router")
  if (typeof router !== "object" || router === null || !("stack" in router) || !Array.isArray(router.stack)) return []
  return router.stack
}
