/**
 * The seller's side for host adapters: a gate made from plain options, spoken to by promises. One `Seller` is one shop in
 * one process, over one runtime.
 */
import type * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"

import type { Facilitator } from "../facilitator/Facilitator.ts"
import type { Asset } from "../protocol/Asset.ts"
import type { SchemeServer } from "../scheme/SchemeServer.ts"
import type { Decision, GateRequest } from "./Decision.ts"
import type { PricedRoute } from "./PricedRoute.ts"
import type { RouteConfig } from "./RouteConfig.ts"

/**
 * What a shop is made of.
 *
 * @category models
 */
export interface SellerOptions {
  /** The public origin: `https://shop.example`. `Host` and `X-Forwarded-*` are never read. */
  readonly origin: string
  /** The facilitator's URL, or the service itself (in this process, or `FacilitatorClient.layer` with headers). */
  readonly facilitator: string | Layer.Layer<Facilitator, unknown>
  /** The seller's halves of the schemes, one per network. */
  readonly schemes: ReadonlyArray<SchemeServer>
  /** Binds payments to requests: at least 32 characters, secret, the same on every server of one shop. */
  readonly secret: string
  /**
   * Prices assets that are no dollar: the smallest units of `asset` for a price text, or `undefined` for "not by me".
   * Asked once for a fixed price, at every request for `getPrice`.
   */
  readonly prices?: (price: string, asset: Asset) => bigint | undefined
}

/**
 * A shop. `make` and `route` throw `Misconfigured` for a wiring mistake; mistakes that only the chain or the facilitator
 * can show make `ready` reject and keep the routes at 503.
 *
 * @category models
 */
export interface Seller {
  /** Checks a route; `name` appears in error messages: `GET /report`. Throws `Misconfigured`. */
  readonly route: (name: string, config: RouteConfig) => PricedRoute
  /** A plain value when nothing had to be waited for: unpaid requests cost no promise. Never rejects. */
  readonly decide: (route: PricedRoute, request: GateRequest) => Decision | Promise<Decision>
  /** Runs what a decision holds: `seller.run(granted.finish("served"))`. */
  readonly run: <A>(effect: Effect.Effect<A>) => Promise<A>
  /** Resolves when every route so far is proven against chains and facilitator; rejects with `Misconfigured`. */
  readonly ready: () => Promise<void>
  /** Reports what is left to report (up to 5 s) and stops. */
  readonly close: () => Promise<void>
}
