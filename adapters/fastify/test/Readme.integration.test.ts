import { assert, describe, it } from "vitest"

import * as ReadmeMarket from "../../http/test/ReadmeMarket.ts"
import { open } from "./ReadmeShop.ts"

describe("the README", () => {
  it("shows the sample that is run here", () => {
    assert.isTrue(ReadmeMarket.isShown(import.meta.url))
  })

  it("sells on a chain to the paying fetch", async () => {
    const amount = await ReadmeMarket.buyFrom(async (settings) => {
      const { app, payment } = await open(settings)
      await app.ready()
      return {
        listener: (request, response) => app.routing(request, response),
        ready: payment.ready,
        close: () => app.close()
      }
    })
    assert.strictEqual(amount, "10000")
  })
})
