/**
 * Sells routes of a Fastify application: by a map of routes as a plugin, or by a hook of a single route. The gate stands
 * behind the router and the body's parser and in front of the handler.
 */
import {
  type GateResponse,
  HeldResponse,
  NodeExchange,
  NodeRequest,
  PaymentMeter,
  type PricedRoute,
  RequestMarks,
  RequestTarget,
  ResponseHeaders,
  ResponseSeal,
  type Seller,
  type Settlement,
  SoldRoutes,
  SoldSteps
} from "@pontage/core"
import type { FastifyPluginAsync, FastifyReply, FastifyRequest, preHandlerHookHandler } from "fastify"

/** The receipt of the payment that opened this request; `undefined` if nothing was paid (yet). */
export const settlementOf = ({ raw }: Pick<FastifyRequest, "raw">): Settlement.Settlement | undefined =>
  RequestMarks.settlementOf(raw)

/** The meter of a request on a metered route; `undefined` where the route is not metered, or nothing was paid. */
export const meterOf = ({ raw }: Pick<FastifyRequest, "raw">): PaymentMeter.PaymentMeter | undefined =>
  PaymentMeter.of(raw)

interface Exchange {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly proceed: (error?: Error) => void
}

const pass = ({ proceed, reply, request }: Exchange, seller: Seller.Seller, route: PricedRoute): void => {
  const { method, originalUrl: target, raw } = request
  NodeExchange.pass(seller, route, new NodeRequest.NodeRequest(raw, request, { method, target }), {
    request: raw,
    response: reply.raw,
    refuse: (refusal) => refuse(reply, refusal),
    repeat: (kept) => HeldResponse.repeat(reply.hijack().raw, kept, reply.getHeaders()),
    headers: () => reply.getHeaders(),
    proceed: () => proceed(),
    fail: (error) => proceed(error instanceof Error ? error : new Error(String(error)))
  })
}

/** Sends a response of the gate by Fastify's own means, so that headers of other plugins stay. */
const refuse = (reply: FastifyReply, { body, headers, status }: GateResponse): void => {
  const { "Content-Type": type = "application/json", ...others } = headers
  const fields = body === "" ? others : { ...others, "Content-Type": type }
  const current = (name: string) => ResponseSeal.textOf(reply.getHeader(name))
  void reply.code(status).headers(ResponseHeaders.over(fields, current))
  ResponseSeal.seal(reply.raw, headers)
  void reply.send(body === "" ? undefined : body)
}

/** The method by which the route was chosen: a hook may have rewritten the request's after that. */
const routedMethod = ({ method, routeOptions }: FastifyRequest): string => {
  const methods = [routeOptions.method].flat()
  return methods.includes(method) ? method : (methods[0] ?? method)
}

/** The plugin, and the start and end of its shop. */
export type PaymentPlugin = FastifyPluginAsync & SoldRoutes.OpenShop

/**
 * A plugin that sells the routes of a map: `await app.register(paymentPlugin({ ... }))`, before the routes are added. Keys
 * are the whole paths of routes, prefixes included; the most specific key wins. A key without a route makes `app.ready()`
 * fail. Throws `Misconfigured` for every mistake that is visible without the routes.
 */
export const paymentPlugin = <Keys extends string>(options: SoldRoutes.SoldRoutesOptions<Keys>): PaymentPlugin => {
  const { close, demandRoutes, onRouted, pages, ready, seller, voucherRoute } = SoldRoutes.open(options, {
    keepsResponses: true
  })
  const plugin: FastifyPluginAsync = async (app) => {
    const routes: Array<SoldRoutes.KnownRoute> = []
    app.addHook("onRoute", (route) => void routes.push(route))
    app.addHook("onReady", async () => demandRoutes(routes))
    app.addHook("onClose", close)
    app.addHook("onRequest", (request, reply, proceed) => {
      const path = RequestTarget.pathOf(request.originalUrl)
      const vouchers = voucherRoute(request.method, path)
      if (vouchers !== undefined) return pass({ request, reply, proceed }, seller, vouchers)
      const page = pages.find(request.method, path)
      return page === undefined ? proceed() : refuse(reply, page)
    })
    app.addHook("preHandler", (request, reply, proceed) => {
      const { originalUrl, routeOptions, url } = request
      // The application's own response to unknown paths has no URL.
      if (routeOptions.url === undefined) return proceed()
      // With `rewriteUrl` the router and its handlers see another URL than the request's own.
      const paths = [url, originalUrl].map(RequestTarget.pathOf)
      const match = onRouted(routedMethod(request), routeOptions.url, ...paths)
      if (match._tag === "None") return proceed()
      if (match._tag === "Responded") return refuse(reply, match.response)
      return pass({ request, reply, proceed }, seller, match.route)
    })
  }
  return Object.assign(plugin, { ready, close, [Symbol.for("skip-override")]: true })
}

/** A shop whose routes are sold one by one: `app.get("/report", { preHandler: payment.paid({ ... }) }, handler)`. */
export type PaymentRoutes = SoldSteps.SoldSteps<preHandlerHookHandler>

/** Opens a shop whose routes are sold one by one. Throws `Misconfigured` for a mistake in the options. */
export const paymentRoutes = (options: Seller.SellerOptions): PaymentRoutes =>
  SoldSteps.open(
    options,
    (seller, route): preHandlerHookHandler =>
      (request, reply, proceed) =>
        pass({ request, reply, proceed }, seller, route),
    { keepsResponses: true }
  )
