/** Types that applications write against. Compiled by `npm run check` (`tsc -p adapters/koa/test`), never run. */
import type { SchemeServer } from "@pontage/core"
import { expectTypeOf } from "vitest"

import { paymentMiddleware, type PaymentOptions, paymentRoutes } from "../src/index.ts"

declare const scheme: SchemeServer

const shop = {
  origin: "https://shop.example",
  secret: "s".repeat(32),
  schemes: [scheme],
  facilitator: "https://facilitator.example"
}
const terms = { network: "eip155:8453", payTo: "0x1111111111111111111111111111111111111111" }

paymentMiddleware({
  ...shop,
  routes: {
    "GET /report": { ...terms, price: "$0.01" },
    "GET /render/:pages": {
      ...terms,
      getPrice: ({ params }) => {
        expectTypeOf(params.pages).toEqualTypeOf<string>()
        // @ts-expect-error the key names no such parameter
        return params.page
      }
    },
    "GET /files/*": { ...terms, getPrice: ({ params }) => params["0"] ?? "$1" }
  }
})

paymentMiddleware({
  ...shop,
  routes: {
    "GET /reports/:day": {
      ...terms,
      price: "$0.01",
      validate: ({ params }) => (params.day === "today" ? undefined : { status: 404 })
    },
    // @ts-expect-error a route has a price
    "GET /report": { ...terms }
  }
})

// @ts-expect-error the routes are required
paymentMiddleware(shop)

// Options that are made elsewhere name no keys: any parameter may be there.
declare const options: PaymentOptions
paymentMiddleware(options)
expectTypeOf<PaymentOptions<"GET /report">["routes"]>().toHaveProperty("GET /report")

// A step does not know the path it stands at.
paymentRoutes(shop).paid({ ...terms, getPrice: ({ params }) => params["pages"] ?? "$1" })
// @ts-expect-error a misspelt option
paymentRoutes({ ...shop, facilitater: "https://facilitator.example" })
