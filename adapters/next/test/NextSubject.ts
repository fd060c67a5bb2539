/**
 * Route handlers as Next calls them, behind a router that finds them as Next's does: by the folder's name, one exported
 * function a method, GET for HEAD too, the parameters decoded and in a promise. The real one is tried in
 * `apps/conformance`.
 */
import { once } from "node:events"
import type { Server } from "node:http"
import type { AddressInfo } from "node:net"

import { serve } from "@hono/node-server"
import { HostLaws } from "@pontage/core/testing"

import { paymentRoutes, type RouteHandler, settlementOf } from "../src/index.ts"

interface NextContext {
  readonly params: Promise<Record<string, string | ReadonlyArray<string>>>
}

type Handler = RouteHandler<Request, NextContext>

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

const responseOf = ({ body, headers = {}, status = 200 }: HostLaws.HandlerReply): Response =>
  new Response(body === undefined || typeof body === "string" ? (body ?? null) : streamOf(body), { status, headers })

const queryOf = (url: string): Record<string, unknown> => {
  const { searchParams } = new URL(url)
  return Object.fromEntries(
    [...searchParams.keys()].map((name) => {
      const values = searchParams.getAll(name)
      return [name, values.length === 1 ? values[0] : values]
    })
  )
}

/** The parameters of a folder's name; `*` stands for `[...rest]`, whose segments are a list. */
const paramsOf = (pattern: string, path: string): Record<string, string | ReadonlyArray<string>> | undefined => {
  const [wanted, parts] = [pattern.split("/"), path.split("/")]
  const isOpen = wanted.at(-1) === "*"
  if (isOpen ? parts.length < wanted.length : parts.length !== wanted.length) return undefined
  const params: Record<string, string | ReadonlyArray<string>> = {}
  for (const [index, part] of wanted.entries()) {
    const value = parts[index] ?? ""
    if (part === "*") params["rest"] = parts.slice(index).map(decodeURIComponent)
    else if (part.startsWith(":") && value !== "") params[part.slice(1).replace("?", "")] = decodeURIComponent(value)
    else if (part !== value) return undefined
  }
  return params
}

interface Folder {
  readonly method: string
  readonly path: string
  readonly handle: Handler
}

const folderOf = (
  route: HostLaws.TrialRoute,
  prefix: string,
  paid: (key: string, handle: Handler) => Handler
): Folder => ({
  method: route.method,
  path: `${prefix}${route.path}`,
  handle: paid(HostLaws.keyOf(route, prefix), async (request, { params }) =>
    responseOf(
      await route.handler({
        params: (await params) as Record<string, string>,
        query: queryOf(request.url),
        body: () => request.text(),
        receipt: () => settlementOf(request)
      })
    )
  )
})

const answer = async (folders: ReadonlyArray<Folder>, request: Request): Promise<Response> => {
  const { pathname } = new URL(request.url)
  const method = request.method === "HEAD" ? "GET" : request.method
  for (const folder of folders) {
    const params = folder.method === method ? paramsOf(folder.path, pathname) : undefined
    if (params !== undefined) return folder.handle(request, { params: Promise.resolve(params) })
  }
  return new Response("not here", { status: 404 })
}

const closedShop = { ready: () => Promise.resolve(), close: () => Promise.resolve() }

/** Next with its route handlers sold one by one. */
export const make = (): HostLaws.HostSubject => ({
  keepsReceiptOnErrors: false,
  open: async ({ headers = {}, prefix = "", rescue, routes, shop, sold }) => {
    const payment = sold === undefined ? undefined : paymentRoutes(shop)
    const paid = (key: string, handle: Handler): Handler =>
      payment === undefined || sold?.[key] === undefined ? handle : payment.paid(key, sold[key], handle)
    const folders = routes.map((route) => folderOf(route, prefix, paid))
    const fetch = async (request: Request): Promise<Response> => {
      const response = await answer(folders, request).catch((error: unknown) =>
        rescue === undefined ? new Response("failed", { status: 500 }) : responseOf(rescue(error))
      )
      for (const [name, value] of Object.entries(headers)) {
        if (name !== "cache-control") response.headers.append(name, value)
      }
      return response
    }
    const server = serve({ fetch, port: 0, hostname: "127.0.0.1" }) as Server
    if (!server.listening) await once(server, "listening")
    return {
      port: (server.address() as AddressInfo).port,
      ready: payment?.ready ?? closedShop.ready,
      close: async () => {
        server.closeAllConnections()
        server.close()
        await once(server, "close")
        await payment?.close()
      }
    }
  }
})
