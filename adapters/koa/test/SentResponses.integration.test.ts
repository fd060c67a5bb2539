/** With `settle: "after-handler"` a Koa response is charged by what is really sent, whoever sends it. */
import { once } from "node:events"
import { type IncomingMessage, request } from "node:http"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"

import type Koa from "koa"
import { afterEach, assert, describe, it } from "vitest"

import * as KoaShop from "./KoaShop.ts"

const { paid } = KoaShop

const closing: Array<() => Promise<void>> = []
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()))
})

const late = { settle: "after-handler" } as const

const open: typeof KoaShop.open = async (handler, changes) => {
  const shop = await KoaShop.open(handler, { ...late, ...changes })
  closing.push(shop.close)
  return shop
}

const asks = (shop: KoaShop.KoaShop) => shop.facilitator.told.map(({ ask }) => ask)

const circle = (): object => {
  const self: { self?: unknown } = {}
  self.self = self
  return self
}

const csv: Koa.Middleware = (ctx) => {
  ctx.set("Trailer", "X-Checksum")
  ctx.type = "text/csv"
  ctx.body = Readable.from(["some", " more"])
  ctx.res.addTrailers({ "X-Checksum": "1" })
}

/** Makes the response of a thrown error another one. */
const rescue =
  (status: number): Koa.Middleware =>
  async (ctx, next) => {
    try {
      await next()
    } catch {
      ctx.status = status
      ctx.body = "sorry"
    }
  }

const failing: Koa.Middleware = async (_ctx, next) => {
  await next()
  throw new Error("the log is full")
}

describe("a response that is settled after its handler", () => {
  it.each<readonly [string, Koa.Middleware]>([
    ["a value that is no JSON", (ctx) => void (ctx.body = { rows: 12n })],
    ["a value that has itself as a part", (ctx) => void (ctx.body = circle())],
    ["a status message that no head can have", (ctx) => void Object.assign(ctx, { body: "goods", message: "Готово" })],
    [
      "a trailer for a body of known length",
      (ctx) => {
        ctx.body = "goods"
        ctx.set("Trailer", "X-Checksum")
      }
    ]
  ])("costs nothing where Koa cannot send it: %s", async (_, handler) => {
    const shop = await open(handler)
    const answer = await shop.get("/report", { headers: paid })
    assert.strictEqual(answer.status, 500)
    assert.notInclude(answer.body, "goods")
    assert.notProperty(answer.headers, "x-payment-response")
    assert.strictEqual(await shop.facilitator.nextEnd(), "failed")
    assert.notInclude(asks(shop), "settle")
  })

  it("is serialised once", async () => {
    let serialised = 0
    const shop = await open((ctx) => {
      ctx.body = { toJSON: () => ({ times: ++serialised }) }
    })
    const answer = await shop.get("/report", { headers: paid })
    assert.deepStrictEqual(JSON.parse(answer.body), { times: 1 })
    assert.strictEqual(serialised, 1)
    assert.include(String(answer.headers["content-type"]), "application/json")
    assert.strictEqual(await shop.facilitator.nextEnd(), "served")
  })

  it("keeps the trailer of its stream", async () => {
    const shop = await open(csv)
    const asking = request({ host: "127.0.0.1", port: shop.port, path: "/report", headers: paid, agent: false }).end()
    const [response] = (await once(asking, "response")) as [IncomingMessage]
    const chunks: Array<Buffer> = []
    for await (const chunk of response) chunks.push(Buffer.from(chunk))
    assert.strictEqual(response.statusCode, 200)
    assert.strictEqual(Buffer.concat(chunks).toString(), "some more")
    assert.strictEqual(response.trailers["x-checksum"], "1")
    assert.strictEqual(await shop.facilitator.nextEnd(), "served")
  })

  it("costs nothing where outer middleware fails behind its handler", async () => {
    const shop = await open((ctx) => void (ctx.body = "goods"), { outer: [failing] })
    const answer = await shop.get("/report", { headers: paid })
    assert.strictEqual(answer.status, 500)
    assert.notInclude(answer.body, "goods")
    assert.strictEqual(await shop.facilitator.nextEnd(), "failed")
    assert.notInclude(asks(shop), "settle")
  })

  it.each([200, 404, 503])("of a handler that failed costs nothing, also as a page with %i", async (status) => {
    const shop = await open(() => Promise.reject(new Error("down")), { outer: [rescue(status)], refused: "charged" })
    const answer = await shop.get("/report", { headers: paid })
    assert.strictEqual(answer.status, status)
    assert.strictEqual(answer.body, "sorry")
    assert.strictEqual(await shop.facilitator.nextEnd(), "failed")
    assert.notInclude(asks(shop), "settle")
  })

  it("is cut off where its handler fails after it has begun to send: Koa sends nothing more", async () => {
    const shop = await open((ctx) => {
      ctx.respond = false
      ctx.res.writeHead(200).write("the")
      throw new Error("the disk is gone")
    })
    const got = await shop.get("/report", { headers: paid }).catch(() => "cut off")
    assert.strictEqual(got, "cut off")
    assert.strictEqual(await shop.facilitator.nextEnd(), "failed")
    assert.notInclude(asks(shop), "settle")
  })

  it.each<readonly [string, Koa.Middleware]>([
    ["thrown", (ctx) => ctx.throw(404, "no such day")],
    ["said", (ctx) => void Object.assign(ctx, { status: 404, body: "no such day" })]
  ])("is charged where refusals are the product, %s", async (_, handler) => {
    const shop = await open(handler, { refused: "charged" })
    const answer = await shop.get("/report", { headers: paid })
    assert.strictEqual(answer.status, 404)
    assert.strictEqual(answer.body, "no such day")
    assert.property(answer.headers, "x-payment-response")
    assert.include(asks(shop), "settle")
  })

  it.each<readonly [string, Koa.Middleware]>([
    [
      "at once",
      (ctx) => {
        ctx.respond = false
        ctx.res.statusCode = 200
        ctx.res.end("the goods")
      }
    ],
    [
      "with a head of its own",
      (ctx) => {
        ctx.res.writeHead(200, { "X-Own": "1", "Cache-Control": "public" }).end("the goods")
      }
    ],
    [
      "by a pipe",
      (ctx) => {
        ctx.respond = false
        ctx.res.statusCode = 200
        void pipeline(Readable.from(["the", " goods"]), ctx.res)
      }
    ]
  ])("is charged and leaves where its handler sends it by itself, %s", async (_, handler) => {
    const shop = await open(handler)
    const answer = await shop.get("/report", { headers: paid })
    assert.strictEqual(answer.status, 200)
    assert.strictEqual(answer.body, "the goods")
    assert.property(answer.headers, "x-payment-response")
    assert.strictEqual(answer.headers["cache-control"], "private")
    assert.strictEqual(await shop.facilitator.nextEnd(), "served")
    assert.deepStrictEqual(asks(shop), ["claim", "settle", "finish"])
  })
})
