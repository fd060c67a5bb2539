import { createServer } from "node:http"

import { assert, describe, it } from "@effect/vitest"
import { Misconfigured } from "@pontage/core"
import { exactEvm } from "@pontage/evm"
import { EvmTestChain } from "@pontage/evm/testing"
import { paymentMiddleware } from "@pontage/koa"
import * as Effect from "effect/Effect"
import Koa from "koa"

import * as FaultyFront from "./FaultyFront.ts"
import { listen } from "./OpenServer.ts"
import { signOnly } from "./TestBuyer.ts"
import * as TestMarket from "./TestMarket.ts"
import * as TestShops from "./TestShops.ts"

const troubles: ReadonlyArray<readonly [string, FaultyFront.Fault]> = [
  ["refuses", FaultyFront.rpcResponse({ error: { code: -32_603, message: "internal error" } })],
  ["answers HTML", FaultyFront.page(200)],
  ["responds with 502", FaultyFront.page(502)],
  ["responds with an unexpected result", FaultyFront.rpcResponse({ result: { surprise: true } })],
  ["breaks the connection", FaultyFront.broken],
  ["hangs", FaultyFront.silence]
]

/** A Koa shop that is open, whatever its chain says; the others in these tests wait until they are on sale. */
const openShop = Effect.fnUntraced(function* ({ payTo, rpcUrl, ...told }: TestMarket.TestMarket["told"]) {
  let served = 0
  const server = createServer()
  const origin = yield* listen(server)
  const payment = paymentMiddleware({
    ...told,
    origin,
    schemes: [exactEvm.server({ rpcUrl })],
    routes: { "GET /report": { network: "eip155:31337", price: "$0.01", payTo } }
  })
  const app = new Koa().use(payment).use((context) => {
    context.body = { served: ++served }
  })
  server.on("request", app.callback())
  yield* Effect.addFinalizer(() => Effect.promise(() => payment.close()))
  const ask = (headers: Record<string, string> = {}) =>
    Effect.promise(async () => {
      const response = await fetch(`${origin}/report`, { headers })
      return { status: response.status, retryAfter: response.headers.get("retry-after"), body: await response.text() }
    })
  return { ask, origin, payment, served: () => served }
})

/** Until the node was asked. */
const untilAsked = (front: FaultyFront.FaultyFront): Effect.Effect<void> =>
  Effect.suspend(() => (front.asked() > 0 ? Effect.void : Effect.andThen(Effect.sleep("5 millis"), untilAsked(front))))

describe("a shop that opens on a node in trouble", () => {
  it.live.each(troubles)("that %s is closed: 503 with or without a payment", ([, fault]) =>
    TestMarket.within(1, ({ chain, told }) =>
      Effect.gen(function* () {
        const good = yield* openShop(told)
        yield* Effect.promise(() => good.payment.ready())
        const header = yield* Effect.promise(() => signOnly(`${good.origin}/report`, chain.accounts.payers[0]))
        const front = yield* FaultyFront.make(told.rpcUrl)
        front.spoil(fault)
        const shop = yield* openShop({ ...told, rpcUrl: front.url })
        yield* untilAsked(front)
        for (const headers of [{}, { "x-payment": header }]) {
          const { body, retryAfter, status } = yield* shop.ask(headers)
          assert.strictEqual(status, 503)
          assert.match(retryAfter ?? "", /^\d+$/)
          assert.include(body, '"detail":"not_ready"')
        }
        assert.strictEqual(shop.served(), 0)
      })
    )
  )

  it.live("that recovers is on sale", () =>
    TestMarket.within(1, ({ told }) =>
      Effect.gen(function* () {
        const front = yield* FaultyFront.make(told.rpcUrl)
        front.spoil(FaultyFront.page(502))
        const shop = yield* openShop({ ...told, rpcUrl: front.url })
        yield* untilAsked(front)
        assert.strictEqual((yield* shop.ask()).status, 503)
        front.mend()
        yield* Effect.promise(() => shop.payment.ready())
        assert.strictEqual((yield* shop.ask()).status, 402)
      })
    )
  )

  it.live("that says it is another chain stays closed and says what is wrong", () =>
    TestMarket.within(1, ({ told }) =>
      Effect.gen(function* () {
        const front = yield* FaultyFront.make(told.rpcUrl)
        front.spoil(FaultyFront.rpcResponse({ result: "0x1" }))
        const shop = yield* openShop({ ...told, rpcUrl: front.url })
        const mistake: unknown = yield* Effect.promise(() => shop.payment.ready().catch((error: unknown) => error))
        assert.instanceOf(mistake, Misconfigured)
        assert.match(mistake.message, /eip155:31337/)
        assert.strictEqual((yield* shop.ask()).status, 503)
        assert.strictEqual(shop.served(), 0)
      })
    )
  )
})

describe.each([
  ["Koa", TestShops.koa],
  ["NestJS", TestShops.nest]
] as const)("a %s shop whose facilitator's node falls into trouble", (_, open) => {
  it.live("responds with 503, runs nothing, calls no payment bad, and serves the same payment afterwards", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.make({ payers: 1 })
        const front = yield* FaultyFront.make(chain.rpcUrl)
        const { told } = yield* TestMarket.around(chain, front.url, 500)
        const shop = yield* open(told)
        const url = `${shop.origin}/report`
        const header = yield* Effect.promise(() => signOnly(url, chain.accounts.payers[0]))
        const send = Effect.promise(() => fetch(url, { headers: { "x-payment": header } }))
        for (const [name, fault] of troubles) {
          front.spoil(fault)
          const response = yield* send
          const body = yield* Effect.promise(() => response.text())
          assert.strictEqual(response.status, 503, `${name}: ${body}`)
          assert.match(response.headers.get("retry-after") ?? "", /^\d+$/, name)
          assert.include(body, '"retry":"same_payment"', name)
          assert.notMatch(body, /"(code|reason)":/, name)
          assert.isAbove(front.asked(), 0, name)
        }
        assert.strictEqual(shop.handlers.reports, 0)
        front.mend()
        // A good node may be slower than its half second, too.
        const sold = yield* Effect.repeat(send, { until: ({ status }) => status !== 503 })
        assert.strictEqual(sold.status, 200)
        assert.strictEqual(shop.handlers.reports, 1)
        assert.strictEqual(yield* chain.balanceOf(chain.accounts.payee.address), 10_000n)
      })
    )
  )

  it.live("serves a payment that is on record, and refuses one that was spent", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.make({ payers: 1 })
        const front = yield* FaultyFront.make(chain.rpcUrl)
        const { told } = yield* TestMarket.around(chain, front.url)
        const shop = yield* open(told)
        shop.handlers.failuresLeft = 1
        const url = `${shop.origin}/flaky`
        const header = yield* Effect.promise(() => signOnly(url, chain.accounts.payers[0]))
        const send = Effect.promise(() => fetch(url, { headers: { "x-payment": header } }))
        assert.strictEqual((yield* send).status, 500)
        // The watch over the included transfer reads blocks meanwhile; a payment is judged by calls.
        const judged: Array<string> = []
        front.spoil((response, body) => {
          if (/"eth_(?:call|simulateV1)"/.test(body)) judged.push(body)
          FaultyFront.broken(response, body)
        })
        assert.strictEqual((yield* send).status, 200)
        assert.strictEqual((yield* send).status, 409)
        assert.deepStrictEqual(judged, [], "the record comes before the chain")
        assert.strictEqual(shop.handlers.attempts, 2)
      })
    )
  )
})
