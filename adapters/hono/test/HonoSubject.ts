/** Hono on Node as a host for the laws, with a map of routes or with a step for each route. */
import { once } from "node:events"
import type { Server } from "node:http"
import type { AddressInfo } from "node:net"

import { serve } from "@hono/node-server"
import { HostLaws } from "@pontage/core/testing"
import { Hono, type MiddlewareHandler } from "hono"

import { paymentMiddleware, paymentRoutes, settlementOf } from "../src/index.ts"

const responseOf = ({ body, headers = {}, status = 200 }: HostLaws.HandlerReply): Response =>
  new Response(body === undefined || typeof body === "string" ? (body ?? null) : streamOf(body), {
    status,
    headers
  })

/** The parts as a stream. */
const streamOf = (parts: AsyncIterable<string>): ReadableStream<Uint8Array> => {
  const utf8 = new TextEncoder()
  const iterator = parts[Symbol.asyncIterator]()
  return new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const { done, value } = await iterator.next()
      if (done === true) controller.close()
      else controller.enqueue(utf8.encode(value))
    },
    cancel: () => void iterator.return?.()
  })
}

const addRoutes = (
  app: Hono,
  { prefix = "", routes }: HostLaws.TrialApplication,
  paid: (key: string) => ReadonlyArray<MiddlewareHandler>
) => {
  for (const route of routes) {
    const { handler, method, path } = route
    app.on([method], [path], ...paid(HostLaws.keyOf(route, prefix)), async (context) => {
      const query = Object.entries(context.req.queries()).map(([name, all]) => [name, all.length === 1 ? all[0] : all])
      const reply = await handler({
        params: context.req.param(),
        query: Object.fromEntries(query),
        body: () => context.req.text(),
        receipt: () => settlementOf(context)
      })
      return responseOf(reply)
    })
  }
}

const closedShop = { ready: () => Promise.resolve(), close: () => Promise.resolve() }

/** An application of Hono, and its shop. */
export const build = (application: HostLaws.TrialApplication, manner: "map" | "steps" | "bare") => {
  const { discovery, headers, prefix, rescue, shop, sold } = application
  const app = new Hono()
  if (headers !== undefined) {
    app.use(async (context, next) => {
      for (const [name, value] of Object.entries(headers)) context.res.headers.set(name, value)
      await next()
    })
  }
  if (rescue !== undefined) app.onError((error) => responseOf(rescue(error)))
  else app.onError(() => new Response("failed", { status: 500 }))
  const isMap = sold !== undefined && manner === "map"
  const map = isMap ? paymentMiddleware({ ...shop, routes: sold, ...(discovery && { discovery }) }) : undefined
  const steps = sold === undefined || manner !== "steps" ? undefined : paymentRoutes(shop)
  if (map !== undefined) app.use(map)
  const inner = new Hono()
  addRoutes(inner, application, (key) =>
    steps === undefined || sold?.[key] === undefined ? [] : [steps.paid(sold[key], key)]
  )
  app.route(prefix ?? "/", inner)
  return { app, shop: map ?? steps ?? closedShop }
}

/** Serves a fetch handler on Node. */
export const listen = async (
  fetch: (request: Request, beside: object) => Response | Promise<Response>,
  shop: { readonly ready: () => Promise<void>; readonly close: () => Promise<void> }
): Promise<HostLaws.OpenApplication> => {
  const server = serve({ fetch, port: 0, hostname: "127.0.0.1" }) as Server
  if (!server.listening) await once(server, "listening")
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

/** Hono with this manner of selling. */
export const make = (manner: "map" | "steps"): HostLaws.HostSubject => ({
  keepsReceiptOnErrors: true,
  open: (application) => {
    const { app, shop } = build(application, manner)
    return listen((request, beside) => app.fetch(request, beside), shop)
  }
})
