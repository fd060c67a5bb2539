/**
 * The same small shop on Koa and on NestJS, for tests of the whole flow: a report whose handler counts its runs, a report
 * whose handler fails as often as it is told to, and two servers that share nothing but their secret.
 */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

import { Router } from "@koa/router"
import { Controller, Get, Inject, Module } from "@nestjs/common"
import { NestFactory } from "@nestjs/core"
import type { SchemeServer, Seller } from "@pontage/core"
import type { ShopOptions } from "@pontage/demo/ShopOptions"
import { type EvmAsset, exactEvm } from "@pontage/evm"
import { paymentMiddleware } from "@pontage/koa"
import { Paid, PaymentModule } from "@pontage/nestjs"
import * as Effect from "effect/Effect"
import Koa from "koa"

import { listen } from "./OpenServer.ts"

/** Counts of a handler's runs, and its planned failures. */
export interface Handlers {
  /** Runs of `GET /report`. */
  reports: number
  /** Runs of `GET /flaky`. */
  attempts: number
  /** Number of further runs of `GET /flaky` that fail. */
  failuresLeft: number
  /** Called whenever `GET /report` runs. */
  onReport: () => void
}

/** A running shop. */
export interface TestShop {
  readonly origin: string
  readonly handlers: Handlers
}

/** One way to pay a shop: on which chain, by which scheme. */
export interface PaymentWay {
  readonly network: string
  readonly payTo: string
  readonly scheme: SchemeServer
}

/** Everything a shop is told but the origin, which it finds out itself unless it is given. */
export type Told = Pick<ShopOptions, "secret"> & {
  readonly origin?: string
  readonly facilitator: Seller.SellerOptions["facilitator"]
} & (OnEvm | { readonly ways: ReadonlyArray<PaymentWay> })

/** The usual way: on the EVM chain. */
interface OnEvm {
  /** A node of the EVM chain, and who is paid on it. */
  readonly rpcUrl: string
  readonly payTo: string
  /** A token to be paid in that only this shop knows. */
  readonly asset?: EvmAsset.CustomAsset
}

/** The longest validity that our client signs: a slow machine is to let no payment of a test expire. */
const maxTimeoutSeconds = 120

/** Options of both shops: a cent for each route, on every chain. */
const wiringOf = (told: Told) => {
  const { facilitator, secret } = told
  if ("ways" in told) {
    const accepts = told.ways.map(({ network, payTo }) => ({ scheme: "exact", network, price: "$0.01", payTo }))
    return {
      options: { facilitator, secret, schemes: told.ways.map(({ scheme }) => scheme) },
      terms: { accepts, maxTimeoutSeconds }
    }
  }
  const { asset, payTo, rpcUrl } = told
  const schemes = [exactEvm.server({ rpcUrl, ...(asset !== undefined && { assets: [asset] }) })]
  const only = { network: "eip155:31337", price: "$0.01", payTo, maxTimeoutSeconds }
  return {
    options: { facilitator, secret, schemes },
    terms: { ...only, ...(asset !== undefined && { asset: asset.address }) }
  }
}

const makeHandlers = (): Handlers => ({ reports: 0, attempts: 0, failuresLeft: 0, onReport: () => undefined })

const report = (handlers: Handlers) => {
  handlers.onReport()
  return { reports: ++handlers.reports }
}

const flaky = (handlers: Handlers) => {
  handlers.attempts++
  if (handlers.failuresLeft-- > 0) throw new Error("the handler fails, as the test asked")
  return { attempts: handlers.attempts }
}

/** The shop on Koa. */
export const koa = Effect.fnUntraced(function* (told: Told) {
  const handlers = makeHandlers()
  const { options, terms } = wiringOf(told)
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
    ...options,
    origin: told.origin ?? own,
    router,
    routes: { "GET /report": terms, "GET /flaky": terms }
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
export const nest = Effect.fnUntraced(function* (told: Told) {
  const handlers = makeHandlers()
  const { options, terms } = wiringOf(told)
  const port = yield* freePort
  const own = `http://127.0.0.1:${port}`

  @Controller()
  class ReportController {
    readonly handlers: Handlers
    constructor(@Inject("handlers") given: Handlers) {
      this.handlers = given
    }

    @Get("report")
    @Paid(terms)
    report() {
      return report(this.handlers)
    }

    @Get("flaky")
    @Paid(terms)
    flaky() {
      return flaky(this.handlers)
    }
  }

  @Module({
    imports: [PaymentModule.forRoot({ ...options, origin: told.origin ?? own })],
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

/** A shop responds with 503 until it has proven its wiring against the chain. */
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
