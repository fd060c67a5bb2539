/**
 * What a seller writes for one route: who is paid, on which networks, and how much, either as a list of options
 * (`accepts`) or with the one option in place (apps/docs/protocol.md#d28-routes).
 */
import type * as Schema from "effect/Schema"

import type { SellerDialect } from "../../wire/pontage/Dialect.ts"

/** One way to pay for a route, without its price. */
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

/** The fields of a route beside its options. */
export interface RouteTerms<Params extends string = string> {
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
  /**
   * An answer of 400 to 499 after the payment. `reusable` (default): the application has refused the request, and the payment
   * is good for a corrected one: the same route, at no higher price, five runs in all, within ten minutes. `charged`: such an
   * answer is the product (a lookup that finds nothing), and it is paid for in both orders of `settle`.
   */
  readonly refused?: "reusable" | "charged"
  /**
   * `none` (default): a payment is bound to method and URL, and whatever its body says must cost no more than was paid. `body`:
   * it is bound to the body too, for goods that differ at one price. The body is at most 1 MiB. The digest is of its bytes as
   * they came, or of what the host's parser read.
   */
  readonly bind?: "none" | "body"
  /**
   * Checks a request before its price is asked for and before any money moves, paid or not. To refuse it costs the buyer
   * nothing and leaves its payment untouched.
   */
  readonly validate?: Validate<Params>
  /**
   * How long `getPrice` and `validate` may each take, in milliseconds: 1 to 600000, default 10000. After that the answer is
   * 500.
   */
  readonly priceTimeoutMillis?: number
  /** Whether a payment must be bound to its request (apps/docs/protocol.md#d11-binding). Default `preferred`. */
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
  readonly dialects?: ReadonlyArray<SellerDialect>
}

/**
 * The names of the path parameters in a route's key: `"day"` of `GET /reports/:day`, none of `GET /report`. Any name where the
 * compiler does not know the key, or the key holds a wildcard or says more than one route.
 */
export type PathParams<Key extends string> = Key extends `${string},${string}`
  ? string
  : Key extends `${string} /${infer Path}`
    ? NamesIn<Path>
    : string

type NamesIn<Path extends string> = Path extends `${infer Segment}/${infer Rest}`
  ? NamesIn<Segment> | NamesIn<Rest>
  : Path extends `:${infer Name}`
    ? Name
    : Path extends `${string}${":" | "*"}${string}`
      ? string
      : string extends Path
        ? string
        : never

/** The part of a request that `getPrice` and `validate` get to see. `Params` are the names of its path parameters. */
export interface PriceRequest<Params extends string = string> {
  readonly method: string
  readonly path: string
  /** Where the host gives a wildcard's segments as a list, they are joined by "/", with "/" inside a segment as `%2F`. */
  readonly params: Readonly<Record<Params, string>>
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
 */
export type GetPrice<Params extends string = string> = (request: PriceRequest<Params>) => string | Promise<string>

/**
 * The answer to a request that is refused before it is paid for: a status of 400 to 499 other than 402, with a sentence
 * (sent as `{"error": message}`) or with a JSON body.
 */
export type RequestRefusal =
  | { readonly status: number; readonly message?: string }
  | { readonly status: number; readonly body: Schema.Json }

/**
 * A check of a request: `undefined` where it may be sold. When it throws, returns something else, or takes longer than
 * `priceTimeoutMillis`, the answer is 500; nothing is charged and the handler does not run.
 */
export type Validate<Params extends string = string> = (
  request: PriceRequest<Params>
) => RequestRefusal | undefined | Promise<RequestRefusal | undefined>

/** The single-option form; `scheme` may be left out and is then `exact`. */
export type SingleTerms = Omit<AcceptTerms, "scheme"> & { readonly scheme?: string }

/**
 * The configuration of one route. `Params` are the names of the path parameters that its functions may read; where a route is
 * given by its key they are those of the key (`PathParams`).
 */
export type RouteConfig<Params extends string = string> = RouteTerms<Params> &
  (
    | { readonly accepts: ReadonlyArray<AcceptTerms & { readonly price: string }>; readonly getPrice?: never }
    | { readonly accepts: ReadonlyArray<AcceptTerms & { readonly price?: never }>; readonly getPrice: GetPrice<Params> }
    | (SingleTerms & { readonly price: string; readonly getPrice?: never; readonly accepts?: never })
    | (SingleTerms & { readonly price?: never; readonly getPrice: GetPrice<Params>; readonly accepts?: never })
  )

/** Configurations by the keys of their routes; each may read the path parameters of its own key. */
export type RouteMap<Keys extends string = string> = { readonly [Key in Keys]: RouteConfig<PathParams<Key>> }
