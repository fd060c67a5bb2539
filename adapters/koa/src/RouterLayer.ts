/**
 * What is looked at of a router and of its layers, and how a key of the map and a layer relate.
 */
import { RouteKey } from "@pontage/core"

/**
 * The part of a router's layer that is looked at. `router.stack` holds the layers of nested routers too, with their
 * prefixes.
 */
export interface RouterLayer {
  readonly path: string | RegExp
  /** Upper case; empty for middleware. */
  readonly methods: ReadonlyArray<string>
  stack: Array<(...parameters: Array<never>) => unknown>
  /** Whether the layer takes a path. */
  readonly match?: (path: string) => boolean
}

/** The part of a router that is looked at: `@koa/router` 13 and later fits as it is. */
export interface LayeredRouter {
  readonly stack: ReadonlyArray<RouterLayer>
  /** Only one of the layers that fit runs, and not the first. */
  readonly exclusive?: unknown
}

/** A key's method as it stands for a request's: GET is HEAD too. */
export const soldMethod = (method: string): string => {
  const upper = method.toUpperCase()
  return upper === "HEAD" ? "GET" : upper
}

/** The methods a layer gives its handler to: OPTIONS is never sold, HEAD counts as GET. */
export const methodsOf = ({ methods }: RouterLayer): ReadonlySet<string> =>
  new Set(methods.map(soldMethod).filter((method) => method !== "OPTIONS"))

/**
 * Whether a key sells a layer: every path that the layer takes is one of the key's. A part in braces is optional: the layer
 * is looked at as if it were there. A regular expression is never sold by a key.
 */
export const isMeant = (key: RouteKey.RouteKey, layer: RouterLayer): boolean =>
  methodsOf(layer).has(key.method) && RouteKey.covers(key.segments, segmentsOf(layer))

/** A layer's path as a pattern. */
export const segmentsOf = ({ path }: RouterLayer): ReadonlyArray<RouteKey.Segment> =>
  RouteKey.segmentsOf(typeof path === "string" ? path.replaceAll(/[{}]/g, "") : "/*")

/** Whether some path of the key is one that the layer takes. Of a regular expression an example is tried. */
export const isTouched = (key: RouteKey.RouteKey, layer: RouterLayer): boolean => {
  if (!methodsOf(layer).has(key.method)) return false
  if (layer.match?.(example(key)) === true) return true
  return typeof layer.path === "string" && RouteKey.meets(key.segments, segmentsOf(layer))
}

const example = ({ segments }: RouteKey.RouteKey): string =>
  segments.map((segment) => (segment._tag === "Literal" ? `/${segment.text}` : "/1")).join("") || "/"

/** The function that answers: the last one of a layer. */
export const handlerOf = ({ stack }: RouterLayer): object | undefined => stack.at(-1)

/** A layer as messages call it. */
export const nameOf = ({ methods, path }: RouterLayer): string =>
  `${methods.length > 6 ? "all methods of" : methods.filter((method) => method !== "HEAD").join(", ") || "HEAD"} ${String(path)}`
