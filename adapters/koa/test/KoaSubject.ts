/** Koa as a host for the laws: the gate in front of the router, inside of it, or as a step of each route. */
import { Readable } from "node:stream"

import { Router } from "@koa/router"
import { HostLaws } from "@pontage/core/testing"
import Koa from "koa"
import mount from "koa-mount"
import koa2 from "koa2"

import { paymentMiddleware, paymentRoutes, settlementOf } from "../src/index.ts"
import { serve } from "./KoaServer.ts"

const versions = { 2: koa2, 3: Koa }

const bodyOf = async (ctx: Koa.Context): Promise<string> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of ctx.req) chunks.push(Buffer.from(chunk as Uint8Array))
  return Buffer.concat(chunks).toString()
}

const reply = (ctx: Koa.Context, { body, headers = {}, status = 200 }: HostLaws.HandlerReply): void => {
  ctx.status = status
  if (body === undefined) ctx.body = status === 200 ? "" : null
  else ctx.body = typeof body === "string" ? body : Readable.from(body)
  ctx.status = status
  ctx.set({ ...headers })
}

const handlerOf =
  ({ handler }: HostLaws.TrialRoute): Koa.Middleware =>
  async (ctx) => {
    const { params } = ctx as Koa.Context & { readonly params: Record<string, string> }
    const seen: HostLaws.SeenRequest = {
      params,
      query: ctx.query,
      body: () => bodyOf(ctx),
      receipt: () => settlementOf(ctx)
    }
    reply(ctx, await handler(seen))
  }

const headed =
  (headers: Readonly<Record<string, string>>): Koa.Middleware =>
  (ctx, next) => {
    ctx.set({ ...headers })
    return next()
  }

const rescued =
  (rescue: (error: unknown) => HostLaws.HandlerReply): Koa.Middleware =>
  async (ctx, next) => {
    try {
      await next()
    } catch (error) {
      reply(ctx, rescue(error))
    }
  }

const pathIn = (path: string): string => path.replace("/*", "{/*rest}").replace(/\/:(\w+)\?$/, "{/:$1}")

const overriding: Koa.Middleware = (ctx, next) => {
  ctx.method = ctx.get("x-method") || ctx.method
  return next()
}

const closedShop = { ready: () => Promise.resolve(), close: () => Promise.resolve() }

/** Koa with this manner of selling. */
export const make = (version: 2 | 3, manner: "a gate in front" | "a gate inside" | "steps"): HostLaws.HostSubject => ({
  keepsReceiptOnErrors: true,
  open: async ({ discovery, headers, limit, overridesMethod, prefix, rescue, routes, shop, sold }) => {
    const steps = sold === undefined || manner !== "steps" ? undefined : paymentRoutes(shop)
    const app = new versions[version]()
    if (headers !== undefined) app.use(headed(headers))
    if (limit !== undefined) {
      app.use(({ res }, next) => {
        limit(() => void res.writeHead(503).end("too late"))
        return next()
      })
    }
    if (rescue !== undefined) app.use(rescued(rescue))
    const inside = manner === "a gate inside"
    const router = new Router(inside && prefix !== undefined ? { prefix } : {})
    for (const route of routes) {
      const key = HostLaws.keyOf(route, prefix)
      const paid = steps === undefined || sold?.[key] === undefined ? [] : [steps.paid(sold[key], key)]
      router.register(pathIn(route.path), [route.method], [...paid, handlerOf(route)])
    }
    const isMap = sold !== undefined && manner !== "steps"
    const gate = isMap
      ? paymentMiddleware({ ...shop, routes: sold, ...(discovery && { discovery }), ...(inside && { router }) })
      : undefined
    if (gate !== undefined) app.use(gate)
    if (overridesMethod === true) app.use(overriding)
    if (prefix === undefined || inside) app.use(router.routes())
    else {
      const mounted = new versions[version]()
      mounted.use(router.routes())
      app.use(mount(prefix, mounted))
    }
    const server = await serve(app)
    const { close, ready } = gate ?? steps ?? closedShop
    return {
      port: server.port,
      ready,
      close: async () => {
        await server.close()
        await close()
      }
    }
  }
})
