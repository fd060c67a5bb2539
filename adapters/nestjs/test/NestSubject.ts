/** Nest as a host for the laws, on Express and on Fastify, with a map of routes. */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { Readable } from "node:stream"

import {
  type ArgumentsHost,
  Catch,
  Controller,
  type DynamicModule,
  Get,
  Module,
  Post,
  Req,
  Res,
  StreamableFile
} from "@nestjs/common"
import { HttpAdapterHost, NestFactory } from "@nestjs/core"
import { ExpressAdapter } from "@nestjs/platform-express"
import { FastifyAdapter, type NestFastifyApplication } from "@nestjs/platform-fastify"
import type { HostLaws } from "@pontage/core/testing"

import { PaymentModule, PaymentRoutes } from "../src/index.ts"
import { PaymentExchange } from "../src/payment.exchange.ts"
import type { HostRequest } from "../src/payment.http.ts"

type SeenByHost = HostRequest & { readonly query: Record<string, unknown> }

interface ResponseOfHost {
  readonly status: (status: number) => unknown
  readonly header: (name: string, value: string) => unknown
}

const bodyOf = async (request: HostRequest): Promise<string> => {
  if (typeof request.body === "string") return request.body
  const node: IncomingMessage = "raw" in request ? request.raw : request
  const chunks: Array<Buffer> = []
  for await (const chunk of node) chunks.push(Buffer.from(chunk as Uint8Array))
  return Buffer.concat(chunks).toString()
}

const seenBy = (request: SeenByHost): HostLaws.SeenRequest => ({
  params: request.params as Record<string, string>,
  query: { ...request.query },
  body: () => bodyOf(request),
  receipt: () => PaymentExchange.of(request)?.settlement
})

const reply = (response: ResponseOfHost, { body, headers = {}, status = 200 }: HostLaws.HandlerReply): unknown => {
  response.status(status)
  for (const [name, value] of Object.entries(headers)) response.header(name, value)
  return body === undefined || typeof body === "string" ? body : new StreamableFile(Readable.from(body))
}

/** Nest has no optional parameters on both hosts. */
const pathIn = (host: "Express" | "Fastify", path: string): string =>
  (host === "Express" ? path.replace("*", "*rest") : path).replace(/\?$/, "")

/** A controller with one method for each route. */
const controllerOf = (host: "Express" | "Fastify", routes: HostLaws.TrialApplication["routes"]) => {
  @Controller()
  class TrialController {}
  for (const [index, { handler, method, path }] of routes.entries()) {
    const name = `handle${index}`
    const run = async (request: SeenByHost, response: ResponseOfHost) => reply(response, await handler(seenBy(request)))
    Object.defineProperty(TrialController.prototype, name, { value: run, writable: true, configurable: true })
    Req()(TrialController.prototype, name, 0)
    Res({ passthrough: true })(TrialController.prototype, name, 1)
    const sold = method === "GET" ? Get : Post
    const descriptor = Object.getOwnPropertyDescriptor(TrialController.prototype, name)
    sold(pathIn(host, path))(TrialController.prototype, name, descriptor ?? {})
  }
  return TrialController
}

const moduleOf = (
  host: "Express" | "Fastify",
  { discovery, routes, shop, sold }: HostLaws.TrialApplication
): DynamicModule => {
  @Module({})
  class TrialModule {}
  return {
    module: TrialModule,
    imports:
      sold === undefined ? [] : [PaymentModule.forRoot({ ...shop, routes: sold, ...(discovery && { discovery }) })],
    controllers: [controllerOf(host, routes)]
  }
}

const rescuing = (rescue: (error: unknown) => HostLaws.HandlerReply) => {
  class Rescue {
    readonly #host: HttpAdapterHost
    constructor(host: HttpAdapterHost) {
      this.#host = host
    }
    catch(error: unknown, host: ArgumentsHost) {
      const { body, status = 200 } = rescue(error)
      this.#host.httpAdapter.reply(host.switchToHttp().getResponse(), body, status)
    }
  }
  Catch()(Rescue)
  return Rescue
}

/** Nest on this host. */
export const make = (host: "Express" | "Fastify"): HostLaws.HostSubject => ({
  keepsReceiptOnErrors: true,
  open: async (application) => {
    const { headers, limit, prefix, rescue, sold } = application
    const adapter = host === "Express" ? new ExpressAdapter() : new FastifyAdapter({ forceCloseConnections: true })
    const app = await NestFactory.create<NestFastifyApplication>(
      moduleOf(host, application),
      adapter as FastifyAdapter,
      {
        logger: false,
        forceCloseConnections: true
      }
    )
    if (prefix !== undefined) app.setGlobalPrefix(prefix)
    if (headers !== undefined) {
      app.use((_request: unknown, response: { setHeader: (name: string, value: string) => void }, next: () => void) => {
        for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
        next()
      })
    }
    if (limit !== undefined) {
      app.use((_request: unknown, response: ServerResponse, next: () => void) => {
        limit(() => void response.writeHead(503).end("too late"))
        next()
      })
    }
    if (rescue !== undefined) app.useGlobalFilters(new (rescuing(rescue))(app.get(HttpAdapterHost)))
    await app.listen(0, "127.0.0.1")
    return {
      port: (app.getHttpServer().address() as AddressInfo).port,
      ready: async () => {
        if (sold !== undefined) await app.get(PaymentRoutes).ready()
      },
      close: () => app.close()
    }
  }
})
