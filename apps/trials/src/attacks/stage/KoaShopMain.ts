/**
 * Our shop on Koa, as a process under attack.
 */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { Readable } from "node:stream"

import { Router } from "@koa/router"
import { protocolSeller, x402v2Seller } from "@pontage/core"
import * as BaseSepolia from "@pontage/devnet/BaseSepolia"
import { exactEvm } from "@pontage/evm"
import { paymentMiddleware } from "@pontage/koa"
import * as Schema from "effect/Schema"
import Koa from "koa"

import * as ShopGoods from "./ShopGoods.ts"

const { facilitator, key, payTo, rpcUrl } = Schema.decodeUnknownSync(ShopGoods.Role)(process.env["ROLE"] ?? "")

const Pages = Schema.fromJsonString(Schema.Struct({ pages: Schema.Int }))
const decodePages = Schema.decodeUnknownSync(Pages)
const pagesOf = (body: unknown): number => decodePages(body).pages

const router = new Router()
router.get("/cheap", (context) => void (context.body = ShopGoods.goods("cheap")))
router.get("/product", (context) => void (context.body = ShopGoods.goods("product")))
router.get("/report", (context) => void (context.body = ShopGoods.goods("report")))
router.get("/cached", (context) => {
  context.set(ShopGoods.cacheable)
  context.body = ShopGoods.goods("cached")
})
router.get("/image", (context) => {
  const { size } = context.query
  context.body = ShopGoods.goods(`${Array.isArray(size) ? size.at(-1) : (size ?? "small")} image`)
})
router.get("/stream", (context) => void (context.body = Readable.from(ShopGoods.pieces())))
router.get("/lookup", (context) => {
  if (context.query["id"] !== "1") context.throw(404, "there is no such record")
  context.body = ShopGoods.goods("record 1")
})
router.post("/render", (context) => {
  context.body = ShopGoods.goods(`${pagesOf(Reflect.get(context.request, "body"))} pages`)
})
router.get("/tier", (context) => void (context.body = ShopGoods.goods(`tier ${context.get("x-tier")}`)))

const server = createServer()
server.listen(0, "127.0.0.1", () => {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a server that listens on a port has such an address
  const { port } = server.address() as AddressInfo
  const origin = `http://127.0.0.1:${port}`
  const terms = { scheme: "exact", network: BaseSepolia.network, payTo, dialects: [protocolSeller, x402v2Seller] }
  const app = new Koa()
  app.silent = true
  app.use(async (context, next) => {
    if (context.method === "POST") Reflect.set(context.request, "body", await textOf(context.req))
    await next()
  })
  app.use(
    paymentMiddleware({
      origin,
      facilitator: { url: facilitator, headers: { authorization: `Bearer ${key}` } },
      secret: "a secret of at least thirty-two characters",
      schemes: [exactEvm.server({ rpcUrl })],
      router,
      routes: {
        ...Object.fromEntries(
          Object.entries(ShopGoods.fixed).map(([path, price]) => [`GET ${path}`, { ...terms, price }])
        ),
        "POST /render": { ...terms, getPrice: ({ body }) => ShopGoods.priceOfPages(pagesOf(body)) },
        "GET /image": { ...terms, getPrice: ({ query }) => ShopGoods.priceOfImage([query["size"]].flat().at(-1)) },
        "GET /tier": { ...terms, getPrice: ({ headers }) => ShopGoods.priceOfTier(String(headers["x-tier"])) }
      }
    })
  )
  app.use(router.routes())
  server.on("request", app.callback())
  process.send?.({ url: origin })
})

const textOf = async (stream: AsyncIterable<Buffer>): Promise<string> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks).toString("utf8")
}

// The parent process is gone, so this one has no purpose left.
process.on("disconnect", () => process.exit(1))
