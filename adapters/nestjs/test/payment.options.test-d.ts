/** Types that applications write against. Compiled by `npm run check` (`tsc -p adapters/nestjs/test`), never run. */
import type { SchemeServer } from "@pontage/core"
import { expectTypeOf } from "vitest"

import { Paid, PaymentModule, type PaymentModuleOptions } from "../src/index.ts"

declare const scheme: SchemeServer

const shop = {
  origin: "https://shop.example",
  secret: "s".repeat(32),
  schemes: [scheme],
  facilitator: "https://facilitator.example"
}
const terms = { network: "eip155:8453", payTo: "0x1111111111111111111111111111111111111111" }

PaymentModule.forRoot(shop)
PaymentModule.forRoot({
  ...shop,
  routes: {
    "GET /render/:pages": {
      ...terms,
      getPrice: ({ params }) => {
        expectTypeOf(params.pages).toEqualTypeOf<string>()
        // @ts-expect-error the key names no such parameter
        return params.page
      }
    }
  }
})

declare const options: PaymentModuleOptions
PaymentModule.forRoot(options)
PaymentModule.forRootAsync({ useFactory: () => options })
// @ts-expect-error an unknown option
PaymentModule.forRoot({ ...shop, route: {} })

// A decorator does not know the path of its handler.
Paid({ ...terms, getPrice: ({ params }) => params["pages"] ?? "$1" })
// @ts-expect-error a route has a price or a function, not both
Paid({ ...terms, price: "$1", getPrice: () => "$1" })
