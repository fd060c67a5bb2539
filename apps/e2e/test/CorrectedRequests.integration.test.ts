import { createServer, type IncomingMessage } from "node:http"

import { assert, describe, it } from "@effect/vitest"
import { Router } from "@koa/router"
import {
  Body,
  Controller,
  Get,
  HttpCode,
  HttpException,
  Inject,
  Module,
  NotFoundException,
  Param,
  ParseIntPipe,
  Post
} from "@nestjs/common"
import { NestFactory } from "@nestjs/core"
import type { Validate } from "@pontage/core"
import { exactEvm } from "@pontage/evm"
import { settlementOf, wrapFetch } from "@pontage/fetch"
import { paymentMiddleware } from "@pontage/koa"
import { Paid, PaymentModule, PaymentRoutes } from "@pontage/nestjs"
import * as Effect from "effect/Effect"
import Koa from "koa"

import { listen } from "./OpenServer.ts"
import * as TestMarket from "./TestMarket.ts"

/** Results of a shop's handlers, in order. */
interface Counter {
  readonly origin: string
  readonly served: Array<unknown>
  /** Number of further prints that fail. */
  failuresLeft: number
}

type Told = TestMarket.TestMarket["told"]

const termsOf = ({ payTo }: Told) => ({ network: "eip155:31337", price: "$0.01", payTo }) as const

const validate: Validate = ({ path }) =>
  path.endsWith("/nowhere") ? { status: 422, message: "no city of this name can be" } : undefined

const textOf = async (request: IncomingMessage): Promise<string> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(Buffer.from(chunk as Uint8Array))
  return Buffer.concat(chunks).toString()
}

/** Cities by name, numbers, and prints of what is posted, on Koa. */
const koa = Effect.fnUntraced(function* (told: Told) {
  const counter: Omit<Counter, "origin"> = { served: [], failuresLeft: 0 }
  const router = new Router()
  router.get("/cities/:name", (context) => {
    const { name } = context["params"] as { readonly name: string }
    if (name === "atlantis") context.throw(404, "sunk")
    if (name === "troy") {
      context.status = 410
      return
    }
    context.body = { city: name }
    counter.served.push(name)
  })
  router.get("/numbers/:value", (context) => {
    const value = Number((context["params"] as { readonly value: string }).value)
    if (!Number.isInteger(value)) context.throw(400, "no number")
    context.body = { value }
    counter.served.push(value)
  })
  router.post("/prints", async (context) => {
    const page: unknown = JSON.parse(await textOf(context.req))
    if (counter.failuresLeft-- > 0) throw new Error("the printer is on fire, as the test asked")
    counter.served.push(page)
    context.body = { printed: page }
  })
  const server = createServer()
  const origin = yield* listen(server)
  const { facilitator, rpcUrl, secret } = told
  const terms = termsOf(told)
  const payment = paymentMiddleware({
    origin,
    facilitator,
    secret,
    schemes: [exactEvm.server({ rpcUrl })],
    router,
    routes: {
      "GET /cities/:name": { ...terms, validate },
      "GET /numbers/:value": terms,
      "POST /prints": { ...terms, bind: "body" }
    }
  })
  const app = new Koa()
  app.silent = true
  app.use(payment).use(router.routes())
  server.on("request", app.callback())
  yield* Effect.addFinalizer(() => Effect.promise(() => payment.close()))
  yield* Effect.promise(() => payment.ready())
  return Object.assign(counter, { origin }) satisfies Counter
})

/** The same on NestJS over Express. */
const nest = Effect.fnUntraced(function* (told: Told) {
  const counter: Omit<Counter, "origin"> = { served: [], failuresLeft: 0 }
  const terms = termsOf(told)

  @Controller()
  class DeskController {
    readonly counter: Omit<Counter, "origin">
    constructor(@Inject("counter") given: Omit<Counter, "origin">) {
      this.counter = given
    }

    @Get("cities/:name")
    @Paid({ ...terms, validate })
    city(@Param("name") name: string) {
      if (name === "atlantis") throw new NotFoundException("sunk")
      if (name === "troy") throw new HttpException("burnt", 410)
      this.counter.served.push(name)
      return { city: name }
    }

    @Get("numbers/:value")
    @Paid(terms)
    number(@Param("value", ParseIntPipe) value: number) {
      this.counter.served.push(value)
      return { value }
    }

    @Post("prints")
    @HttpCode(200)
    @Paid({ ...terms, bind: "body" })
    print(@Body() page: unknown) {
      if (this.counter.failuresLeft-- > 0) throw new Error("the printer is on fire, as the test asked")
      this.counter.served.push(page)
      return { printed: page }
    }
  }

  const probe = createServer()
  const origin = yield* Effect.scoped(listen(probe))
  const { facilitator, rpcUrl, secret } = told
  const options = { origin, facilitator, secret, schemes: [exactEvm.server({ rpcUrl })] }

  @Module({
    imports: [PaymentModule.forRoot(options)],
    controllers: [DeskController],
    providers: [{ provide: "counter", useValue: counter }]
  })
  class DeskModule {}

  yield* Effect.acquireRelease(
    Effect.promise(async () => {
      const app = await NestFactory.create(DeskModule, { logger: false, abortOnError: false })
      await app.listen(new URL(origin).port, "127.0.0.1")
      await app.get(PaymentRoutes).ready()
      return app
    }),
    (app) => Effect.promise(() => app.close())
  )
  return Object.assign(counter, { origin }) satisfies Counter
})

