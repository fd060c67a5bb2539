/** Our shops of metered streams, on each of our hosts, over one ledger in the shop's process. */
import { createServer, type RequestListener, type Server } from "node:http"
import { Readable } from "node:stream"

import { getRequestListener } from "@hono/node-server"
import { Router } from "@koa/router"
import { Controller, Get, Module, Query, Res } from "@nestjs/common"
import { NestFactory } from "@nestjs/core"
import {
  ChannelStore,
  LocalFacilitator,
  MemoryChannelStore,
  type PaymentMeter,
  type RouteConfig,
  type Seller
} from "@pontage/core"
import * as BaseSepolia from "@pontage/devnet/BaseSepolia"
import { listen } from "@pontage/devnet/LoopbackServer"
import { channelEvm } from "@pontage/evm"
import * as PontageExpress from "@pontage/express"
import * as PontageFastify from "@pontage/fastify"
import * as PontageHono from "@pontage/hono"
import * as PontageHttp from "@pontage/http"
import * as PontageKoa from "@pontage/koa"
import { Meter, PaymentModule, PaymentRoutes } from "@pontage/nestjs"
import * as PontageNext from "@pontage/next"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import express, { type Response as ExpressResponse } from "express"
import fastify from "fastify"
import { Hono } from "hono"
import Koa from "koa"
import { generatePrivateKey, privateKeyToAddress } from "viem/accounts"

import { Chain } from "./ChannelShopTrial.ts"
import * as FacilitatorPlace from "./FacilitatorPlace.ts"

type Meter = PaymentMeter.PaymentMeter | undefined

/** The wishes of a request: a number of units, a unit at which the handler fails, and the bytes beside each unit. */
interface Wish {
  readonly units: number
  readonly fail: number
  /** The bytes of each unit; 0 for those of its event. */
  readonly size: number
}

const wishOf = (query: { readonly get: (name: string) => string | null }): Wish => ({
  units: Number(query.get("units") ?? 25),
  fail: Number(query.get("fail") ?? -1),
  size: Number(query.get("size") ?? 0)
})

/** The units that handlers have made, which no buyer has seen without a charge. */
export interface Made {
  units: number
  /** The ends of the handlers' own loops. */
  readonly ends: Array<string>
}

const eventOf = (unit: number, size: number): string => (size > 0 ? `${unit % 10}`.repeat(size) : `data: ${unit}\n\n`)

/** One event for each unit. */
async function* tokens(meter: Meter, { fail, size, units }: Wish, made: Made): AsyncGenerator<string> {
  try {
    for (let unit = 0; unit < units; unit++) {
      // oxlint-disable-next-line no-await-in-loop -- a unit is sent once it is charged
      await meter?.charge(meter.unit === "byte" ? Buffer.byteLength(eventOf(unit, size)) : 1)
      if (unit === fail) throw new Error("the handler failed")
      made.units++
      yield eventOf(unit, size)
    }
    made.ends.push("done")
  } catch (error) {
    made.ends.push(error instanceof Error ? error.message : "")
    throw error
  }
}

const bytesOf = (parts: AsyncGenerator<string>): ReadableStream<Uint8Array> =>
  Readable.toWeb(
    Readable.from(parts).map((part: string) => new TextEncoder().encode(part))
  ) as ReadableStream<Uint8Array>

const sse = "text/event-stream"

type Routes = Readonly<Record<"GET /tokens" | "GET /bytes", RouteConfig>>
type Options = Seller.SellerOptions & { readonly routes: Routes }

interface Host {
  readonly listener: RequestListener
  readonly close: () => Promise<void>
  readonly ready: () => Promise<void>
}

type MakeHost = (options: Options, made: Made) => Host | Promise<Host>

const searchOf = (url: string) => new URL(url, "http://localhost").searchParams

