/** Types that applications write against. Compiled by `npm run check` (`tsc -p core/test`), never run. */
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { expectTypeOf } from "vitest"

import * as Buyer from "../src/client/Buyer.ts"
import * as PaymentClient from "../src/client/PaymentClient.ts"
import type { PaymentJournal } from "../src/client/PaymentJournal.ts"
import type { Facilitator } from "../src/facilitator/Facilitator.ts"
import * as LocalFacilitator from "../src/facilitator/local/LocalFacilitator.ts"
import type { LaneLeases } from "../src/facilitator/store/LaneLeases.ts"
import type { PaymentStore } from "../src/facilitator/store/PaymentStore.ts"
import type { Misconfigured } from "../src/protocol/ProtocolError.ts"
import * as ClientSchemeRegistry from "../src/scheme/ClientSchemeRegistry.ts"
import * as FacilitatorSchemeRegistry from "../src/scheme/FacilitatorSchemeRegistry.ts"
import type { SchemeClient } from "../src/scheme/SchemeClient.ts"
import type { SchemeFacilitator } from "../src/scheme/SchemeFacilitator.ts"
import type { SchemeServer } from "../src/scheme/SchemeServer.ts"
import * as ServerSchemeRegistry from "../src/scheme/ServerSchemeRegistry.ts"
import * as PaymentGate from "../src/server/PaymentGate.ts"
import type { PathParams } from "../src/server/route/RouteConfig.ts"
import * as Seller from "../src/server/Seller.ts"
import type { PriceResolver } from "../src/server/shop/PriceResolver.ts"

declare const client: SchemeClient
declare const server: SchemeServer
declare const facilitator: SchemeFacilitator
const connecting = Effect.succeed(facilitator)

// One registry for each role: a plugin of another role does not compile.
ClientSchemeRegistry.layer([client])
ServerSchemeRegistry.layer([server])
FacilitatorSchemeRegistry.layer([connecting])
// @ts-expect-error a seller's plugin signs nothing
ClientSchemeRegistry.layer([server])
// @ts-expect-error a payer's plugin knows no readiness
ServerSchemeRegistry.layer([client])
// @ts-expect-error a connected plugin is not one that connects
FacilitatorSchemeRegistry.layer([facilitator])
// @ts-expect-error a payer's plugin settles nothing
FacilitatorSchemeRegistry.layer([Effect.succeed(client)])
expectTypeOf<ClientSchemeRegistry.ClientSchemeRegistry>().not.toEqualTypeOf<ServerSchemeRegistry.ServerSchemeRegistry>()

// The services that each part needs.
const shop = { origin: "https://shop.example", secret: "s".repeat(32) }
expectTypeOf(PaymentGate.layer(shop)).toEqualTypeOf<
  Layer.Layer<
    PaymentGate.PaymentGate,
    Misconfigured,
    Facilitator | PriceResolver | ServerSchemeRegistry.ServerSchemeRegistry
  >
>()
expectTypeOf(PaymentClient.layer({})).toEqualTypeOf<
  Layer.Layer<PaymentClient.PaymentClient, Misconfigured, ClientSchemeRegistry.ClientSchemeRegistry | PaymentJournal>
>()
expectTypeOf(LocalFacilitator.layer({})).toEqualTypeOf<
  Layer.Layer<
    Facilitator | LocalFacilitator.LaneAdmission,
    Misconfigured,
    FacilitatorSchemeRegistry.FacilitatorSchemeRegistry | PaymentStore | LaneLeases
  >
>()
// @ts-expect-error the schemes come from the context
PaymentGate.layer({ ...shop, schemes: [server] })
// @ts-expect-error the schemes come from the context
LocalFacilitator.layer({ schemes: [connecting] })
LocalFacilitator.layerMemory({ schemes: [connecting], settleTimeoutMillis: 1_000 })
// @ts-expect-error in plain options they are required
LocalFacilitator.layerMemory({ settleTimeoutMillis: 1_000 })

// Path parameters by the route's key.
expectTypeOf<PathParams<"GET /render/:pages">>().toEqualTypeOf<"pages">()
expectTypeOf<PathParams<"GET /a/:one/b/:two">>().toEqualTypeOf<"one" | "two">()
expectTypeOf<PathParams<"GET /report">>().toEqualTypeOf<never>()
expectTypeOf<PathParams<"GET /files/*">>().toEqualTypeOf<string>()
expectTypeOf<PathParams<"GET /:one/files/*">>().toEqualTypeOf<string>()
expectTypeOf<PathParams<"GET /v:version">>().toEqualTypeOf<string>()
expectTypeOf<PathParams<"GET /a/:b, POST /c">>().toEqualTypeOf<string>()
expectTypeOf<PathParams<"the report">>().toEqualTypeOf<string>()
expectTypeOf<PathParams<`GET /${string}`>>().toEqualTypeOf<string>()
expectTypeOf<PathParams<string>>().toEqualTypeOf<string>()

const seller = Seller.make({ ...shop, schemes: [server], facilitator: "https://facilitator.example" })
const terms = { network: "eip155:8453", payTo: "0x1111111111111111111111111111111111111111" }
seller.route("GET /render/:pages", {
  ...terms,
  getPrice: ({ params }) => {
    expectTypeOf(params.pages).toEqualTypeOf<string>()
    // @ts-expect-error the key names no such parameter
    return params.page
  },
  validate: ({ params }) => {
    expectTypeOf(params).toEqualTypeOf<Readonly<Record<"pages", string>>>()
    return undefined
  }
})
seller.route("GET /report", {
  ...terms,
  // @ts-expect-error the key names no parameter
  getPrice: ({ params }) => params.day
})
seller.route("a name for messages", { ...terms, getPrice: ({ params }) => params["day"] ?? "$1" })
seller.route("GET /report", { ...terms, price: "$0.01" })
// @ts-expect-error a route has a price or a function, not both
seller.route("GET /report", { ...terms, price: "$0.01", getPrice: () => "$1" })
// @ts-expect-error a route has a price
seller.route("GET /report", terms)
// @ts-expect-error an unknown key
seller.route("GET /report", { ...terms, price: "$0.01", settle: "before-handler", expires: 3 })

declare const gate: PaymentGate.PaymentGate["Service"]
gate.route("GET /render/:pages", { ...terms, getPrice: ({ params }) => params.pages })
gate.route("GET /render/:pages", {
  ...terms,
  // @ts-expect-error the key names no such parameter
  getPrice: ({ params }) => params.sheets
})

// @ts-expect-error a payer's plugin sells nothing
Seller.make({ ...shop, schemes: [client], facilitator: "https://facilitator.example" })
// @ts-expect-error a misspelt limit
Buyer.make({ schemes: [client], limits: { perday: "$1" } }, [])
// @ts-expect-error a seller's plugin pays nothing
Buyer.make({ schemes: [server] }, [])
