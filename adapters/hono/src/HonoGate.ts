/**
 * Sells routes of a Hono application: by a map of routes in front of the handlers, or by a step for a single route. All
 * following middleware belongs to the paid resource.
 */
import {
  PaymentMeter,
  type PricedRoute,
  RequestMarks,
  RequestTarget,
  type Seller,
  type Settlement,
  SoldRoutes,
  SoldSteps,
  WebExchange,
  type WebRequest
} from "@pontage/core"
import type { Context, MiddlewareHandler, Next } from "hono"

/** The receipt of the payment that opened this request; `undefined` if nothing was paid (yet). */
export const settlementOf = (context: Context): Settlement.Settlement | undefined =>
  RequestMarks.settlementOf(context) ?? WebExchange.settlementOf(context.req.raw)

/** The meter of a request on a metered route; `undefined` where the route is not metered, or nothing was paid. */
export const meterOf = (context: Context): PaymentMeter.PaymentMeter | undefined =>
  PaymentMeter.of(context) ?? PaymentMeter.of(context.req.raw)

const pass = async (
  { context, next }: { readonly context: Context; readonly next: Next },
  seller: Seller.Seller,
  route: PricedRoute,
  { params = {}, pattern = "" }: Pick<WebRequest.WebFacts, "params" | "pattern">
): Promise<void> => {
  const { raw: request } = context.req
  const response = await WebExchange.respond(seller, route, {
    request,
    beside: [context.env, { waitUntil: (work: Promise<unknown>) => keepAlive(context, work) }],
    headers: () => headersSoFar(context),
    handle: async () => {
      await next()
      // Reading `context.res` would make an empty response, of status 200.
      if (!context.finalized) throw new Error(unfinalized)
      return context.res
    },
    context,
    sentStatus: (response) => sentStatus(context, response),
    facts: new HonoFacts(context, { params, pattern, readBefore: () => keptBytes(context) })
  })
  replace(context, response)
}

/** The kinds of a body that was read, of which Hono makes the same bytes each time. It writes a form with another boundary each time. */
const keptKinds = ["arrayBuffer", "blob", "text", "json"] as const

/** The bytes of a body that a parser in front of the gate has read; `undefined` where Hono keeps none. */
const keptBytes = async ({ req }: Context): Promise<Uint8Array | undefined> =>
  keptKinds.some((kind) => kind in req.bodyCache) ? new Uint8Array(await req.arrayBuffer()) : undefined

/** The error of Hono, which it would throw without the gate. */
const unfinalized = "Context is not finalized. Did you forget to return a Response object or `await next()`?"

/** The headers that the application has set so far. Reading `context.res` would make a response, whose headers Hono lays over the handler's. */
const headersSoFar = (context: Context): Headers => context.newResponse(null, 200).headers

/** The mark of the response by which a handler tells Hono's server of Node that it has written to Node's response itself. */
const alreadySent = "x-hono-already-sent"

/** The status that a handler has written to Node's response itself; `undefined` if it has not. */
const sentStatus = ({ env }: Context, { body, headers }: Response): number | undefined => {
  if (!headers.has(alreadySent) || body !== null) return undefined
  const { outgoing } = Object(env)
  return Object(outgoing).statusCode
}

/** Replaces the response; Hono would lay the headers of the one before over those of the new one. */
const replace = (context: Context, response: Response): void => {
  context.res = undefined
  context.res = response
}

/** Keeps the process alive by the runtime's execution context. Hono throws where there is none, so it is read at need only. */
const keepAlive = (context: Context, work: Promise<unknown>): void => {
  try {
    context.executionCtx.waitUntil(work)
  } catch {
    // The work goes on without it.
  }
}

/** The facts of a request. Its query is parsed at need only. */
class HonoFacts implements WebRequest.WebFacts {
  readonly params: Readonly<Record<string, string>>
  readonly pattern: string
  readonly readBefore: () => Promise<Uint8Array | undefined>
  readonly #context: Context

  constructor(context: Context, { params, pattern, readBefore }: Omit<HonoFacts, "query">) {
    this.params = params
    this.pattern = pattern
    this.readBefore = readBefore
    this.#context = context
  }

  get query() {
    return queryOf(this.#context)
  }
}

/** The query by Hono's parser: a text, or the list of a repeated name's texts. */
const queryOf = ({ req }: Context): Record<string, string | ReadonlyArray<string> | undefined> =>
  Object.fromEntries(Object.entries(req.queries()).map(([name, all]) => [name, all.length > 1 ? all : all[0]]))

/**
 * The patterns of the routes that Hono has matched, by the request's own list, which is deprecated: the helpers of `hono/route` read only
 * requests of their own copy of Hono, and a CommonJS application has another.
 */
const patternsOf = ({ req }: Context): ReadonlyArray<string> => req.matchedRoutes.map(({ path }) => path)

/**
 * Middleware that sells the routes of a map: `app.use(paymentMiddleware({ ... }))`, in front of the routes. It matches by
 * the path and by the patterns of the routes that Hono has matched: it demands payment rather too often (for a path that
 * only resembles a route) than too seldom, and answers OPTIONS on sold paths itself. Throws `Misconfigured` for every
 * mistake that is visible without a request.
 */
export const paymentMiddleware = <Keys extends string>(
  options: SoldRoutes.SoldRoutesOptions<Keys>
): MiddlewareHandler & SoldRoutes.OpenShop => {
  const { close, onPath, onPattern, ready, seller } = SoldRoutes.open(options)
  const middleware: MiddlewareHandler = async (context, next) => {
    const { method, path, url } = context.req
    const match = onPath(method, path, RequestTarget.pathOf(url))
    if (match._tag === "Responded")
      return replace(context, WebExchange.responseOf(match.response, headersSoFar(context)))
    if (match._tag === "Found") return pass({ context, next }, seller, match.route, { params: match.params })
    const matched = onPattern(method, patternsOf(context))
    return matched === undefined ? next() : pass({ context, next }, seller, matched.route, {})
  }
  return Object.assign(middleware, { ready, close })
}

/** A shop whose routes are sold one by one: `app.get("/report", payment.paid({ ... }), handler)`. */
export type PaymentRoutes = SoldSteps.SoldSteps<MiddlewareHandler>

/** Opens a shop whose routes are sold one by one. Throws `Misconfigured` for a mistake in the options. */
export const paymentRoutes = (options: Seller.SellerOptions): PaymentRoutes =>
  SoldSteps.open(
    options,
    (seller, route): MiddlewareHandler =>
      (context, next) =>
        pass({ context, next }, seller, route, {
          params: context.req.param(),
          pattern: patternsOf(context)[context.req.routeIndex] ?? ""
        })
  )