const onKoa: MakeHost = (options, made) => {
  const router = new Router()
  for (const [path, type] of paths) {
    router.get(path, (context) => {
      context.set("Content-Type", type)
      context.body = Readable.from(tokens(PontageKoa.meterOf(context), wishOf(context.URL.searchParams), made))
    })
  }
  const payment = PontageKoa.paymentMiddleware({ ...options, router })
  const app = new Koa().use(payment).use(router.routes())
  app.silent = true
  return { listener: app.callback(), close: payment.close, ready: payment.ready }
}

const paths = [
  ["/tokens", sse],
  ["/bytes", "application/octet-stream"]
] as const

const writeTo = async (
  response: Pick<ExpressResponse, "write" | "end" | "writeHead">,
  type: string,
  parts: AsyncGenerator<string>
) => {
  response.writeHead(200, { "Content-Type": type })
  for await (const part of parts) response.write(part)
  response.end()
}

const onExpress: MakeHost = (options, made) => {
  const payment = PontageExpress.paymentMiddleware(options)
  const app = express().use(payment)
  app.set("env", "test")
  for (const [path, type] of paths) {
    app.get(path, (request, response) =>
      writeTo(response, type, tokens(PontageExpress.meterOf(request), wishOf(searchOf(request.url)), made))
    )
  }
  return { listener: app, close: payment.close, ready: payment.ready }
}

const onFastify: MakeHost = async (options, made) => {
  const payment = PontageFastify.paymentPlugin(options)
  const app = fastify()
  await app.register(payment)
  for (const [path, type] of paths) {
    app.get(path, (request, reply) =>
      reply.type(type).send(Readable.from(tokens(PontageFastify.meterOf(request), wishOf(searchOf(request.url)), made)))
    )
  }
  await app.ready()
  const listener: RequestListener = (request, response) => app.routing(request, response)
  return { listener, close: () => app.close(), ready: payment.ready }
}

const responseOf = (meter: Meter, url: string, made: Made): Response => {
  const [, type] = paths.find(([path]) => path === new URL(url).pathname) ?? paths[0]
  return new Response(bytesOf(tokens(meter, wishOf(searchOf(url)), made)), { headers: { "Content-Type": type } })
}

const onHono: MakeHost = (options, made) => {
  const payment = PontageHono.paymentMiddleware(options)
  const app = new Hono()
  app.use(payment)
  for (const [path] of paths)
    app.get(path, (context) => responseOf(PontageHono.meterOf(context), context.req.url, made))
  return { listener: getRequestListener(app.fetch), close: payment.close, ready: payment.ready }
}

const onFetch: MakeHost = (options, made) => {
  const shop = PontageHttp.paymentHandler(options, (request) =>
    responseOf(PontageHttp.meterOf(request), request.url, made)
  )
  return { listener: getRequestListener((request) => shop(request)), close: shop.close, ready: shop.ready }
}

const onNext: MakeHost = ({ routes, ...options }, made) => {
  const shop = PontageNext.paymentRoutes(options)
  const handlerOf = (key: keyof Routes) =>
    shop.paid(key, routes[key], (request: Request) => responseOf(PontageNext.meterOf(request), request.url, made))
  const handlers = { "/tokens": handlerOf("GET /tokens"), "/bytes": handlerOf("GET /bytes") }
  const serve = (request: Request) => {
    const { pathname } = new URL(request.url)
    if (pathname === "/payment-voucher" && request.method === "POST") return shop.vouchers(request)
    const handler = pathname === "/bytes" ? handlers["/bytes"] : handlers["/tokens"]
    return handler(request, { params: Promise.resolve({}) })
  }
  return { listener: getRequestListener(serve), close: shop.close, ready: shop.ready }
}

