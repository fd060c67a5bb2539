/**
 * A price is computed from the values that the handler reads: over raw sockets, since clients tidy targets up.
 */
import { connect } from "node:net"

import type { PriceRequest } from "@pontage/core"
import Koa from "koa"
import { afterEach, assert, beforeEach, describe, it } from "vitest"

import * as FakeFacilitator from "../../../core/test/server/FakeFacilitator.ts"
import { paymentMiddleware } from "../src/index.ts"
import { type KoaServer, serve } from "./KoaServer.ts"
import * as KoaShop from "./KoaShop.ts"

const { price: _, ...unpriced } = KoaShop.terms

let priced: ReadonlyArray<unknown> = []
let server: KoaServer
let close: () => Promise<void>

const getPrice = ({ params, query }: PriceRequest) => {
  priced = [query, params["tier"]]
  return "$0.01"
}

beforeEach(async () => {
  priced = []
  const gate = paymentMiddleware({
    ...KoaShop.options(FakeFacilitator.make()),
    routes: { "GET /image/:tier": { ...unpriced, getPrice } }
  })
  await gate.ready()
  const app = new Koa().use(gate).use((ctx) => {
    ctx.body = [ctx.query, decodeURIComponent(ctx.path.split("/").at(-1) ?? "")]
  })
  server = await serve(app)
  close = gate.close
})

afterEach(async () => {
  await server.close()
  await close()
})

const ask = (target: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const chunks: Array<Buffer> = []
    const socket = connect(server.port, "127.0.0.1")
    socket.on("data", (chunk) => chunks.push(chunk))
    socket.once("error", reject)
    socket.once("close", () => resolve(Buffer.concat(chunks).toString("utf8")))
    const payment = KoaShop.paid["x-payment"]
    socket.write(`GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Payment: ${payment}\r\n\r\n`)
  })

describe("a price by request", () => {
  it.each([
    "/image/Gold?pages=1&pages=1000",
    "/image/gold?pages[]=1000",
    "/image/gold?pages=1;pages=1000",
    "/image/gold?%70ages=1&pages=%zz",
    "/image/gold?__proto__=1&pages",
    "/image/gold?pages=1?pages=1000",
    "http://evil.example/image/gold?pages=1000",
    "/IMAGE/Gold",
    "/image/%47old"
  ])("of %s is computed from what the handler reads", async (target) => {
    const answer = await ask(target)
    assert.match(answer, /^HTTP\/1.1 200/)
    assert.strictEqual(answer.slice(answer.indexOf("\r\n\r\n") + 4), JSON.stringify(priced))
  })

  it.each(["/image/gold?pages=1#", "/image/gold#?pages=1", "/image/gold??pages=1"])(
    "of %s is not computed: parsers disagree about it",
    async (target) => {
      assert.match(await ask(target), /^HTTP\/1.1 400/)
      assert.deepStrictEqual(priced, [])
    }
  )
})
