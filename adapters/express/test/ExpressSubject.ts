/** Express as a host for the laws: version 4 or 5, with a map of routes or with a step for each route. */
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { Readable } from "node:stream"

import { HostLaws } from "@pontage/core/testing"
import express5, { type Express, type Request, type RequestHandler, type Response, type Router } from "express"
import express4 from "express4"

import { paymentMiddleware, paymentRoutes, settlementOf } from "../src/index.ts"

const versions = { 4: express4, 5: express5 }

const bodyOf = async (request: Request): Promise<string> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(Buffer.from(chunk as Uint8Array))
  return Buffer.concat(chunks).toString()
}

const reply = (response: Response, { body, headers = {}, status = 200 }: HostLaws.HandlerReply): void => {
  response.status(status).set(headers)
  if (body === undefined) response.end()
  else if (typeof body === "string") response.send(body)
  else Readable.from(body).pipe(response)
}

const handlerOf =
  ({ handler }: HostLaws.TrialRoute): RequestHandler =>
  async (request, response, next) => {
    try {
      const seen: HostLaws.SeenRequest = {
        params: request.params as Record<string, string>,
        query: request.query,
        body: () => bodyOf(request),
        receipt: () => settlementOf(request)
      }
      reply(response, await handler(seen))
    } catch (error) {
      next(error)
    }
  }

const pathIn = (version: 4 | 5, path: string): string =>
  version === 5 ? path.replace("*", "*rest").replace(/\/:(\w+)\?$/, "{/:$1}") : path

const overriding: RequestHandler = (request, _response, next) => {
  const method = request.get("x-method")
  if (method !== undefined) request.method = method
  next()
}

/** Adds the routes, each with its step if `paid` has one for it. */
const addRoutes = (
  router: Pick<Router, "get" | "post">,
  version: 4 | 5,
  { prefix = "", routes }: HostLaws.TrialApplication,
  paid: (key: string) => ReadonlyArray<RequestHandler>
) => {
  for (const route of routes) {
    const method = route.method === "GET" ? "get" : "post"
    router[method](pathIn(version, route.path), ...paid(HostLaws.keyOf(route, prefix)), handlerOf(route))
  }
}

const finish = (app: Express, { rescue }: HostLaws.TrialApplication) => {
  if (rescue === undefined) return
  app.use((error: unknown, _request: Request, response: Response, _next: unknown) => reply(response, rescue(error)))
}

const listen = async (
  app: Express,
  shop: { readonly ready: () => Promise<void>; readonly close: () => Promise<void> }
) => {
  const server = createServer(app).listen(0, "127.0.0.1")
  await once(server, "listening")
  return {
    port: (server.address() as AddressInfo).port,
    ready: shop.ready,
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, "close")
      await shop.close()
    }
  }
}

const closedShop = { ready: () => Promise.resolve(), close: () => Promise.resolve() }

/** Express with this manner of selling. */
export const make = (version: 4 | 5, manner: "map" | "steps"): HostLaws.HostSubject => ({
  keepsReceiptOnErrors: true,
  open: (application) => {
    const express = versions[version]
    const { discovery, headers, limit, prefix, shop, sold } = application
    const app = express()
    app.set("env", "production").disable("x-powered-by")
    if (headers !== undefined) app.use((_request, response, next) => (response.set(headers), next()))
    if (limit !== undefined) {
      app.use((_request, response, next) => {
        limit(() => void response.status(503).end("too late"))
        next()
      })
    }
    const router = express.Router()
    if (sold === undefined || manner === "map") {
      const gate =
        sold === undefined ? undefined : paymentMiddleware({ ...shop, routes: sold, ...(discovery && { discovery }) })
      if (gate !== undefined) app.use(gate)
      if (application.overridesMethod === true) app.use(overriding)
      addRoutes(router, version, application, () => [])
      app.use(prefix ?? "/", router)
      finish(app, application)
      return listen(app, gate ?? closedShop)
    }
    const payment = paymentRoutes(shop)
    addRoutes(router, version, application, (key) => (sold[key] === undefined ? [] : [payment.paid(sold[key], key)]))
    app.use(prefix ?? "/", router)
    finish(app, application)
    return listen(app, payment)
  }
})
