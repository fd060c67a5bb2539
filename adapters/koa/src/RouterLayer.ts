/** The parts of a router and of its layers that are read, and the relation of a key and a layer. */
import { RouteKey } from "@pontage/core"

/**
 * The part of a router's layer that is read. `router.stack` holds the layers of nested routers too, with their
 * prefixes.
 */
export interface RouterLayer {
  readonly path: string | RegExp
  /** Methods in upper case; empty for middleware. */
  readonly methods: ReadonlyArray<string>
  stack: Array<(...parameters: Array<never>) => unknown>
  /** Whether the layer takes a path. */
  readonly match?: (path: string) => boolean
}

/** The part of a router that is read: `@koa/router` 13 and later fits unchanged. */
export interface LayeredRouter {
  readonly stack: ReadonlyArray<RouterLayer>
  /** Only one of the layers that fit runs, and not the first. */
  readonly exclusive?: unknown
}

/** The methods that a layer gives its handler: OPTIONS is never sold, HEAD counts as GET. */
export const methodsOf = ({ methods }: RouterLayer): ReadonlySet<string> =>
  new Set(methods.map(RouteKey.soldMethod).filter((method) => method !== "OPTIONS"))

/**
 * Whether a key sells a layer: every path of the layer is one of the key's. A part in braces is optional and treated as
 * present. A key never sells a regular expression.
 */
export const isMeant = (key: RouteKey.RouteKey, layer: RouterLayer): boolean =>
  methodsOf(layer).has(key.method) && RouteKey.covers(key.segments, segmentsOf(layer))

/** A layer's path as a pattern. */
export const segmentsOf = ({ path }: RouterLayer): ReadonlyArray<RouteKey.Segment> =>
  RouteKey.segmentsOf(typeof path === "string" ? path.replaceAll(/[{}]/g, "") : "/*")

/** Whether key and layer share a path. For a regular expression an example path is tried. */
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
