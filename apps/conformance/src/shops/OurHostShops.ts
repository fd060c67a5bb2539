/**
 * Our shop on the hosts that are not Koa and Nest: the same routes and goods, each behind its own server.
 */
import { createServer, type RequestListener } from "node:http"

import { getRequestListener } from "@hono/node-server"
import { listen } from "@pontage/devnet/LoopbackServer"
import { exactEvm } from "@pontage/evm"
import * as PontageExpress from "@pontage/express"
import * as PontageFastify from "@pontage/fastify"
import * as PontageHono from "@pontage/hono"
import * as PontageHttp from "@pontage/http"
import * as PontageNext from "@pontage/next"
import * as Effect from "effect/Effect"
import express from "express"
import fastify from "fastify"
import { Hono } from "hono"

import type { ShopOptions } from "../RoleOptions.ts"
import * as Goods from "./Goods.ts"
import { routeOf, secret } from "./OurRoute.ts"

type HostOptions = Parameters<typeof PontageExpress.paymentMiddleware>[0]

/** A host's shop: what serves its requests, and what closes it. */
interface Host {
  readonly listener: RequestListener
  readonly close: () => Promise<void>
}

/** Makes a shop of a host. */
type MakeHost = (options: HostOptions, goods: Goods.Goods) => Host | Promise<Host>

const paths = Object.values(Goods.paths)

const responseOf = (goods: Goods.Goods, path: Goods.Path): Response => {
  const { body, status } = goods.deliver(path)
  return Response.json(body, { status })
}

const notFound = () => new Response(null, { status: 404 })

const onExpress: MakeHost = (options, goods) => {
  const payment = PontageExpress.paymentMiddleware(options)
  const app = express().use(payment)
  for (const path of paths) {
    app.get(path, (_request, response) => {
      const { body, status } = goods.deliver(path)
      response.status(status).json(body)
    })
  }
  return { listener: app, close: payment.close }
}

const onFetch: MakeHost = (options, goods) => {
  const shop = PontageHttp.paymentHandler(options, (request) => {
    const path = paths.find((one) => one === new URL(request.url).pathname)
    return path === undefined ? notFound() : responseOf(goods, path)
  })
  return { listener: getRequestListener((request) => shop(request)), close: shop.close }
}

const onFastify: MakeHost = async (options, goods) => {
  const payment = PontageFastify.paymentPlugin(options)
  const app = fastify()
  await app.register(payment)
  for (const path of paths) {
    app.get(path, (_request, reply) => {
      const { body, status } = goods.deliver(path)
      return reply.code(status).send(body)
    })
  }
  await app.ready()
  return { listener: (request, response) => app.routing(request, response), close: () => app.close() }
}

const onHono: MakeHost = (options, goods) => {
  const payment = PontageHono.paymentMiddleware(options)
  const app = new Hono()
  app.use(payment)
  for (const path of paths) app.get(path, () => responseOf(goods, path))
  return { listener: getRequestListener(app.fetch), close: payment.close }
}

/** Route handlers as Next calls them, behind the least router that finds them by their folder. */
const onNext: MakeHost = ({ routes, ...options }, goods) => {
  const shop = PontageNext.paymentRoutes(options)
  const handlerOf = (path: Goods.Path) => {
    const route = routes[`GET ${path}`]
    if (route === undefined) throw new Error(`no route for ${path}`)
    return shop.paid(`GET ${path}`, route, (_request: Request) => responseOf(goods, path))
  }
  const handlers = new Map<string, ReturnType<typeof handlerOf>>(paths.map((path) => [path, handlerOf(path)]))
  const serve = (request: Request) =>
    handlers.get(new URL(request.url).pathname)?.(request, { params: Promise.resolve({}) }) ?? notFound()
  return { listener: getRequestListener(serve), close: shop.close }
}

const opening = (make: MakeHost) =>
  Effect.fnUntraced(function* (options: ShopOptions) {
    const { facilitator, port, rpcUrl } = options
    const goods = Goods.make()
    const server = createServer()
    const url = yield* listen(server, port)
    const routes = Object.fromEntries(paths.map((path) => [`GET ${path}`, routeOf(options)]))
    const origin = options.origin ?? url
    const { close, listener } = yield* Effect.promise(async () =>
      make({ origin, facilitator, secret, schemes: [exactEvm.server({ rpcUrl })], routes }, goods)
    )
    server.on("request", listener)
    yield* Effect.addFinalizer(() => Effect.promise(close))
    return { url, goods } satisfies Goods.Shop
  })

/** Each opens a shop as long as the scope. It sells once it has proven its wiring. */
export const startExpress = opening(onExpress)
export const startFetch = opening(onFetch)
export const startFastify = opening(onFastify)
export const startHono = opening(onHono)
export const startNext = opening(onNext)
