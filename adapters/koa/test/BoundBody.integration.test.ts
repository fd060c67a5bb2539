import Koa from "koa"
import { afterEach, assert, describe, it } from "vitest"

import * as FakeFacilitator from "../../../core/test/server/FakeFacilitator.ts"
import { paymentRoutes } from "../src/index.ts"
import { type KoaServer, serve } from "./KoaServer.ts"
import * as KoaShop from "./KoaShop.ts"

const closing: Array<() => Promise<void>> = []
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()))
})

const collect = async (ctx: Koa.Context): Promise<string> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of ctx.req) chunks.push(Buffer.from(chunk as Uint8Array))
  return Buffer.concat(chunks).toString()
}

/** As body parsers do: the parsed body, and with it the text where they keep it. */
const parser =
  (keepsText: boolean): Koa.Middleware =>
  async (ctx, next) => {
    const rawBody = await collect(ctx)
    const body: unknown = rawBody === "" ? {} : JSON.parse(rawBody)
    Object.assign(ctx.request, keepsText ? { body, rawBody } : { body })
    await next()
  }

const open = async (...before: ReadonlyArray<Koa.Middleware>) => {
  const facilitator = FakeFacilitator.make()
  const payment = paymentRoutes(KoaShop.options(facilitator))
  const app = new Koa()
  for (const middleware of before) app.use(middleware)
  app.use(payment.paid({ ...KoaShop.terms, bind: "body" }))
  app.use(async (ctx) => {
    ctx.body = "body" in ctx.request ? JSON.stringify(ctx.request.body) : await collect(ctx)
  })
  await payment.ready()
  const server = await serve(app)
  closing.push(server.close, payment.close)
  return { server, facilitator }
}

const post = (server: KoaServer, body: string, type = "application/json") =>
  server.get("/print", { method: "POST", headers: { ...KoaShop.paid, "content-type": type }, body })

const resources = ({ facilitator }: Awaited<ReturnType<typeof open>>) =>
  facilitator.told.flatMap((one) => (one.ask === "settle" ? [one.claim?.resource] : []))

describe('bind: "body"', () => {
  it.each<readonly [string, ReadonlyArray<Koa.Middleware>]>([
    ["that the handler reads itself", []],
    ["that was parsed, its text kept", [parser(true)]],
    ["that was parsed", [parser(false)]]
  ])("claims each body %s as a resource of its own, and leaves it to the handler", async (_, before) => {
    const shop = await open(...before)
    const one = await post(shop.server, `{"page":1}`)
    const two = await post(shop.server, `{"page":2}`)
    const again = await post(shop.server, `{"page":1}`)
    assert.deepStrictEqual([one.body, two.body, again.body], [`{"page":1}`, `{"page":2}`, `{"page":1}`])
    const [first, second, third] = resources(shop)
    assert.notStrictEqual(first, second)
    assert.strictEqual(first, third)
  })

  it("sells nothing where a form was parsed in front of the gate", async () => {
    const shop = await open(parser(false))
    const { body, status } = await post(shop.server, `{"page":1}`, "multipart/form-data; boundary=x")
    assert.strictEqual(status, 500)
    assert.include(JSON.parse(body), { detail: "body_unavailable" })
    assert.deepStrictEqual(shop.facilitator.told, [])
  })

  it("has nothing to bind where no body came", async () => {
    const shop = await open(parser(false))
    assert.strictEqual((await shop.server.get("/print", { headers: KoaShop.paid })).status, 200)
  })

  it("takes no body beyond a mebibyte", async () => {
    const shop = await open()
    assert.strictEqual((await post(shop.server, "x".repeat(1024 * 1024 + 1))).status, 413)
    assert.deepStrictEqual(shop.facilitator.told, [])
  })
})
