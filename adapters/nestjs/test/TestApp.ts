/**
 * A Nest application on a port of the loopback interface, on either host.
 */
import type { AddressInfo } from "node:net"

import type { INestApplication, ModuleMetadata } from "@nestjs/common"
import type { AbstractHttpAdapter } from "@nestjs/core"
import { ExpressAdapter } from "@nestjs/platform-express"
import { FastifyAdapter } from "@nestjs/platform-fastify"
import { Test } from "@nestjs/testing"

import { PaymentModule } from "../src/payment.module.ts"
import type { PaymentModuleOptions } from "../src/payment.options.ts"
import { PaymentRoutes } from "../src/payment.routes.ts"
import { shopOptions, TestFacilitator } from "./TestShop.ts"

/** A host that Nest runs on. */
export interface Host {
  readonly name: string
  readonly adapter: () => AbstractHttpAdapter
}

export const hosts: ReadonlyArray<Host> = [
  { name: "Express", adapter: () => new ExpressAdapter() },
  { name: "Fastify", adapter: () => new FastifyAdapter() }
]

/** Parts of an application beside the payment module. */
export interface AppParts extends Pick<ModuleMetadata, "controllers" | "imports" | "providers"> {
  readonly routes?: PaymentModuleOptions["routes"]
  /** The steps of `main.ts` before `listen`. */
  readonly prepare?: (app: INestApplication) => void
}

/** A running application. */
export interface RunningApp extends AsyncDisposable {
  readonly app: INestApplication
  readonly port: number
  readonly facilitator: TestFacilitator
  readonly fetch: (path: string, init?: RequestInit) => Promise<Response>
}

/** An application that has not been started. */
export const create = async (
  host: Host,
  { imports = [], prepare, routes, ...parts }: AppParts,
  facilitator = new TestFacilitator()
): Promise<INestApplication> => {
  const payments = PaymentModule.forRoot(shopOptions(facilitator, routes))
  return build(host, { ...parts, imports: [payments, ...imports], ...(prepare === undefined ? {} : { prepare }) })
}

/** An application that brings its own payment module, or none. */
export const build = async (host: Host, { prepare, ...parts }: Omit<AppParts, "routes">): Promise<INestApplication> => {
  const module = await Test.createTestingModule(parts).compile()
  const app = module.createNestApplication(host.adapter(), { logger: false })
  prepare?.(app)
  return app
}

/** Starts an application and waits until its routes are proven. */
export const start = async (host: Host, parts: AppParts): Promise<RunningApp> => {
  const facilitator = new TestFacilitator()
  const app = await create(host, parts, facilitator)
  const port = await listen(app)
  await app.get(PaymentRoutes).ready()
  return {
    app,
    port,
    facilitator,
    fetch: (path, init) => fetch(`http://127.0.0.1:${port}${path}`, init),
    [Symbol.asyncDispose]: () => app.close()
  }
}

/** Listens on a free port. */
export const listen = async (app: INestApplication): Promise<number> => {
  await app.listen(0, "127.0.0.1")
  const address: AddressInfo = app.getHttpServer().address()
  return address.port
}
