/** Sells what a fetch handler serves: by a map of routes around the whole handler, or one handler at a time. */
import {
  type PathParams,
  PaymentMeter,
  RequestTarget,
  type RouteConfig,
  RouteParams,
  Seller,
  SoldRoutes,
  SoldSteps,
  WebExchange
} from "@pontage/core"

/**
 * A handler of a runtime or a framework. `beside` is all that it gets beside the request: the server in Bun, the
 * connection in Deno, bindings and context in Workers.
 */
export type FetchHandler<Beside extends ReadonlyArray<unknown>> = (
  request: Request,
  ...beside: Beside
) => Response | Promise<Response>

/** The receipt of the payment that opened this request; `undefined` if nothing was paid (yet). */
export const settlementOf = WebExchange.settlementOf

/** The meter of a request on a metered route; `undefined` where the route is not metered, or nothing was paid. */
export const meterOf = PaymentMeter.of

/** Options of `paymentHandler`. */
export type PaymentOptions<Keys extends string = string> = SoldRoutes.SoldRoutesOptions<Keys>

/**
 * Sells the routes of a map that this handler serves. It matches by the path alone: it demands payment rather too often
 * (for a path that only resembles a route) than too seldom, and answers OPTIONS on sold paths itself. Throws
 * `Misconfigured` for every mistake that is visible without a request.
 */
export const paymentHandler = <Keys extends string, Beside extends ReadonlyArray<unknown>>(
  options: PaymentOptions<Keys>,
  handler: FetchHandler<Beside>
): ((request: Request, ...beside: Beside) => Promise<Response>) & SoldRoutes.OpenShop => {
  const { close, onPath, ready, seller } = SoldRoutes.open(options)
  const respond = async (request: Request, ...beside: Beside): Promise<Response> => {
    const match = onPath(request.method, RequestTarget.pathOf(request.url))
    const handle = () => handler(request, ...beside)
    if (match._tag === "None") return handle()
    if (match._tag === "Responded") return WebExchange.responseOf(match.response)
    return WebExchange.respond(seller, match.route, { request, handle, beside, facts: { params: match.params } })
  }
  return Object.assign(respond, { ready, close })
}

/** A shop whose handlers are sold one by one. */
export interface PaymentRoutes extends SoldRoutes.OpenShop {
  /**
   * A handler that is paid for: `paid("GET /report", { network, price, payTo }, handler)`. The key names the route in
   * messages, and its path the parameters that `getPrice` reads. Throws `Misconfigured`.
   */
  readonly paid: <Name extends string, Beside extends ReadonlyArray<unknown>>(
    key: Name,
    config: RouteConfig<PathParams<Name>>,
    handler: FetchHandler<Beside>
  ) => (request: Request, ...beside: Beside) => Promise<Response>
  /** Takes the vouchers of metered routes: serve it for `POST` at the shop's `voucherPath`. */
  readonly vouchers: (request: Request, ...beside: ReadonlyArray<unknown>) => Promise<Response>
}

/** Opens a shop whose handlers are sold one by one. Throws `Misconfigured` for a mistake in the options. */
export const paymentRoutes = (options: Seller.SellerOptions): PaymentRoutes => {
  const seller = Seller.make(options)
  return {
    paid: (key, config, handler) => {
      const route = seller.route(key, config)
      const paramsIn = RouteParams.inTarget(key)
      return (request, ...beside) => {
        const handle = () => handler(request, ...beside)
        return WebExchange.respond(seller, route, { request, handle, beside, facts: { params: paramsIn(request.url) } })
      }
    },
    vouchers: async (request, ...beside) =>
      WebExchange.respond(seller, SoldSteps.vouchersOf(seller), {
        request,
        beside,
        handle: () => new Response(null, { status: 404 }),
        facts: { params: {} }
      }),
    ready: () => seller.ready(),
    close: () => seller.close()
  }
}
