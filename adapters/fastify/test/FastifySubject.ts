/** Fastify as a host for the laws, with a map of routes or with a hook for each route. */
import type { AddressInfo } from "node:net"
import { Readable } from "node:stream"

import { HostLaws } from "@pontage/core/testing"
import fastify, { type FastifyInstance, type FastifyReply, type preHandlerHookHandler } from "fastify"

import { paymentPlugin, paymentRoutes, settlementOf } from "../src/index.ts"

const replyWith = (reply: FastifyReply, { body, headers = {}, status = 200 }: HostLaws.HandlerReply) =>
  reply
    .code(status)
    .headers(headers)
    .send(body === undefined || typeof body === "string" ? body : Readable.from(body))

const addRoutes = (
  app: FastifyInstance,
  { prefix = "", routes }: HostLaws.TrialApplication,
  paid: (key: string) => Array<preHandlerHookHandler>
) => {
  for (const route of routes) {
    const { handler, method, path } = route
    app.route<{ Params: Record<string, string>; Querystring: Record<string, unknown>; Body: unknown }>({
      method,
      url: path,
      preHandler: paid(HostLaws.keyOf(route, prefix)),
      handler: async (request, reply) =>
        replyWith(
          reply,
          await handler({
            params: request.params,
            query: request.query,
            body: async () => (typeof request.body === "string" ? request.body : ""),
            receipt: () => settlementOf(request)
          })
        )
    })
  }
}

const closedShop = { ready: () => Promise.resolve(), close: () => Promise.resolve() }

/** Fastify with this manner of selling. */
export const make = (manner: "map" | "steps"): HostLaws.HostSubject => ({
  keepsReceiptOnErrors: true,
  open: async (application) => {
    const { discovery, headers, limit, prefix, rescue, shop, sold } = application
    const app = fastify({ forceCloseConnections: true, bodyLimit: 4 * 1024 * 1024 })
    if (headers !== undefined) {
      app.addHook("onRequest", async (_request, reply) => {
        reply.headers(headers)
      })
    }
    if (limit !== undefined) {
      app.addHook("onRequest", async (_request, { raw }) => limit(() => void raw.writeHead(503).end("too late")))
    }
    if (application.overridesMethod === true) {
      app.addHook("onRequest", async ({ raw }) => {
        const method = raw.headers["x-method"]
        if (typeof method === "string") raw.method = method
      })
    }
    app.setErrorHandler((error: Error & { readonly statusCode?: number }, _request, reply) =>
      rescue === undefined
        ? reply.code(error.statusCode ?? 500).send({ error: "failed" })
        : replyWith(reply, rescue(error))
    )
    const isMap = sold !== undefined && manner === "map"
    const plugin = isMap ? paymentPlugin({ ...shop, routes: sold, ...(discovery && { discovery }) }) : undefined
    const steps = sold === undefined || isMap ? undefined : paymentRoutes(shop)
    if (plugin !== undefined) await app.register(plugin)
    const paid = (key: string) => (steps === undefined || sold?.[key] === undefined ? [] : [steps.paid(sold[key], key)])
    await app.register(async (child) => addRoutes(child, application, paid), { prefix: prefix ?? "" })
    await app.listen({ port: 0, host: "127.0.0.1" })
    const { ready } = plugin ?? steps ?? closedShop
    return {
      port: (app.server.address() as AddressInfo).port,
      ready,
      close: async () => {
        await app.close()
        await steps?.close()
      }
    }
  }
})
