/**
 * The configuration of one route: recipient, networks and price, either as a list of options (`accepts`) or with the
 * single option in place (apps/docs/protocol.md#d28-routes).
 */
import type * as Schema from "effect/Schema"

import type { CallInput, CallOutput } from "../../protocol/CallDescription.ts"
import type { SellerDialect } from "../../wire/pontage/Dialect.ts"

/** One way to pay for a route, without its price. */
export interface AcceptTerms {
  /** Scheme name: `exact`. */
  readonly scheme: string
  /** CAIP-2 identifier; aliases of the family are accepted. */
  readonly network: string
  /** Recipient: an address of the network's family, in any strict form. */
  readonly payTo: string
  /** Token address or known symbol; default: the network's dollar stablecoin. */
  readonly asset?: string
  /**
   * The network, and where it has several the asset, that the money goes on to. The buyer pays on `network`, the price and the fee of the
   * bridge; the price arrives at `payTo` on this one. With `inventory` no bridge brings it: the buyer pays that account of the
   * facilitator's operator, whom you trust to pay you from its own money.
   */
  readonly onward?: { readonly network: string; readonly asset?: string; readonly inventory?: string }
  /** Sent as `extra`, in addition to the scheme's own fields. */
  readonly extra?: Readonly<Record<string, Schema.Json>>
}

/** The fields of a route beside its options. */
export interface RouteTerms<Params extends string = string> {
  /** Description for people; sent with the offer. */
  readonly description?: string
  /** Content type of the paid response; sent with the offer. */
  readonly mimeType?: string
  /**
   * The parameters and the body of a request, as JSON Schemas with an example, for buyers' agents; `{}` says that it takes
   * none. A 402 of x402 version 2 and the shop's `/openapi.json` carry it. Nothing is checked by it: use `validate`.
   */
  readonly input?: CallInput
  /** The paid response in the same documents. */
  readonly output?: CallOutput
  /** Whether the shop's discovery documents list the route; default `true`. */
  readonly listed?: boolean
  /** Maximum validity of a signed authorization, in seconds: 1 to 86400, default 60. */
  readonly maxTimeoutSeconds?: number
  /**
   * `before-handler` (default): the money moves, then the handler runs. `after-handler`: for cheap, idempotent handlers
   * whose response fits memory; a response of 400 or above is not charged.
   */
  readonly settle?: "before-handler" | "after-handler"
  /**
   * For payments whose money goes on to another network: `departed` (default) serves once the payer has paid on its own network,
   * `delivered` once the money has arrived at the recipient. Until then a buyer gets 503 and sends the same payment again. It has no
   * effect on other payments, and is not possible with `after-handler`.
   */
  readonly serve?: "departed" | "delivered"
  /**
   * The rule for a response of 400 to 499 after the payment. `reusable` (default): the application refused the request,
   * and the payment is good for a corrected one: the same route, at no higher price, five executions in all, within ten
   * minutes. `charged`: such a response is the product (a lookup that finds nothing), and is paid for in both orders of
   * `settle`.
   */
  readonly refused?: "reusable" | "charged"
  /**
   * The rule for a payment that was served and comes again. `none` (default): it pays for nothing more (409). `same`:
   * its payer gets the same response, status, headers and body to the byte, without a run, as long as the shop keeps it
   * (`responses`); for responses that get lost on their way. Only the payer gets it: it proves itself by the salt of its
   * payment, or by the token of the x402 offer that it repeats.
   */
  readonly repeat?: "none" | "same"
  /**
   * The signed receipt of a paid response, in a shop with `receipts`. `payment` (default): it names the request and the
   * payment. `response`: it names status and SHA-256 of the response too. The response is held in memory for that until the handler has
   * ended it, up to 8 MiB; the receipt of a longer one, of HEAD, and of a response with a `Content-Encoding` names the payment alone.
   * `none`: nothing is signed.
   */
  readonly receipt?: "none" | "payment" | "response"
  /**
   * Whether the 402 of x402 carries signed offers (extension `offer-receipt`), in a shop with `receipts`; default `false`.
   * Only options on EVM networks are signed. A 402 that is not kept in memory costs a signature for each of them.
   */
  readonly signedOffers?: boolean
  /**
   * `none` (default): a payment is bound to method and URL, and no body may make the request dearer than the paid
   * price. `body`: it is bound to the body too, for goods that differ at one price. The body is at most 1 MiB. The
   * digest covers its bytes as sent, or the value that the host's parser read.
   */
  readonly bind?: "none" | "body"
  /**
   * Checks a request before its price is computed and before any money moves, paid or not. A refusal costs the buyer
   * nothing and leaves its payment untouched.
   */
  readonly validate?: Validate<Params>
  /**
   * Time limit for each call of `getPrice` and `validate`, in milliseconds: 1 to 600000, default 10000. After that the
   * response is 500.
   */
  readonly priceTimeoutMillis?: number
  /**
   * For routes that are sold through payment channels alone: the price of a response by its head, at most the route's price. Without
   * it the whole price is charged. It is called once, when the head of a response that is charged at all is written. If it throws, or
   * returns no price, the whole price is charged, which the buyer has agreed to, and the log says so.
   */
  readonly charge?: Charge
  /**
   * For routes that are sold through payment channels alone: the response is charged by units while it is sent (`meter.charge` of the
   * host's `meterOf`). The route's price is what the first voucher covers.
   */
  readonly metered?: Metered
  /** Whether a payment must be bound to its request (apps/docs/protocol.md#d11-binding). Default `preferred`. */
  readonly binding?: "required" | "preferred" | "off"
  /**
   * `Cache-Control` of the paid response; default `private`. Only this option may say `public`, a handler's header may
   * not.
   */
  readonly cache?: string
  /**
   * The offer's `resource`; default: origin, path and query. Binding and single use ignore it. Buyers of x402 version 1
   * accept only a URL.
   */
  readonly resource?: string
  /**
   * The wire formats in which buyers of this route may pay; default: Pontage's own and `x402v2Seller`. The first one
   * writes the body of a 402, so a format whose offers are the body comes first: `[x402v1Seller, protocolSeller,
   * x402v2Seller]`. A buyer who knows only Pontage's format then finds no offers; Pontage's own buyer reads the other
   * two.
   */
  readonly dialects?: ReadonlyArray<SellerDialect>
}