const shops = [
  ["Koa", koa],
  ["NestJS", nest]
] as const

/** A buyer whose payment headers are kept, to be sent again by hand. */
const buyerOf = (signer: Parameters<typeof exactEvm.client>[0]["signer"]) => {
  const sent: Array<string> = []
  const recording: typeof fetch = (input, init) => {
    const header = new Headers(init?.headers).get("x-payment")
    if (header !== null) sent.push(header)
    return fetch(input, init)
  }
  const paying = wrapFetch(recording, { schemes: [exactEvm.client({ signer, network: "eip155:31337" })] })
  const get = (url: string, init?: RequestInit) =>
    Effect.promise(async () => {
      const response = await paying(url, init)
      await response.arrayBuffer()
      return { status: response.status, transaction: settlementOf(response)?.transaction }
    })
  return { get, sent }
}

const cent = 10_000n

const post = (page: number, headers = {}) => ({
  method: "POST",
  headers: { "content-type": "application/json", ...headers },
  body: JSON.stringify({ page })
})

describe.each(shops)("a %s shop that refuses a paid request", (_, open) => {
  it.live.each([
    ["a thrown 404", "/cities/atlantis", 404, "/cities/rome", "rome"],
    ["a 410", "/cities/troy", 410, "/cities/rome", "rome"],
    ["an invalid parameter", "/numbers/one", 400, "/numbers/1", 1]
  ] as const)("takes the same payment for the corrected one after %s", ([, wrong, status, right, product]) =>
    TestMarket.within(1, ({ chain, told }) =>
      Effect.gen(function* () {
        const shop = yield* open(told)
        const { get, sent } = buyerOf(chain.accounts.payers[0])
        const refused = yield* get(`${shop.origin}${wrong}`)
        const served = yield* get(`${shop.origin}${right}`)
        assert.deepStrictEqual([refused.status, served.status], [status, 200])
        assert.isDefined(served.transaction)
        assert.strictEqual(served.transaction, refused.transaction)
        assert.strictEqual(new Set(sent).size, 1)
        assert.deepStrictEqual(shop.served, [product])
        assert.strictEqual(yield* chain.balanceOf(chain.accounts.payee.address), cent)
        assert.strictEqual((yield* get(`${shop.origin}${right}`)).status, 200)
        assert.strictEqual(yield* chain.balanceOf(chain.accounts.payee.address), 2n * cent)
      })
    )
  )

  it.live("takes a payment for other requests of its route until one is served, and for none of another route", () =>
    TestMarket.within(1, ({ chain, told }) =>
      Effect.gen(function* () {
        const shop = yield* open(told)
        const { get, sent } = buyerOf(chain.accounts.payers[0])
        yield* get(`${shop.origin}/cities/atlantis`)
        const [header = ""] = sent
        const show = (path: string) =>
          Effect.promise(async () => {
            const response = await fetch(`${shop.origin}${path}`, { headers: { "x-payment": header } })
            await response.arrayBuffer()
            return response.status
          })
        assert.strictEqual(yield* show("/numbers/1"), 409)
        const paths = ["troy", "atlantis", "rome", "paris", "atlantis"].map((name) => `/cities/${name}`)
        assert.deepStrictEqual(yield* Effect.forEach(paths, show), [410, 404, 200, 409, 409])
        assert.deepStrictEqual(shop.served, ["rome"])
        assert.strictEqual(yield* chain.balanceOf(chain.accounts.payee.address), cent)
      })
    )
  )

  it.live("demands no payment for a request that it refuses by itself", () =>
    TestMarket.within(1, ({ chain, told }) =>
      Effect.gen(function* () {
        const shop = yield* open(told)
        const { get, sent } = buyerOf(chain.accounts.payers[0])
        assert.strictEqual((yield* get(`${shop.origin}/cities/nowhere`)).status, 422)
        assert.deepStrictEqual(sent, [])
        assert.strictEqual(yield* chain.balanceOf(chain.accounts.payee.address), 0n)
      })
    )
  )

  it.live("prints the page that a payment was made for, and no other, where the body is bound", () =>
    TestMarket.within(1, ({ chain, told }) =>
      Effect.gen(function* () {
        const shop = yield* open(told)
        const { get, sent } = buyerOf(chain.accounts.payers[0])
        shop.failuresLeft = 1
        assert.strictEqual((yield* get(`${shop.origin}/prints`, post(1))).status, 500)
        const [header = ""] = sent
        const show = (page: number) =>
          Effect.promise(async () => {
            const response = await fetch(`${shop.origin}/prints`, post(page, { "x-payment": header }))
            return response.status
          })
        assert.deepStrictEqual([yield* show(2), yield* show(1), yield* show(1)], [409, 200, 409])
        assert.deepStrictEqual(shop.served, [{ page: 1 }])
        assert.strictEqual(yield* chain.balanceOf(chain.accounts.payee.address), cent)
      })
    )
  )
})
