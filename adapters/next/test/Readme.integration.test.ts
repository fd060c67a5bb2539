import { getRequestListener } from "@hono/node-server"
import * as Effect from "effect/Effect"
import { describe, it } from "vitest"

import * as ReadmeMarket from "../../http/test/ReadmeMarket.ts"
import { open } from "./ReadmeShop.ts"

describe("the README", () => {
  it("shows the sample that is run here", () => ReadmeMarket.demandSample(import.meta.url))

  it("sells on a chain to the paying fetch", () =>
    Effect.runPromise(
      ReadmeMarket.buyFrom((settings) => {
        const { GET, shop } = open(settings)
        const context = { params: Promise.resolve({}) }
        const fetch = (request: Request) =>
          request.url.endsWith("/report") ? GET(request, context) : new Response("free")
        return { listener: getRequestListener(fetch), ready: shop.ready, close: shop.close }
      })
    ))
})
