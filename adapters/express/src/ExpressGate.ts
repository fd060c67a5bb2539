/**
 * Sells routes of an Express application: by a map of routes in front of the routers, or by a step for a single route.
 * All following middleware belongs to the paid resource.
 */
import {
  HeldResponse,
  NodeExchange,
  NodeRequest,
  PaymentMeter,
  type PricedRoute,
  RequestMarks,
  RequestTarget,
  ResponseSeal,
  type Seller,
  type Settlement,
  SoldRoutes,
  SoldSteps
} from "@pontage/core"
import * as Effect from "effect/Effect"
import type { NextFunction, Request, RequestHandler, Response } from "express"

/** The receipt of the payment that opened this request; `undefined` if nothing was paid (yet). */
export const settlementOf = (request: Request): Settlement.Settlement | undefined => RequestMarks.settlementOf(request)

/** The meter of a request on a metered route; `undefined` where the route is not metered, or nothing was paid. */
export const meterOf = (request: Request): PaymentMeter.PaymentMeter | undefined => PaymentMeter.of(request)

const pass = (
  { request, response, next }: { readonly request: Request; readonly response: Response; readonly next: NextFunction },
  seller: Seller.Seller,
  route: PricedRoute,
  params?: Readonly<Record<string, string>>
): void => {
  const { method, originalUrl: target } = request
  const seen = new NodeRequest.NodeRequest(request, request, { method, target, ...(params && { params }) })
  NodeExchange.pass(seller, route, seen, {
    request,
    response,
    refuse: (refusal) => HeldResponse.send(response, refusal),
    repeat: (kept) => HeldResponse.repeat(response, kept, response.getHeaders()),
    headers: () => response.getHeaders(),
    proceed: next,
    fail: next
  })
}

/**
 * Middleware that sells the routes of a map. It matches by the path alone: it demands payment rather too often (for a path
 * that only resembles a route) than too seldom, and answers OPTIONS on sold paths itself. Middleware that rewrites methods
 * or paths stands before it, every router with sold handlers after it; a sold response that bypasses it is cut off. Throws
 * `Misconfigured` for every mistake that is visible without a request.
 */
export const paymentMiddleware = <Keys extends string>(
  options: SoldRoutes.SoldRoutesOptions<Keys>
): RequestHandler & SoldRoutes.OpenShop => {
  const { close, onPath, onPattern, ready, seller } = SoldRoutes.open(options, { keepsResponses: true })
  /** The key of a request as the following middleware left it. */
  const soldAs = ({ baseUrl, method, path, route }: Request): string | undefined => {
    const patterns = patternsOf(route?.path)
    const mounted = baseUrl === "" ? [] : patterns.map((pattern) => baseUrl + pattern)
    return onPattern(method, [...mounted, ...patterns, baseUrl + path])?.key.text
  }
  const middleware: RequestHandler = (request, response, next) => {
    const { baseUrl, method, originalUrl, path } = request
    const match = onPath(method, path, baseUrl + path, RequestTarget.pathOf(originalUrl))
    switch (match._tag) {
      case "None":
        ResponseSeal.guard(response, () => !RequestMarks.isJudged(request) && isGift(request, soldAs(request)))
        return next()
      case "Responded":
        return HeldResponse.send(response, match.response)
      case "Found":
        return pass({ request, response, next }, seller, match.route, match.params)
    }
  }
  return Object.assign(middleware, { ready, close })
}

/** The patterns of a route. A wildcard that stands where a key has a parameter reaches further than its key. */
const patternsOf = (written: unknown): ReadonlyArray<string> =>
  [written]
    .flat()
    .filter((pattern) => typeof pattern === "string")
    .flatMap((pattern) => (pattern.includes("*") ? [pattern, pattern.replace(/\/\{?\*[^/]*$/, "/:rest")] : pattern))

/** Logs the mistake of an application that answers a sold request without a payment. */
const isGift = ({ method, originalUrl }: Request, key: string | undefined): boolean => {
  if (key === undefined) return false
  const message = `${method} ${originalUrl} is sold as ${JSON.stringify(key)}, but was answered without a payment and is cut off: middleware that rewrites methods or paths has to stand before the payment middleware, and the key has to say the route's whole path`
  Effect.runFork(Effect.logError(message))
  return true
}

/** A shop whose routes are sold one by one: `app.get("/report", payment.paid({ ... }), handler)`. */
export type PaymentRoutes = SoldSteps.SoldSteps<RequestHandler>

/** Opens a shop whose routes are sold one by one. Throws `Misconfigured` for a mistake in the options. */
export const paymentRoutes = (options: Seller.SellerOptions): PaymentRoutes =>
  SoldSteps.open(
    options,
    (seller, route): RequestHandler =>
      (request, response, next) =>
        pass({ request, response, next }, seller, route),
    { keepsResponses: true }
  )
