/** A fetch handler on Node as a host for the laws: its gate around the whole handler, or around each one. */
import { once } from "node:events"
import type { Server } from "node:http"
import type { AddressInfo } from "node:net"

import { serve } from "@hono/node-server"
import { HostLaws } from "@pontage/core/testing"

import { type FetchHandler, paymentHandler, paymentRoutes, settlementOf } from "../src/index.ts"

type Handler = FetchHandler<ReadonlyArray<object>>

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

const queryOf = (url: string): Record<string, unknown> => {
  const { searchParams } = new URL(url)
  return Object.fromEntries(
    [...searchParams.keys()].map((name) => {
      const values = searchParams.getAll(name)
      return [name, values.length === 1 ? values[0] : values]
    })
  )
}

interface Endpoint {
  readonly method: string
  readonly path: string
  readonly handle: Handler
}

/** The segments of a path as parameters, or `undefined` if the pattern does not fit. */
const paramsOf = (pattern: string, path: string): Record<string, string> | undefined => {
  const [wanted, parts] = [pattern.split("/"), path.split("/")]
  const isOpen = wanted.at(-1) === "*"
  if (isOpen ? parts.length < wanted.length : parts.length !== wanted.length) return undefined
  const params: Record<string, string> = {}
  for (const [index, part] of wanted.entries()) {
    const value = parts[index] ?? ""
    if (part.startsWith(":") && value !== "") params[part.slice(1).replace("?", "")] = decodeURIComponent(value)
    else if (part !== "*" && part !== value) return undefined
  }
  return params
}

/** A router of a few lines, as many such handlers have. */
const routed =
  (endpoints: ReadonlyArray<Endpoint>): Handler =>
  (request, ...beside) => {
    const { pathname } = new URL(request.url)
    const method = request.method === "HEAD" ? "GET" : request.method
    const found = endpoints.find((one) => one.method === method && paramsOf(one.path, pathname) !== undefined)
    return found === undefined ? new Response("not here", { status: 404 }) : found.handle(request, ...beside)
  }

const endpointOf = (
  route: HostLaws.TrialRoute,
  prefix: string,
  paid: (key: string, handle: Handler) => Handler
): Endpoint => ({
  method: route.method,
  path: `${prefix}${route.path}`,
  handle: paid(HostLaws.keyOf(route, prefix), async (request) =>
    responseOf(
      await route.handler({
        params: paramsOf(`${prefix}${route.path}`, new URL(request.url).pathname) ?? {},
        query: queryOf(request.url),
        body: () => request.text(),
        receipt: () => settlementOf(request)
      })
    )
  )
})

const closedShop = { ready: () => Promise.resolve(), close: () => Promise.resolve() }

/** Everything that the application does around its handlers. */
const around =
  (handler: Handler, { rescue }: HostLaws.TrialApplication): Handler =>
  async (request, ...beside) => {
    try {
      return await handler(request, ...beside)
    } catch (error) {
      return rescue === undefined ? new Response("failed", { status: 500 }) : responseOf(rescue(error))
    }
  }

const build = (application: HostLaws.TrialApplication, manner: "map" | "handlers") => {
  const { discovery, prefix = "", routes, shop, sold } = application
  const steps = sold === undefined || manner === "map" ? undefined : paymentRoutes(shop)
  const paid = (key: string, handle: Handler): Handler =>
    steps === undefined || sold?.[key] === undefined ? handle : steps.paid(key, sold[key], handle)
  const handler = around(routed(routes.map((route) => endpointOf(route, prefix, paid))), application)
  if (sold === undefined || manner !== "map") return { fetch: handler, shop: steps ?? closedShop }
  const gated = paymentHandler({ ...shop, routes: sold, ...(discovery && { discovery }) }, handler)
  return { fetch: gated as Handler, shop: gated }
}

/** Headers that a wrapper around the gate adds to every response, as such do for CORS. */
const headed =
  (fetch: Handler, headers: Readonly<Record<string, string>> | undefined): Handler =>
  async (request, ...beside) => {
    const response = await fetch(request, ...beside)
    for (const [name, value] of Object.entries(headers ?? {})) {
      if (name !== "cache-control") response.headers.append(name, value)
    }
    return response
  }

/** A fetch handler with this manner of selling. */
export const make = (manner: "map" | "handlers"): HostLaws.HostSubject => ({
  keepsReceiptOnErrors: false,
  open: async (application) => {
    const { fetch, shop } = build(application, manner)
    const served = headed(fetch, application.headers)
    const server = serve({
      fetch: (request, bindings) => served(request, bindings),
      port: 0,
      hostname: "127.0.0.1"
    }) as Server
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
})
