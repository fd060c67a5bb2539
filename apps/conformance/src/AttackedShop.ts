/**
 * The peer's shop on Express with the same goods, written as its README shows it, as a process under attack.
 */
import { createServer } from "node:http"
import { Readable } from "node:stream"

import * as BaseSepolia from "@pontage/devnet/BaseSepolia"
import * as LoopbackServer from "@pontage/devnet/LoopbackServer"
import * as ShopGoods from "@pontage/trials/ShopGoods"
import { HTTPFacilitatorClient } from "@x402/core/server"
import { ExactEvmScheme } from "@x402/evm/exact/server"
import { paymentMiddlewareFromHTTPServer, x402HTTPResourceServer, x402ResourceServer } from "@x402/express"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import express from "express"

const { facilitator, payTo } = Schema.decodeUnknownSync(ShopGoods.Role)(process.env["ROLE"] ?? "")

const decodePages = Schema.decodeUnknownSync(Schema.Struct({ pages: Schema.Int }))
const { network } = BaseSepolia
const scheme = "exact"

const routes: ConstructorParameters<typeof x402HTTPResourceServer>[1] = {
  ...Object.fromEntries(
    Object.entries(ShopGoods.fixed).map(([path, price]) => [
      `GET ${path}`,
      { accepts: { scheme, network, payTo, price }, description: path, mimeType: "application/json" }
    ])
  ),
  "POST /render": {
    accepts: {
      scheme,
      network,
      payTo,
      price: async ({ adapter }) => ShopGoods.priceOfPages(decodePages(await adapter.getBody?.()).pages)
    },
    description: "pages"
  },
  "GET /image": {
    accepts: {
      scheme,
      network,
      payTo,
      price: ({ adapter }) => ShopGoods.priceOfImage([adapter.getQueryParam?.("size")].flat().at(-1))
    },
    description: "image"
  },
  "GET /tier": {
    accepts: {
      scheme,
      network,
      payTo,
      price: ({ adapter }) => ShopGoods.priceOfTier(adapter.getHeader("x-tier"))
    },
    description: "tier"
  }
}

const program = Effect.gen(function* () {
  const core = new x402ResourceServer(new HTTPFacilitatorClient({ url: facilitator }))
  const resources = new x402HTTPResourceServer(core.register(network, new ExactEvmScheme()), routes)
  yield* Effect.promise(() => resources.initialize())
  const app = express()
  app.use(express.json())
  app.use(paymentMiddlewareFromHTTPServer(resources, undefined, undefined, false))
  app.get(["/cheap", "/product", "/report"], (request, response) => {
    response.json(ShopGoods.goods(request.path))
  })
  app.get("/cached", (_request, response) => {
    response.set(ShopGoods.cacheable).json(ShopGoods.goods("cached"))
  })
  app.get("/image", (request, response) => {
    const size = [request.query["size"]].flat().at(-1)
    response.json(ShopGoods.goods(`${typeof size === "string" ? size : "small"} image`))
  })
  app.get("/stream", (_request, response) => {
    Readable.from(ShopGoods.pieces()).pipe(response)
  })
  app.get("/lookup", (request, response) => {
    if (request.query["id"] === "1") response.json(ShopGoods.goods("record 1"))
    else response.status(404).json({ error: "there is no such record" })
  })
  app.post("/render", (request, response) => {
    response.json(ShopGoods.goods(`${decodePages(request.body).pages} pages`))
  })
  app.get("/tier", (request, response) => {
    response.json(ShopGoods.goods(`tier ${request.get("x-tier")}`))
  })
  process.send?.({ url: yield* LoopbackServer.listen(createServer(app)) })
  return yield* Effect.never
})

process.on("disconnect", () => process.exit(1))
await Effect.runPromise(Effect.scoped(program))
