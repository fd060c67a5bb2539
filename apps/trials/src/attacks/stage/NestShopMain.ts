/**
 * Our shop on NestJS with the same goods, as a process under attack.
 */
import { Readable } from "node:stream"

import {
  Body,
  Controller,
  Get,
  Header,
  Headers,
  HttpCode,
  Module,
  NotFoundException,
  Post,
  Query,
  StreamableFile
} from "@nestjs/common"
import { NestFactory } from "@nestjs/core"
import { protocolSeller, x402v2Seller } from "@pontage/core"
import * as BaseSepolia from "@pontage/devnet/BaseSepolia"
import * as LoopbackServer from "@pontage/devnet/LoopbackServer"
import { exactEvm } from "@pontage/evm"
import { PaymentModule } from "@pontage/nestjs"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import * as ShopGoods from "./ShopGoods.ts"

const { facilitator, key, payTo, rpcUrl } = Schema.decodeUnknownSync(ShopGoods.Role)(process.env["ROLE"] ?? "")

const decodePages = Schema.decodeUnknownSync(Schema.Struct({ pages: Schema.Int }))
const lastOf = (value: unknown): unknown => [value].flat().at(-1)

@Controller()
class GoodsController {
  @Get("cheap")
  cheap() {
    return ShopGoods.goods("cheap")
  }

  @Get("product")
  product() {
    return ShopGoods.goods("product")
  }

  @Get("report")
  report() {
    return ShopGoods.goods("report")
  }

  @Get("cached")
  @Header("Cache-Control", ShopGoods.cacheable["Cache-Control"])
  @Header("CDN-Cache-Control", ShopGoods.cacheable["CDN-Cache-Control"])
  @Header("Surrogate-Control", ShopGoods.cacheable["Surrogate-Control"])
  @Header("Expires", ShopGoods.cacheable.Expires)
  cached() {
    return ShopGoods.goods("cached")
  }

  @Get("image")
  image(@Query("size") size: unknown) {
    return ShopGoods.goods(`${lastOf(size) === "large" ? "large" : "small"} image`)
  }

  @Get("stream")
  stream() {
    return new StreamableFile(Readable.from(ShopGoods.pieces()))
  }

  @Get("lookup")
  lookup(@Query("id") id: unknown) {
    if (id !== "1") throw new NotFoundException("there is no such record")
    return ShopGoods.goods("record 1")
  }

  @Post("render")
  @HttpCode(200)
  render(@Body() body: unknown) {
    return ShopGoods.goods(`${decodePages(body).pages} pages`)
  }

  @Get("tier")
  tier(@Headers("x-tier") tier: unknown) {
    return ShopGoods.goods(`tier ${String(tier)}`)
  }
}

const terms = { scheme: "exact", network: BaseSepolia.network, payTo, dialects: [protocolSeller, x402v2Seller] }

const moduleAt = (origin: string) => {
  @Module({
    imports: [
      PaymentModule.forRoot({
        origin,
        facilitator: { url: facilitator, headers: { authorization: `Bearer ${key}` } },
        secret: "a secret of at least thirty-two characters",
        schemes: [exactEvm.server({ rpcUrl })],
        routes: {
          ...Object.fromEntries(
            Object.entries(ShopGoods.fixed).map(([path, price]) => [`GET ${path}`, { ...terms, price }])
          ),
          "POST /render": { ...terms, getPrice: ({ body }) => ShopGoods.priceOfPages(decodePages(body).pages) },
          "GET /image": { ...terms, getPrice: ({ query }) => ShopGoods.priceOfImage(lastOf(query["size"])) },
          "GET /tier": { ...terms, getPrice: ({ headers }) => ShopGoods.priceOfTier(String(headers["x-tier"])) }
        }
      })
    ],
    controllers: [GoodsController]
  })
  class ShopModule {}
  return ShopModule
}

const port = await Effect.runPromise(LoopbackServer.freePort)
const origin = `http://127.0.0.1:${port}`
const app = await NestFactory.create(moduleAt(origin), { logger: false, abortOnError: false })
await app.listen(port, "127.0.0.1")
process.send?.({ url: origin })

process.on("disconnect", () => process.exit(1))
