/**
 * The measured shop on each host: the framework alone, or with its payment adapter in front of the same routes.
 */
import "reflect-metadata"
import type { RequestListener } from "node:http"

import { getRequestListener } from "@hono/node-server"
import { Router } from "@koa/router"
import { Controller, Get, Module } from "@nestjs/common"
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

/** Makes a shop; without options nothing is sold. */
type MakeHost = (options: Options | undefined) => RequestListener | Promise<RequestListener>

const body = { report: "It will rain, and then it will not." }
const paths = ["/report", "/everybody", "/free"] as const

const koa: MakeHost = (options) => {
  const router = new Router()
  for (const path of paths) {
    router.get(path, (context) => {
      context.body = body
    })
  }
  const app = new Koa()
  if (options !== undefined) app.use(paymentMiddleware({ ...options, router }))
  return app.use(router.routes()).callback()
}

const nest: MakeHost = async (options) => {
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
  }
  class ShopModule {
    readonly isOpen = true
  }
  const { prototype } = ReportController
  for (const name of ["report", "everybody", "free"] as const) {
    Get(name)(prototype, name, Object.getOwnPropertyDescriptor(prototype, name) ?? {})
  }
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

const onExpress: MakeHost = (options) => {
  const app = express()
  if (options !== undefined) app.use(PontageExpress.paymentMiddleware(options))
  for (const path of paths) {
    app.get(path, (_request, response) => {
      response.json(body)
    })
  }
  return app
}

const onFastify: MakeHost = async (options) => {
  const app = fastify()
  if (options !== undefined) await app.register(PontageFastify.paymentPlugin(options))
  for (const path of paths) app.get(path, () => body)
  await app.ready()
  return (request, response) => app.routing(request, response)
}

const onHono: MakeHost = (options) => {
  const app = new Hono()
  if (options !== undefined) app.use(PontageHono.paymentMiddleware(options))
  for (const path of paths) app.get(path, (context) => context.json(body))
  return getRequestListener(app.fetch)
}

const known: ReadonlySet<string> = new Set(paths)

const respond = ({ url }: Request): Response =>
  known.has(new URL(url).pathname) ? Response.json(body) : new Response(null, { status: 404 })

const web: MakeHost = (options) => {
  const shop = options === undefined ? respond : PontageHttp.paymentHandler(options, respond)
  return getRequestListener((request) => shop(request))
}

/** Route handlers as Next calls them, behind the least router that finds them by their folder. */
const next: MakeHost = (options) => {
  const context = { params: Promise.resolve({}) }
  const sold = options === undefined ? new Map<string, typeof respond>() : routeHandlers(options, context)
  return getRequestListener((request) => (sold.get(new URL(request.url).pathname) ?? respond)(request))
}

const routeHandlers = ({ routes, ...options }: Options, context: { readonly params: Promise<object> }) => {
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
