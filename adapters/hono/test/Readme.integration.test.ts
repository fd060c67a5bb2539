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
        const { app, payment } = open(settings)
        return { listener: getRequestListener(app.fetch), ready: payment.ready, close: payment.close }
      })
    ))
})
