/**
 * Resolves the map of routes (apps/docs/protocol.md#d28-routes) to handlers, when the application starts: after that,
 * gate and router cannot disagree about a path.
 */
import { Misconfigured, type RouteConfig, RouteKey } from "@pontage/core"
import * as Result from "effect/Result"

import type { Endpoint, RoutedHandler } from "./payment.endpoints.ts"

interface Entry {
  readonly key: RouteKey.RouteKey
  readonly config: RouteConfig
}

/** The handlers that a map is resolved against. */
export interface Handlers {
  readonly handlers: ReadonlyArray<RoutedHandler>
  /** Whether a handler has its own price. */
  readonly isDecorated: (routed: RoutedHandler) => boolean
  /** Whether the host serves a path by the first handler that fits it (Express), and not by the most specific one. */
  readonly firstWins: boolean
}

/**
 * The configuration of each handler that a key covers, except those with their own price. Throws `Misconfigured` for a
 * key without a handler, for a handler that is covered in part, and for one behind a free handler.
 */
export const resolve = (
  routes: Readonly<Record<string, RouteConfig>>,
  { firstWins, handlers, isDecorated }: Handlers
): ReadonlyMap<RoutedHandler, RouteConfig> => {
  const entries = Object.entries(routes)
    .map(([text, config]): Entry => ({ key: Result.getOrThrow(RouteKey.parse(text)), config }))
    .toSorted((one, other) => RouteKey.compare(one.key.segments, other.key.segments))
  const unused = new Set(entries)
  const configs = new Map<RoutedHandler, RouteConfig>()
  for (const routed of handlers) {
    const found = routed.endpoints.map((endpoint) => entries.find(({ key }) => covers(key, endpoint)))
    for (const entry of found) if (entry !== undefined) unused.delete(entry)
    const config = isDecorated(routed) ? undefined : oneOf(routed, found)
    if (config !== undefined) demandNames(routed, found)
    if (config !== undefined) configs.set(routed, config)
  }
  const [stray] = unused
  if (stray !== undefined) throw noHandler(stray, handlers)
  const sold = (routed: RoutedHandler) => configs.has(routed) || isDecorated(routed)
  if (firstWins) for (const { key } of entries) refuseShadow(key, handlers, sold)
  return configs
}

/** Refuses a handler that is never reached, because one before it takes all of its requests. */
const refuseShadow = (
  key: RouteKey.RouteKey,
  handlers: ReadonlyArray<RoutedHandler>,
  sold: (routed: RoutedHandler) => boolean
): void => {
  const first = handlers.find(({ endpoints }) =>
    endpoints.some(
      ({ conditional, method, path }) =>
        !conditional &&
        (method === "ALL" || method === key.method) &&
        RouteKey.covers(RouteKey.segmentsOf(path), key.segments)
    )
  )
  if (first === undefined || sold(first)) return
  throw new Misconfigured({
    message: `route "${key.text}": ${first.name} is declared before its handler and serves it for free; declare it later`
  })
}

/**
 * Whether a key covers an endpoint; one for every method is covered by any key, and then found to be covered in part.
 */
const covers = (key: RouteKey.RouteKey, { method, path }: Endpoint): boolean =>
  (method === "ALL" || key.method === RouteKey.soldMethod(method)) &&
  RouteKey.covers(key.segments, RouteKey.segmentsOf(path))

const oneOf = (routed: RoutedHandler, found: ReadonlyArray<Entry | undefined>): RouteConfig | undefined => {
  const entry = found.find((one) => one !== undefined)
  if (entry === undefined) return undefined
  const index = routed.endpoints.findIndex(
    ({ method }, position) => method === "ALL" || found[position]?.config !== entry.config
  )
  const endpoint = routed.endpoints[index]
  if (endpoint === undefined) return entry.config
  const served = endpoint.method === "ALL" ? `every method of ${endpoint.path}` : `${endpoint.method} ${endpoint.path}`
  throw new Misconfigured({
    message: `route "${entry.key.text}": its handler ${routed.name} also serves ${served}, at another price or at none; put @Paid on the handler`
  })
}

/** A price function reads the parameters that its key names, so the handler must use the same names. */
const demandNames = ({ endpoints, name }: RoutedHandler, found: ReadonlyArray<Entry | undefined>): void => {
  for (const [index, { path }] of endpoints.entries()) {
    const entry = found[index]
    if (entry === undefined || (entry.config.getPrice === undefined && entry.config.validate === undefined)) continue
    const [missing] = RouteKey.unnamedIn(entry.key.segments, RouteKey.segmentsOf(path))
    if (missing === undefined) continue
    throw new Misconfigured({
      message: `route "${entry.key.text}": the path ${path} of ${name} has no parameter :${missing}, so getPrice and validate would read none; write the key as the handler's path`
    })
  }
}

const noHandler = ({ key }: Entry, handlers: ReadonlyArray<RoutedHandler>): Misconfigured => {
  const known = handlers.flatMap(({ endpoints }) => endpoints.map(({ method, path }) => `${method} ${path}`))
  const message = `route "${key.text}": no handler of the application is served there, or a more specific key has it; its handlers are: ${known.join(", ")}`
  return new Misconfigured({ message })
}
