import { getRequestListener } from "@hono/node-server"
import { assert, describe, it } from "vitest"

import * as ReadmeMarket from "../../http/test/ReadmeMarket.ts"
import { open } from "./ReadmeShop.ts"

describe("the README", () => {
  it("shows the sample that is run here", () => {
    assert.isTrue(ReadmeMarket.isShown(import.meta.url))
  })

  it("sells on a chain to the paying fetch", async () => {
    const amount = await ReadmeMarket.buyFrom((settings) => {
      const { GET, shop } = open(settings)
      const context = { params: Promise.resolve({}) }
      const fetch = (request: Request) =>
        request.url.endsWith("/report") ? GET(request, context) : new Response("free")
      return { listener: getRequestListener(fetch), ready: shop.ready, close: shop.close }
    })
    assert.strictEqual(amount, "10000")
  })
})
