/**
 * A shop whose routes are given as a map, for a host adapter: its seller, its checked routes, and the route of a
 * request by its path, by the pattern that the host's router has matched, or by both.
 */
import * as Result from "effect/Result"

import * as BoundedMap from "../../platform/BoundedMap.ts"
import * as OptionCheck from "../../protocol/OptionCheck.ts"
import { Misconfigured } from "../../protocol/ProtocolError.ts"
import * as DiscoveryOptions from "../discovery/DiscoveryOptions.ts"
import * as DiscoveryPages from "../discovery/DiscoveryPages.ts"
import type { PricedRoute } from "../route/PricedRoute.ts"
import type { RouteMap } from "../route/RouteConfig.ts"
import * as RouteKey from "../route/RouteKey.ts"
import * as RouteTable from "../route/RouteTable.ts"
import * as Seller from "../Seller.ts"

/** The start and the end of a shop. */
export interface OpenShop {
  /** Resolves when all routes are proven against chains and facilitator; rejects with `Misconfigured`. */
  readonly ready: () => Promise<void>
  /** Sends the pending reports and stops; close the HTTP server first. */
  readonly close: () => Promise<void>
}

/** Options of a shop with a map of routes. */
export interface SoldRoutesOptions<Keys extends string = string> extends Seller.SellerOptions {
  /** Prices by `<METHOD> <path>`, for example `GET /reports/:day`: its functions then read `params.day`. */
  readonly routes: RouteMap<Keys>
  /**
   * Serves `/openapi.json` of the listed routes with their prices, for buyers' agents, and `/llms.txt` if wanted. Default:
   * the shop announces nothing. These paths then belong to the gate.
   */
  readonly discovery?: DiscoveryOptions.DiscoveryOptions
}

/** The keys of the options, for adapters that add their own. */
export const keys: OptionCheck.Table<SoldRoutesOptions> = {
  ...Seller.keys,
  routes: /* @__PURE__ */ OptionCheck.record(/* @__PURE__ */ OptionCheck.any()),
  discovery: /* @__PURE__ */ OptionCheck.optional(DiscoveryOptions.check)
}

const check = /* @__PURE__ */ OptionCheck.options<SoldRoutesOptions>(keys)

/** A route and its key. */
export interface KeyedRoute {
  readonly key: RouteKey.RouteKey
  readonly route: PricedRoute
}

/** The routes of an open shop. */
export interface SoldRoutes extends OpenShop {
  readonly seller: Seller.Seller
  readonly keyed: ReadonlyArray<KeyedRoute>
  /** The shop's discovery documents. */
  readonly pages: DiscoveryPages.DiscoveryPages
  /**
   * The route of a request by its possible paths (without queries), for a gate in front of a router: it finds too much
   * rather than too little. The last path is the one of the request's target: a discovery document has it exactly.
   */
  readonly onPath: (method: string, ...paths: ReadonlyArray<string>) => RouteTable.RouteMatch<PricedRoute>
  /** The route whose key covers one of the path patterns that the host's router has matched; the most specific key. */
  readonly onPattern: (method: string, patterns: ReadonlyArray<string>) => KeyedRoute | undefined
  /**
   * The route of a request for which the host's router has chosen a handler: by the handler's pattern, else by its possible paths as
   * for `onPath`, unless the pattern is more specific than the key: then the application serves something else there.
   */
  readonly onRouted: (
    method: string,
    pattern: string,
    ...paths: ReadonlyArray<string>
  ) => RouteTable.RouteMatch<PricedRoute>
  /** The gate's own route for vouchers, at a path of a request's target. */
  readonly voucherRoute: (method: string, path: string) => PricedRoute | undefined
  /** Throws `Misconfigured` for a key that sells none of the application's routes. */
  readonly demandRoutes: (known: ReadonlyArray<KnownRoute>) => void
}

/** A route of an application, as its host lists it. */
export interface KnownRoute {
  readonly method: string | ReadonlyArray<string>
  readonly url: string
}

/** Opens a shop. Throws `Misconfigured` for every mistake that is visible without a request. */
export const open = (options: SoldRoutesOptions, abilities?: Seller.HostAbilities): SoldRoutes => {
  const { discovery, routes, ...shop } = Result.getOrThrow(OptionCheck.read(check, options))
  const seller = Seller.make(shop, abilities)
  try {
    const keyed = Object.entries(routes).map(([name, config]): KeyedRoute => ({
      key: Result.getOrThrow(RouteKey.parse(name)),
      route: seller.route(name, config)
    }))
    const vouchers = seller.vouchers()
    const own =
      vouchers === undefined ? [] : [{ key: Result.getOrThrow(RouteKey.parse(vouchers.name)), route: vouchers }]
    const table = Result.getOrThrow(RouteTable.make([...keyed, ...own].map(({ key, route }) => [key, route])))
    const pages = Result.getOrThrow(DiscoveryPages.make(discovery, seller.origin, keyed))
    return new OpenRoutes(seller, keyed, pages, table)
  } catch (mistake) {
    void seller.close()
    throw mistake
  }
}

