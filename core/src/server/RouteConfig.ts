/**
 * What a seller writes for one route (specification 2.3): who is paid, on which networks, and how much, either as a list
 * of options (`accepts`) or with the one option in place.
 */
import type * as Schema from "effect/Schema"

import type { SellerDialect } from "../wire/Dialect.ts"

/**
 * One way to pay for a route, without its price.
 *
 * @category models
 */
export interface AcceptTerms {
  /** `exact`. */
  readonly scheme: string
  /** CAIP-2; aliases of the family are understood. */
  readonly network: string
  /** An address of the network's family, in any strict form. */
  readonly payTo: string
  /** Token address or known symbol; without it the network's dollar stablecoin. */
  readonly asset?: string
  /** Sent along as `extra`, beside what the scheme puts there. */
  readonly extra?: Readonly<Record<string, Schema.Json>>
}

/**
 * The fields of a route beside its options.
 *
 * @category models
 */
export interface RouteTerms {
  /** For people; sent with the offer. */
  readonly description?: string
  /** Of the paid answer; sent with the offer. */
  readonly mimeType?: string
  /** How long a signed authorization may be valid, in seconds: 1 to 86400, default 60. */
  readonly maxTimeoutSeconds?: number
  /**
   * `before-handler` (default): the money moves, then the handler runs. `after-handler`: for cheap, idempotent handlers
   * whose answer fits memory; an answer of 400 or above is not charged.
   */
  readonly settle?: "before-handler" | "after-handler"
  /** How long `getPrice` may take, in milliseconds: 1 to 600000, default 10000. After that the answer is 500. */
  readonly priceTimeoutMillis?: number
  /** Whether a payment must be bound to its request (decisions 4). Default `preferred`. */
  readonly binding?: "required" | "preferred" | "off"
  /** `Cache-Control` of the paid answer; default `private`. Only this may say `public`, a handler's header may not. */
  readonly cache?: string
  /**
   * What the offer names as its `resource`; default: origin, path and query. Binding and single use do not look at it. Buyers
   * of x402 version 1 take an URL only.
   */
  readonly resource?: string
  /**
   * The wire formats that buyers of this route may pay in; default our own and beside it `x402v2Seller`. The first one
   * writes the body of a 402, so a format whose offers are the body comes first:
   * `[x402v1Seller, protocolSeller, x402v2Seller]`. A buyer who knows our format alone then finds no offers; ours reads the
   * other two.
   */
  readonly speaks?: ReadonlyArray<SellerDialect>
}

/**
 * What `getPrice` gets to see of a request.
 *
 * @category models
 */
export interface PriceRequest {
  readonly method: string
  readonly path: string
  /** Where the host gives a wildcard's segments as a list, they are joined by "/", with "/" inside a segment as `%2F`. */
  readonly params: Readonly<Record<string, string>>
  /**
   * By the host's own parser, as the handler sees it. A buyer decides what it holds: a text, a list, and with Express's
   * `extended` parser objects of any depth. Check the type before use.
   */
  readonly query: Readonly<Record<string, unknown>>
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
  /** Only where the host has parsed it; else `undefined`. */
  readonly body: unknown
  /** The host's own request. */
  readonly native: unknown
}

/**
 * A price by request: `"$0.05"`, or `"$0"` for a request that is free. It is asked again when the payment comes, and
 * should say the same then. When it throws, returns no price, or takes longer than `priceTimeoutMillis`, the answer is 500
 * and the handler does not run.
 *
 * @category models
 */
export type GetPrice = (request: PriceRequest) => string | Promise<string>

/**
 * The single-option form; `scheme` may be left out and is then `exact`.
 *
 * @category models
 */
export type SingleTerms = Omit<AcceptTerms, "scheme"> & { readonly scheme?: string }

/**
 * The configuration of one route.
 *
 * @category models
 */
export type RouteConfig = RouteTerms &
  (
    | { readonly accepts: ReadonlyArray<AcceptTerms & { readonly price: string }>; readonly getPrice?: never }
    | { readonly accepts: ReadonlyArray<AcceptTerms & { readonly price?: never }>; readonly getPrice: GetPrice }
    | (SingleTerms & { readonly price: string; readonly getPrice?: never; readonly accepts?: never })
    | (SingleTerms & { readonly price?: never; readonly getPrice: GetPrice; readonly accepts?: never })
  )