/**
 * The names of the path parameters in a route's key: `"day"` of `GET /reports/:day`, none of `GET /report`. Any name if
 * the compiler does not know the key, or the key holds a wildcard or several routes.
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

/** The part of a request that `getPrice` and `validate` receive. `Params` are the names of its path parameters. */
export interface PriceRequest<Params extends string = string> {
  readonly method: string
  readonly path: string
  /**
   * Path parameters. If the host gives a wildcard's segments as a list, they are joined by "/", with "/" inside a
   * segment as `%2F`.
   */
  readonly params: Readonly<Record<Params, string>>
  /**
   * The query by the host's own parser, as the handler sees it. A buyer decides its content: a text, a list, and with
   * Express's `extended` parser objects of any depth. Check the type before use.
   */
  readonly query: Readonly<Record<string, unknown>>
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
  /** The parsed body; `undefined` if the host has not parsed it. */
  readonly body: unknown
  /** The host's own request. */
  readonly native: unknown
}

/**
 * A price by request: `"$0.05"`, or `"$0"` for a free request. It is called again when the payment comes, and should
 * return the same price then. If it throws, returns no price, or takes longer than `priceTimeoutMillis`, the response
 * is 500 and the handler does not run.
 */
export type GetPrice<Params extends string = string> = (request: PriceRequest<Params>) => string | Promise<string>

/**
 * The response to a request that is refused before it is paid for: a status of 400 to 499 other than 402, with a
 * sentence (sent as `{"error": message}`) or with a JSON body.
 */
export type RequestRefusal =
  | { readonly status: number; readonly message?: string }
  | { readonly status: number; readonly body: Schema.Json }

/**
 * A check of a request: `undefined` if it may be sold. If it throws, returns something else, or takes longer than
 * `priceTimeoutMillis`, the response is 500; nothing is charged and the handler does not run.
 */
export type Validate<Params extends string = string> = (
  request: PriceRequest<Params>
) => RequestRefusal | undefined | Promise<RequestRefusal | undefined>

/** The terms of a response that is charged while it is sent. */
export interface Metered {
  /** `token`, `byte`, `second`, `event`, or another word for buyers. */
  readonly unit: string
  /** The price of one unit: `"$0.0001"`. */
  readonly tick: string
  /** The amount that each voucher after the first one covers; default the route's price. Neither side loses more than that. */
  readonly window?: string
  /** Seconds for which a response waits for its next voucher: 1 to 600, default 30. Then it ends. */
  readonly idleSeconds?: number
  /**
   * The rule for buyers who send no further vouchers, such as x402's own client. `serve` (default): the response ends when the first
   * window is used. `refuse`: they get 402.
   */
  readonly strangers?: "serve" | "refuse"
}

/** The head of a response that is charged. */
export interface ChargedResponse {
  readonly status: number
  /** A header of the response by its name. */
  readonly header: (name: string) => string | undefined
  /** The host's own request, as for `getPrice`: a handler may leave there what it has used. */
  readonly native: unknown
}

/** The price of a response: `"$0.0004"`, or `"$0"` for none. */
export type Charge = (response: ChargedResponse) => string

/** The single-option form; `scheme` is optional and defaults to `exact`. */
export type SingleTerms = Omit<AcceptTerms, "scheme"> & { readonly scheme?: string }

/**
 * The configuration of one route. `Params` are the names of the path parameters that its functions may read; for a
 * route with a key they are those of the key (`PathParams`).
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