const onNest: MakeHost = async ({ routes, ...options }, made) => {
  @Controller()
  class TokenController {
    @Get("tokens")
    tokens(@Meter() meter: Meter, @Query() query: Record<string, string>, @Res() response: ExpressResponse) {
      return writeTo(response, sse, tokens(meter, wishOf(new URLSearchParams(query)), made))
    }

    @Get("bytes")
    bytes(@Meter() meter: Meter, @Query() query: Record<string, string>, @Res() response: ExpressResponse) {
      return writeTo(response, "application/octet-stream", tokens(meter, wishOf(new URLSearchParams(query)), made))
    }
  }

  @Module({ imports: [PaymentModule.forRoot({ ...options, routes })], controllers: [TokenController] })
  class ShopModule {}
  const app = await NestFactory.create(ShopModule, { logger: false, abortOnError: false })
  await app.init()
  return {
    listener: app.getHttpAdapter().getInstance(),
    close: () => app.close(),
    ready: () => app.get(PaymentRoutes).ready()
  }
}

/** The hosts. */
export const hosts = {
  Koa: onKoa,
  Express: onExpress,
  Fastify: onFastify,
  NestJS: onNest,
  Hono: onHono,
  "a fetch handler": onFetch,
  "Next's route handlers": onNext
} as const satisfies Readonly<Record<string, MakeHost>>

/** Terms that a test changes. */
export interface StreamTerms {
  readonly idleSeconds?: number
  readonly strangers?: "serve" | "refuse"
  /** The unit that is sold, and its price; default a token at `tick`. */
  readonly sold?: { readonly unit: string; readonly tick: string }
  readonly ledger?: ChannelStore["Service"]
  /** Unclaimed money that is claimed at once; default none. */
  readonly claimAt?: bigint
}

/** The price of a unit, and the units of a window. */
export const tick = 100n
export const windowUnits = 10
export const windowAmount = tick * BigInt(windowUnits)

/** Opens a shop on a host, as long as the scope. */
export const opened = Effect.fnUntraced(function* (host: keyof typeof hosts, terms: StreamTerms = {}) {
  const { claimAt = 10n ** 9n, idleSeconds = 4, ledger = MemoryChannelStore.make(), strangers = "serve" } = terms
  const { sold = { unit: "token", tick: "$0.0001" } } = terms
  const payee = privateKeyToAddress(generatePrivateKey())
  const chain = yield* Chain
  const { accounts, rpcUrl } = chain.node
  const [sender, lent] = accounts.signers
  const authorizer = { signer: lent, ...(yield* FacilitatorPlace.lending) }
  const local = LocalFacilitator.layerMemory({
    schemes: [channelEvm.facilitator({ signer: sender, rpcUrl, authorizer, minimumDeposit: 1n })],
    channels: { pollMillis: 50, maximumUnclaimed: claimAt, leastClaim: 1n, leastPayout: 1n }
  }).pipe(Layer.provide(Layer.succeed(ChannelStore, ledger)))
  const facilitator = yield* FacilitatorPlace.at(local, payee)
  const server: Server = createServer()
  const origin = yield* listen(server)
  const route: RouteConfig = {
    scheme: "batch-settlement",
    network: BaseSepolia.network,
    price: "$0.001",
    payTo: payee,
    metered: { ...sold, idleSeconds, strangers }
  }
  const made: Made = { units: 0, ends: [] }
  const shop = yield* Effect.promise(async () =>
    hosts[host](
      {
        origin,
        facilitator,
        secret: Buffer.alloc(32, 7).toString("base64"),
        schemes: [channelEvm.server({ rpcUrl, deposit: 10n * windowAmount })],
        routes: { "GET /tokens": route, "GET /bytes": route }
      },
      made
    )
  )
  server.on("request", shop.listener)
  yield* Effect.addFinalizer(() =>
    Effect.promise(async () => {
      server.closeAllConnections()
      await shop.close()
    })
  )
  yield* Effect.promise(() => shop.ready())
  return { chain, ledger, payee, sender, origin, made, runs: () => 0, url: `${origin}/tokens` }
})

/** An open shop. */
export type StreamShop = Effect.Success<ReturnType<typeof opened>>
