/**
 * The same small shop on Koa and on NestJS, for tests of the whole flow: a report whose handler counts its runs, a report
 * whose handler fails as often as it is told to, and two servers that share nothing but their secret.
 */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

import { Router } from "@koa/router"
import { Controller, Get, Inject, Module } from "@nestjs/common"
import { NestFactory } from "@nestjs/core"
import type { Seller } from "@pontage/core"
import { type EvmAsset, exactEvm } from "@pontage/evm"
import { paymentMiddleware } from "@pontage/koa"
import { Paid, PaymentModule } from "@pontage/nestjs"
import * as Effect from "effect/Effect"
import Koa from "koa"

import type { ShopOptions } from "../src/ShopOptions.ts"
import { listen } from "./OpenServer.ts"

/** What a test sees of a handler, and how it makes it fail. */
export interface Handlers {
  /** How often `GET /report` ran. */
  reports: number
  /** How often `GET /flaky` ran. */
  attempts: number
  /** How many more runs of `GET /flaky` fail. */
  failuresLeft: number
}

/** A running shop. */
export interface TestShop {
  readonly origin: string
  readonly handlers: Handlers
}

/** Everything a shop is told but the origin, which it finds out itself unless it is given. */
export type Told = Pick<ShopOptions, "secret"> & {
  /** A node of the EVM chain, and who is paid on it. */
  readonly rpcUrl: string
  readonly payTo: string
  readonly origin?: string
  readonly facilitator: Seller.SellerOptions["facilitator"]
  /** A token to be paid in that only this shop knows. */
  readonly asset?: EvmAsset.CustomAsset
}

const network = "eip155:31337"

const schemesOf = (rpcUrl: string, asset: Told["asset"]) => [
  exactEvm.server({ rpcUrl, ...(asset !== undefined && { assets: [asset] }) })
]

const termsOf = (payTo: string, asset: Told["asset"]) => ({
  network,
  price: "$0.01",
  payTo,
  ...(asset !== undefined && { asset: asset.address })
})

const makeHandlers = (): Handlers => ({ reports: 0, attempts: 0, failuresLeft: 0 })

const report = (handlers: Handlers) => ({ reports: ++handlers.reports })

const flaky = (handlers: Handlers) => {
  handlers.attempts++
  if (handlers.failuresLeft-- > 0) throw new Error("the handler fails, as the test asked")
  return { attempts: handlers.attempts }
}

/** The shop on Koa. */
export const koa = Effect.fnUntraced(function* ({ asset, payTo, rpcUrl, ...told }: Told) {
  const handlers = makeHandlers()
  const router = new Router()
  router.get("/report", (context) => {
    context.body = report(handlers)
  })
  router.get("/flaky", (context) => {
    context.body = flaky(handlers)
  })
  const server = createServer()
  const own = yield* listen(server)
  const payment = paymentMiddleware({
    ...told,
    origin: told.origin ?? own,
    schemes: schemesOf(rpcUrl, asset),
    router,
    routes: {
      "GET /report": termsOf(payTo, asset),
      "GET /flaky": termsOf(payTo, asset)
    }
  })
  const app = new Koa()
  app.silent = true
  app.use(payment).use(router.routes())
  server.on("request", app.callback())
  yield* Effect.addFinalizer(() => Effect.promise(() => payment.close()))
  yield* Effect.promise(() => payment.ready())
  return { origin: own, handlers } satisfies TestShop
})

/** The shop on NestJS over Express. */
export const nest = Effect.fnUntraced(function* ({ asset, payTo, rpcUrl, ...told }: Told) {
  const handlers = makeHandlers()
  const price = termsOf(payTo, asset)
  const port = yield* freePort
  const own = `http://127.0.0.1:${port}`

  @Controller()
  class ReportController {
    readonly handlers: Handlers
    constructor(@Inject("handlers") given: Handlers) {
      this.handlers = given
    }

    @Get("report")
    @Paid(price)
    report() {
      return report(this.handlers)
    }

    @Get("flaky")
    @Paid(price)
    flaky() {
      return flaky(this.handlers)
    }
  }

  @Module({
    imports: [PaymentModule.forRoot({ ...told, origin: told.origin ?? own, schemes: schemesOf(rpcUrl, asset) })],
    controllers: [ReportController],
    providers: [{ provide: "handlers", useValue: handlers }]
  })
  class ShopModule {}

  yield* Effect.acquireRelease(
    Effect.promise(async () => {
      const app = await NestFactory.create(ShopModule, { logger: false, abortOnError: false })
      await app.listen(port, "127.0.0.1")
      return app
    }),
    (app) => Effect.promise(() => app.close())
  )
  yield* untilProven(own)
  return { origin: own, handlers } satisfies TestShop
})

/** A shop answers 503 until it has proven its wiring against the chain. */
const untilProven = (origin: string): Effect.Effect<void> =>
  Effect.promise(() => fetch(`${origin}/report`)).pipe(
    Effect.flatMap(({ status }) =>
      status === 503 ? Effect.andThen(Effect.sleep("10 millis"), untilProven(origin)) : Effect.void
    )
  )

const freePort = Effect.callback<number>((resume) => {
  const server = createServer()
  server.listen(0, "127.0.0.1", () => {
    const { port } = server.address() as AddressInfo
    server.close(() => resume(Effect.succeed(port)))
  })
})
