import { getRequestListener } from "@hono/node-server"
import { assert, describe, it } from "vitest"

import * as ReadmeMarket from "./ReadmeMarket.ts"
import { open } from "./ReadmeShop.ts"

describe("the README", () => {
  it("shows the sample that is run here", () => {
    assert.isTrue(ReadmeMarket.isShown(import.meta.url))
  })

  it("sells on a chain to the paying fetch", async () => {
    const amount = await ReadmeMarket.buyFrom((settings) => {
      const shop = open(settings)
      return { listener: getRequestListener(shop), ready: shop.ready, close: shop.close }
    })
    assert.strictEqual(amount, "10000")
  })
})
