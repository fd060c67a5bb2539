/** WebSockets on sold routes: their handlers write on the connection, and Koa's response sees nothing of it. */
import type Koa from "koa"
import { afterEach, assert, describe, it } from "vitest"

import * as FakeFacilitator from "../../../core/test/server/FakeFacilitator.ts"
import * as UpgradingClient from "../../../core/test/server/UpgradingClient.ts"
import * as KoaShop from "./KoaShop.ts"

const { paid } = KoaShop

const closing: Array<() => Promise<void>> = []
afterEach(async () => {
  UpgradingClient.closeAll()
  await Promise.all(closing.splice(0).map((close) => close()))
})

const open: typeof KoaShop.open = async (...parameters) => {
  const shop = await KoaShop.open(...parameters)
  closing.push(shop.close)
  return shop
}

/** Takes the connection, as `koa-easy-ws` does. */
const taking: Koa.Middleware = (ctx) => {
  ctx.respond = false
  UpgradingClient.upgrade(ctx.req.socket)
}

const asks = (shop: KoaShop.KoaShop) => shop.facilitator.told.map(({ ask }) => ask)

describe("a WebSocket", () => {
  it("costs what the route costs", async () => {
    const shop = await open(taking)
    assert.strictEqual((await UpgradingClient.ask(shop.port, "/report")).status, 402)
  })

  it.each([undefined, "same"] as const)("is served when it opens, also with repeat: %s", async (repeat) => {
    const shop = await open(taking, repeat && { repeat })
    const socket = await UpgradingClient.ask(shop.port, "/report", paid)
    assert.strictEqual(socket.status, 101)
    assert.strictEqual(socket.text, "goods")
    // The connection is still there.
    assert.strictEqual(await shop.facilitator.nextEnd(), "served")
    await socket.close()
    assert.deepStrictEqual(FakeFacilitator.outcomes(shop.facilitator.told), ["served"])
  })

  it("is owed where its handler has not opened it", async () => {
    const shop = await open((ctx) => ctx.throw(503))
    assert.strictEqual((await UpgradingClient.ask(shop.port, "/report", paid)).status, 503)
    assert.strictEqual(await shop.facilitator.nextEnd(), "failed")
  })

  // `ws` opens a WebSocket without the header `Connection` too.
  it.each([{}, { connection: "keep-alive" }])(
    "cannot be charged after its handler: it is refused before, %o",
    async (headers) => {
      let runs = 0
      const shop = await open(
        (ctx, next) => {
          runs++
          return taking(ctx, next)
        },
        { settle: "after-handler" }
      )
      const { status, text } = await UpgradingClient.ask(shop.port, "/report", { ...paid, ...headers })
      assert.strictEqual(status, 500)
      assert.match(text, /WebSocket/)
      assert.strictEqual(runs, 0)
      assert.strictEqual(await shop.facilitator.nextEnd(), "notRun")
      assert.notInclude(asks(shop), "settle")
    }
  )
})

describe("another protocol", () => {
  it("that a handler begins before its payment has settled is cut off", async () => {
    const shop = await open(taking, { settle: "after-handler" })
    const { text } = await UpgradingClient.ask(shop.port, "/report", paid, "raw")
    assert.strictEqual(text, "")
    assert.strictEqual(await shop.facilitator.nextEnd(), "failed")
    assert.notInclude(asks(shop), "settle")
  })

  it.each(["before-handler", "after-handler"] as const)("that is not taken up changes nothing, %s", async (settle) => {
    const shop = await open((ctx) => void (ctx.body = "the report"), { settle })
    const { status, text } = await UpgradingClient.ask(shop.port, "/report", paid, "h2c")
    assert.strictEqual(status, 200)
    assert.strictEqual(text, "the report")
    assert.strictEqual(await shop.facilitator.nextEnd(), "served")
  })
})
