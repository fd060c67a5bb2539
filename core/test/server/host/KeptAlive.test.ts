/** A host stays alive behind a response (`waitUntil` of Workers) by a promise. The gate gives it once, before the handler, and every end of a paid execution resolves it. */
import { assert, describe, it } from "vitest"

import * as SoldRoutes from "../../../src/server/host/SoldRoutes.ts"
import * as WebExchange from "../../../src/server/host/WebExchange.ts"
import type { RouteConfig } from "../../../src/server/route/RouteConfig.ts"
import * as HostMarket from "../../../src/testing/host/HostMarket.ts"

type Order = NonNullable<RouteConfig["settle"]>

const open = async (settle: Order) => {
  const market = HostMarket.open()
  const { close, keyed, ready, seller } = SoldRoutes.open({
    ...market.shop,
    routes: { "GET /report": { ...HostMarket.terms, settle } }
  })
  await ready()
  const works: Array<Promise<unknown>> = []
  const waitUntil = (work: Promise<unknown>) => void works.push(work)
  const ask = (request: Request, handle: () => Response | Promise<Response>) =>
    WebExchange.respond(seller, keyed[0]?.route ?? assert.fail("the shop has no route"), {
      request,
      beside: [{}, { waitUntil }],
      facts: {},
      handle
    })
  const refusal = await ask(new Request("https://shop.example/report"), () => assert.fail("the handler ran"))
  const payment = await market.pay({
    status: refusal.status,
    headers: Object.fromEntries(refusal.headers),
    body: await refusal.text(),
    complete: true
  })
  const buy = (handle: () => Response | Promise<Response>, signal?: AbortSignal) =>
    ask(new Request("https://shop.example/report", { headers: payment, signal: signal ?? null }), handle)
  return { market, buy, close, works }
}

const served = () => new Response("It will rain.")

describe.each(["before-handler", "after-handler"] as const)("a host that stays alive for reports (%s)", (settle) => {
  it("is asked before the handler runs, once, and for no request without a payment", async () => {
    const { buy, close, market, works } = await open(settle)
    assert.strictEqual(works.length, 0)
    let asked: number | undefined
    const response = await buy(() => {
      asked = works.length
      return served()
    })
    assert.strictEqual(asked, 1)
    assert.strictEqual(await response.text(), "It will rain.")
    await works[0]
    assert.strictEqual(await market.nextEnd(), "served")
    assert.strictEqual(works.length, 1)
    await close()
  })

  it.each([
    ["without a body", () => new Response(null, { status: 204 })],
    ["with an error", () => new Response("broken", { status: 500 })],
    ["that refuses", () => new Response("not here", { status: 404 })]
  ])("is let go by a response %s", async (_, handle) => {
    const { buy, close, works } = await open(settle)
    await (await buy(handle)).text()
    await works[0]
    assert.strictEqual(works.length, 1)
    await close()
  })

  it("is let go by a handler that throws", async () => {
    const { buy, close, market, works } = await open(settle)
    const broken = new Error("broken")
    const error = await buy(() => Promise.reject(broken)).catch((thrown: unknown) => thrown)
    assert.strictEqual(error, broken)
    await works[0]
    assert.strictEqual(await market.nextEnd(), "failed")
    await close()
  })

  it("is let go by a client that left before the handler", async () => {
    const { buy, close, market, works } = await open(settle)
    assert.strictEqual((await buy(served, AbortSignal.abort())).status, 503)
    await works[0]
    assert.strictEqual(await market.nextEnd(), "notRun")
    await close()
  })
})

describe("a host that stays alive for reports", () => {
  it("is let go by a settlement that is refused after the handler", async () => {
    const { buy, close, market, works } = await open("after-handler")
    const response = await buy(() => {
      market.ledger.faults.down = true
      return served()
    })
    assert.isAtLeast(response.status, 400)
    await works[0]
    await close()
  })

  it("whose means throws gets its response, and its end is reported", async () => {
    const { close, market, buy, works } = await open("before-handler")
    works.push = () => {
      throw new Error("no work outside of a request")
    }
    assert.strictEqual(await (await buy(served)).text(), "It will rain.")
    assert.strictEqual(await market.nextEnd(), "served")
    await close()
  })
})
