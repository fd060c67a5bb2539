/**
 * The measured shop on each host: the framework alone, or with its payment adapter in front of the same routes. The framework
 * alone also sends a copy of the adapter's 402, by its own means.
 */
import "reflect-metadata"
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http"

import { getRequestListener } from "@hono/node-server"
import { Router } from "@koa/router"
import {
  type CallHandler,
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  HttpException,
  Module,
  type NestInterceptor,
  UseGuards,
  UseInterceptors
} from "@nestjs/common"
import { NestFactory } from "@nestjs/core"
import * as PontageExpress from "@pontage/express"
import * as PontageFastify from "@pontage/fastify"
import * as PontageHono from "@pontage/hono"
import * as PontageHttp from "@pontage/http"
import { paymentMiddleware } from "@pontage/koa"
import { PaymentModule } from "@pontage/nestjs"
import * as PontageNext from "@pontage/next"
import express from "express"
import fastify from "fastify"
import { Hono } from "hono"
import Koa from "koa"

/** Options of the adapters with a map of routes. */
type Options = Parameters<typeof PontageExpress.paymentMiddleware>[0]

/** A response of the gate that a framework alone sends as a constant. */
export interface Copied {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Constants by their paths. */
export type Copies = Readonly<Record<string, Copied>>

/** Makes a shop; without options nothing is sold. */
type MakeHost = (options: Options | undefined, copies: Copies) => RequestListener | Promise<RequestListener>

/** The path of a handler behind a step of the host that does nothing: middleware in Express, in Nest a guard and an interceptor. */
export const steppedPath = "/stepped"

const body = { report: "It will rain, and then it will not." }
const paths = ["/report", "/everybody", "/free"] as const

const koa: MakeHost = (options, copies) => {
  const router = new Router()
  for (const [path, { body: text, headers, status }] of Object.entries(copies)) {
    router.get(path, (context) => {
      context.status = status
      context.set(headers)
      context.body = text
    })
  }
  for (const path of paths) {
    router.get(path, (context) => {
      context.body = body
    })
  }
  const app = new Koa()
  if (options !== undefined) app.use(paymentMiddleware({ ...options, router }))
  return app.use(router.routes()).callback()
}

/** Refuses as a guard of Nest can: by an exception, which Nest's own filter sends. */
const throwing = (copies: Copies): CanActivate => {
  const refusals = new Map(
    Object.entries(copies).map(([path, { body: text, headers, status }]) => {
      const refused: object = JSON.parse(text)
      return [path, { refused, headers: Object.entries(headers), status }]
    })
  )
  return {
    canActivate: (context: ExecutionContext) => {
      const { url = "" }: IncomingMessage = context.switchToHttp().getRequest()
      const response: ServerResponse = context.switchToHttp().getResponse()
      const { headers = [], refused = {}, status = 500 } = refusals.get(url) ?? {}
      for (const [name, value] of headers) response.setHeader(name, value)
      throw new HttpException(refused, status)
    }
  }
}

const idleGuard: CanActivate = { canActivate: () => true }
const idleInterceptor: NestInterceptor = { intercept: (_context, next: CallHandler) => next.handle() }

const nest: MakeHost = async (options, copies) => {
  class ReportController {
    report() {
      return body
    }
    everybody() {
      return body
    }
    free() {
      return body
    }
    constant() {
      return body
    }
    stepped() {
      return body
    }
  }
  class ShopModule {
    readonly isOpen = true
  }
  const { prototype } = ReportController
  const routed = (name: keyof ReportController, ...decorators: ReadonlyArray<MethodDecorator>) => {
    const descriptor = Object.getOwnPropertyDescriptor(prototype, name) ?? {}
    for (const decorate of decorators) decorate(prototype, name, descriptor)
  }
  for (const name of ["report", "everybody", "free"] as const) routed(name, Get(name))
  routed("stepped", Get(steppedPath), UseGuards(idleGuard), UseInterceptors(idleInterceptor))
  routed("constant", Get(Object.keys(copies)), UseGuards(throwing(copies)))
  Controller()(ReportController)
  Module({
    imports: options === undefined ? [] : [PaymentModule.forRoot(options)],
    controllers: [ReportController]
  })(ShopModule)
  const app = await NestFactory.create(ShopModule, { logger: false, abortOnError: false })
  await app.init()
  const handle: RequestListener = app.getHttpAdapter().getInstance()
  return handle
}

const onExpress: MakeHost = (options, copies) => {
  const app = express()
  if (options !== undefined) app.use(PontageExpress.paymentMiddleware(options))
  for (const [path, { body: text, headers, status }] of Object.entries(copies)) {
    app.get(path, (_request, response) => {
      response.status(status).set(headers).end(text)
    })
  }
  const stepped = express()
  stepped.use((_request, _response, proceed) => proceed())
  for (const path of paths) app.get(path, report)
  stepped.get(steppedPath, report)
  return (request, response) => (request.url === steppedPath ? stepped : app)(request, response)
}

const report = (_request: express.Request, response: express.Response): void => void response.json(body)

const onFastify: MakeHost = async (options, copies) => {
  const app = fastify()
  if (options !== undefined) await app.register(PontageFastify.paymentPlugin(options))
  for (const [path, { body: text, headers, status }] of Object.entries(copies)) {
    app.get(path, (_request, reply) => reply.code(status).headers(headers).send(text))
  }
  for (const path of paths) app.get(path, () => body)
  await app.ready()
  return (request, response) => app.routing(request, response)
}

const onHono: MakeHost = (options, copies) => {
  const app = new Hono()
  if (options !== undefined) app.use(PontageHono.paymentMiddleware(options))
  for (const [path, copied] of Object.entries(copies)) app.get(path, () => responseOf(copied))
  for (const path of paths) app.get(path, (context) => context.json(body))
  return getRequestListener(app.fetch)
}

const known: ReadonlySet<string> = new Set(paths)

type Respond = (request: Request) => Response

const responseOf = ({ body: text, headers, status }: Copied): Response => new Response(text, { status, headers })

const responding =
  (copies: Copies): Respond =>
  ({ url }) => {
    const { pathname } = new URL(url)
    if (known.has(pathname)) return Response.json(body)
    const copied = copies[pathname]
    return copied === undefined ? new Response(null, { status: 404 }) : responseOf(copied)
  }

const web: MakeHost = (options, copies) => {
  const respond = responding(copies)
  const shop = options === undefined ? respond : PontageHttp.paymentHandler(options, respond)
  return getRequestListener((request) => shop(request))
}

/** Route handlers as Next calls them, behind the least router that finds them by their folder. */
const next: MakeHost = (options, copies) => {
  const respond = responding(copies)
  const context = { params: Promise.resolve({}) }
  const sold = options === undefined ? new Map<string, Respond>() : routeHandlers(options, context, respond)
  return getRequestListener((request) => (sold.get(new URL(request.url).pathname) ?? respond)(request))
}

const routeHandlers = (
  { routes, ...options }: Options,
  context: { readonly params: Promise<object> },
  respond: Respond
) => {
  const shop = PontageNext.paymentRoutes(options)
  return new Map(
    Object.entries(routes).map(([key, route]) => {
      const handle = shop.paid(key, route, (request: Request) => respond(request))
      return [key.replace("GET ", ""), (request: Request) => handle(request, { ...context })] as const
    })
  )
}

/** All hosts by their names. */
export const hosts = { koa, nest, express: onExpress, fastify: onFastify, hono: onHono, web, next } as const

/** The name of a host. */
export type HostName = keyof typeof hosts

/** Whether a text names a host. */
export const isHost = (text: string): text is HostName => Object.hasOwn(hosts, text)
