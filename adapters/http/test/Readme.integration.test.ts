import { getRequestListener } from "@hono/node-server"
import * as Effect from "effect/Effect"
import { describe, it } from "vitest"

import * as ReadmeMarket from "./ReadmeMarket.ts"
import { open } from "./ReadmeShop.ts"

describe("the README", () => {
  it("shows the sample that is run here", () => ReadmeMarket.demandSample(import.meta.url))

  it("sells on a chain to the paying fetch", () =>
    Effect.runPromise(
      ReadmeMarket.buyFrom((settings) => {
        const shop = open(settings)
        return { listener: getRequestListener(shop), ready: shop.ready, close: shop.close }
      })
    ))
})
