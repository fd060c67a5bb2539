/** Sells route handlers of Next.js (`app/.../route.ts`), one at a time: Next itself has found the handler and its parameters. */
import {
  OptionCheck,
  type PathParams,
  PaymentMeter,
  type RouteConfig,
  RouteKey,
  RouteParams,
  Seller,
  type SoldRoutes,
  SoldSteps,
  WebExchange
} from "@pontage/core"
import * as Result from "effect/Result"

/** Options of `paymentRoutes`. */
export interface PaymentRoutesOptions extends Seller.SellerOptions {
  /** Keeps a serverless function alive until the end of an execution is reported: `after` of `next/server`. */
  readonly after?: (work: Promise<unknown>) => void
}

const check = /* @__PURE__ */ OptionCheck.options<PaymentRoutesOptions>({
  ...Seller.keys,
  after: /* @__PURE__ */ OptionCheck.optional(/* @__PURE__ */ OptionCheck.callable())
})

/** A route handler. The path parameters are in the promise `context.params`. */
export type RouteHandler<Incoming extends Request, Context> = (
  request: Incoming,
  context: Context
) => Response | Promise<Response>

/** A shop whose route handlers are sold one by one. */
export interface PaymentRoutes extends SoldRoutes.OpenShop {
  /**
   * A route handler that is paid for: `export const GET = shop.paid("GET /reports/:day", { ... }, handler)`. The key names
   * the route in messages and towards buyers, and the parameters that `getPrice` reads. Throws `Misconfigured`.
   */
  readonly paid: <Name extends string, Incoming extends Request, Context extends { readonly params: Promise<object> }>(
    key: Name,
    config: RouteConfig<PathParams<Name>>,
    handler: RouteHandler<Incoming, Context>
  ) => (request: Incoming, context: Context) => Promise<Response>
  /** Takes the vouchers of metered routes: `export const POST = shop.vouchers` in `route.ts` at the shop's `voucherPath`. */
  readonly vouchers: (request: Request) => Promise<Response>
}

/** The receipt of the payment that opened this request; `undefined` if nothing was paid (yet). */
export const settlementOf = WebExchange.settlementOf

/** The meter of a request on a metered route; `undefined` where the route is not metered, or nothing was paid. */
export const meterOf = PaymentMeter.of

/** Opens a shop. Throws `Misconfigured` for a mistake in the options. */
export const paymentRoutes = (options: PaymentRoutesOptions): PaymentRoutes => {
  const { after, ...shop } = Result.getOrThrow(OptionCheck.read(check, options))
  const seller = Seller.make(shop)
  return {
    paid: (key, config, handler) => {
      Result.getOrThrow(RouteKey.parse(key))
      const route = seller.route(key, config)
      return async (request, context) => {
        const params = RouteParams.texts(await context.params)
        return WebExchange.respond(seller, route, {
          request,
          beside: after === undefined ? [] : [{ waitUntil: after }],
          handle: async () => handled(() => handler(request, context)),
          facts: { params }
        })
      }
    },
    vouchers: async (request) =>
      WebExchange.respond(seller, SoldSteps.vouchersOf(seller), {
        request,
        beside: after === undefined ? [] : [{ waitUntil: after }],
        handle: () => new Response(null, { status: 404 }),
        facts: { params: {} }
      }),
    ready: () => seller.ready(),
    close: () => seller.close()
  }
}

/**
 * The handler's response. `redirect()` and `notFound()` of Next throw errors that are responses, and are judged as such;
 * other errors are Next's matter.
 */
const handled = async (handle: () => Response | Promise<Response>): Promise<Response> => {
  try {
    return await handle()
  } catch (error) {
    const response = responseIn(error)
    if (response === undefined) throw error
    return response
  }
}

/** The response in a digest: `NEXT_REDIRECT;replace;/login;307;` or `NEXT_HTTP_ERROR_FALLBACK;404`. */
const responseIn = (error: unknown): Response | undefined => {
  const digest: unknown = typeof error === "object" && error !== null ? Reflect.get(error, "digest") : undefined
  if (typeof digest !== "string") return undefined
  const [kind, status, ...rest] = digest.split(";")
  if (kind === "NEXT_HTTP_ERROR_FALLBACK") return new Response(null, { status: Number(status) })
  if (kind !== "NEXT_REDIRECT") return undefined
  const location = rest.slice(0, -2).join(";")
  return new Response(null, { status: Number(rest.at(-2)), headers: { location } })
}