/** Limits of the remembered places: patterns may be paths, which strangers choose. */
const maximumPlaces = 1024
const maximumNameLength = 256

class OpenRoutes implements SoldRoutes {
  readonly seller: Seller.Seller
  readonly keyed: ReadonlyArray<KeyedRoute>
  readonly pages: DiscoveryPages.DiscoveryPages
  readonly #find: SoldRoutes["onPath"]
  readonly #bySpecificity: ReadonlyArray<KeyedRoute>
  /** Places of routes by method and pattern: a host asks for the same few patterns at every request. */
  readonly #places = BoundedMap.oldestOut<string, number>(maximumPlaces)

  constructor(
    seller: Seller.Seller,
    keyed: ReadonlyArray<KeyedRoute>,
    pages: DiscoveryPages.DiscoveryPages,
    { find }: RouteTable.RouteTable<PricedRoute>
  ) {
    this.seller = seller
    this.keyed = keyed
    this.pages = pages
    this.#find = find
    this.#bySpecificity = keyed.toSorted((one, other) => RouteKey.compare(one.key.segments, other.key.segments))
  }

  readonly onPath: SoldRoutes["onPath"] = (method, ...paths) => {
    const response = this.pages.find(method, paths.at(-1) ?? "/")
    return response === undefined ? this.#find(method, ...paths) : { _tag: "Responded", response }
  }

  readonly onPattern: SoldRoutes["onPattern"] = (method, patterns) => {
    let first = -1
    for (const pattern of patterns) {
      const place = this.#placeOf(method, pattern)
      if (place !== -1 && (first === -1 || place < first)) first = place
    }
    return first === -1 ? undefined : this.#bySpecificity[first]
  }

  /** The place of the most specific route whose key covers a pattern; -1 for none. */
  #placeOf(method: string, pattern: string): number {
    const name = `${method} ${pattern}`
    const known = this.#places.get(name)
    if (known !== undefined) return known
    const sold = RouteKey.soldMethod(method)
    const segments = segmentsOf(pattern)
    const place = this.#bySpecificity.findIndex(
      ({ key }) => key.method === sold && RouteKey.covers(key.segments, segments)
    )
    if (name.length <= maximumNameLength) this.#places.set(name, place)
    return place
  }

  readonly onRouted: SoldRoutes["onRouted"] = (method, pattern, ...paths) => {
    const covering = this.onPattern(method, [pattern])
    if (covering !== undefined) return { _tag: "Found", route: covering.route, params: {} }
    const found = this.#find(method, ...paths)
    if (found._tag !== "Found") return found
    const segments = RouteKey.segmentsOf(pattern)
    const meant = this.keyed.find(({ route }) => route === found.route)
    return meant !== undefined && RouteKey.compare(segments, meant.key.segments) < 0 ? { _tag: "None" } : found
  }

  readonly demandRoutes: SoldRoutes["demandRoutes"] = (known) => {
    const isServed = ({ method, segments }: RouteKey.RouteKey) =>
      known.some(
        (route) => [route.method].flat().includes(method) && RouteKey.covers(segments, RouteKey.segmentsOf(route.url))
      )
    const stray = this.keyed.find(({ key }) => !isServed(key))
    if (stray === undefined) return
    const list = known
      .slice(0, 40)
      .map(({ method, url }) => `${[method].flat().join(",")} ${url}`)
      .join(", ")
    const message = `route ${JSON.stringify(stray.key.text)}: the application has no such route, or added it before the shop; add it later, or correct the key. The application's routes: ${list || "none"}`
    throw new Misconfigured({ message })
  }

  readonly voucherRoute: SoldRoutes["voucherRoute"] = (method, path) => {
    const route = this.seller.vouchers()
    return route?.name === `${method.toUpperCase()} ${path}` ? route : undefined
  }

  readonly ready = (): Promise<void> => this.seller.ready()

  readonly close = (): Promise<void> => this.seller.close()
}

/** A pattern's segments. A part in braces is optional and treated as present. */
const segmentsOf = (pattern: string) => RouteKey.segmentsOf(pattern.replaceAll(/[{}]/g, ""))
