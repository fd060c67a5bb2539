import { createHash, randomBytes } from "node:crypto"
import { once } from "node:events"
import { type ClientRequest, request, type IncomingMessage } from "node:http"
import { Readable } from "node:stream"
import { gzipSync } from "node:zlib"

import Koa from "koa"
import { afterEach, assert, describe, it } from "vitest"

import * as LedgerSeller from "../../../core/test/server/LedgerSeller.ts"
import { paymentMiddleware } from "../src/index.ts"
import { serve } from "./KoaServer.ts"

const closing: Array<() => Promise<void>> = []
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()))
})

interface Got {
  readonly status: number
  readonly headers: IncomingMessage["headers"]
  readonly body: Buffer
}

const open = async (
  handler: Koa.Middleware,
  config: object = {},
  outer: ReadonlyArray<Koa.Middleware> = [],
  more: object = {}
) => {
  const { ledger, options, terms, transfers } = LedgerSeller.open()
  const gate = paymentMiddleware({
    ...options,
    ...more,
    routes: { "GET /report": { ...terms, repeat: "same", ...config } }
  })
  await gate.ready()
  const app = new Koa()
  for (const one of outer) app.use(one)
  const server = await serve(app.use(gate).use(handler))
  closing.push(() => gate.close(), server.close)
  for (const name of ["acct-alice", "acct-bob"]) ledger.deposit(name, 10n ** 12n)
  const ask = (headers: Readonly<Record<string, string>> = {}, path = "/report") =>
    request({ host: "127.0.0.1", port: server.port, path, headers, agent: false }).end()
  const get = async (headers: Readonly<Record<string, string>> = {}, path?: string): Promise<Got> => {
    const [response] = (await once(ask(headers, path), "response")) as [IncomingMessage]
    const chunks: Array<Buffer> = []
    for await (const chunk of response) chunks.push(chunk)
    return { status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }
  }
  /** The response once the run that goes meanwhile has ended. */
  const getOnceThere = async (headers: Readonly<Record<string, string>>): Promise<Got> => {
    const got = await get(headers)
    return got.status === 409 && got.body.toString().includes("in_flight") ? getOnceThere(headers) : got
  }
  const payment = async (payer = "acct-alice", path?: string) =>
    LedgerSeller.payFor(payer, (await get({}, path)).body.toString())
  return { ask, get, getOnceThere, payment, transfers }
}

const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex")

/** Cuts a request off, whatever has arrived. */
const cut = (asking: ClientRequest): Promise<void> => {
  const closed = new Promise<void>((resolve) => asking.once("close", () => resolve()))
  asking.on("error", () => undefined).destroy()
  return closed
}

/** The headers that stay the same from one response to the next. */
const lasting = (headers: Got["headers"]): Got["headers"] =>
  Object.fromEntries(
    Object.entries(headers).filter(
      ([name]) => !["date", "connection", "keep-alive", "transfer-encoding"].includes(name)
    )
  )

const cors: Koa.Middleware = (ctx, next) => {
  ctx.set("Access-Control-Allow-Origin", ctx.get("origin"))
  ctx.vary("Origin")
  return next()
}

const compression: Koa.Middleware = async (ctx, next) => {
  await next()
  if (typeof ctx.body !== "string" || ctx.status !== 200) return
  ctx.body = gzipSync(ctx.body)
  ctx.set("Content-Encoding", "gzip")
}

describe("a served response", () => {
  const bodies: ReadonlyArray<readonly [string, (ctx: Koa.Context) => void]> = [
    ["text", (ctx) => void (ctx.body = `text ${randomBytes(8).toString("hex")} \u{1f600}`)],
    ["JSON", (ctx) => void (ctx.body = { random: randomBytes(8).toString("hex") })],
    ["bytes", (ctx) => void (ctx.body = randomBytes(64))],
    ["a stream", (ctx) => void (ctx.body = Readable.from([randomBytes(8).toString("hex"), " and ", "more"]))],
    ["nothing", (ctx) => void (ctx.status = 204)],
    [
      "bytes that its handler writes by itself",
      (ctx) => {
        ctx.respond = false
        ctx.res.writeHead(201, { "X-Own": "yes", "Content-Type": "text/plain" })
        ctx.res.write("first, ")
        ctx.res.end(randomBytes(8).toString("base64"), "latin1")
      }
    ]
  ]

  it.each(bodies)("comes again to the byte: %s", async (_, response) => {
    let runs = 0
    const shop = await open((ctx) => {
      runs++
      ctx.cookies.set("one", "1")
      ctx.cookies.set("two", "2")
      ctx.set("X-Run", `${runs}`)
      response(ctx)
    })
    const payment = await shop.payment()
    const first = await shop.get(payment)
    const again = await shop.getOnceThere(payment)
    assert.strictEqual(again.status, first.status)
    assert.strictEqual(sha256(again.body), sha256(first.body))
    const { "content-length": length, ...headers } = lasting(again.headers)
    const { "content-length": before = length, ...earlier } = lasting(first.headers)
    assert.deepStrictEqual(headers, earlier)
    assert.strictEqual(length, before)
    assert.lengthOf(first.headers["set-cookie"] ?? [], 2)
    assert.isDefined(again.headers["x-payment-response"])
    assert.strictEqual(runs, 1)
    assert.strictEqual(shop.transfers(), 1n)
  })

  it("comes again as an outer compression made it, and with the CORS headers of the present request", async () => {
    const shop = await open((ctx) => void (ctx.body = "x".repeat(1000)), {}, [cors, compression])
    const payment = await shop.payment()
    const first = await shop.get({ ...payment, origin: "https://one.example" })
    const again = await shop.getOnceThere({ ...payment, origin: "https://other.example" })
    assert.strictEqual(again.headers["content-encoding"], "gzip")
    assert.deepStrictEqual(again.body, first.body)
    assert.strictEqual(again.headers["access-control-allow-origin"], "https://other.example")
    assert.include(again.headers["vary"], "Origin")
  })

  it.each(["before-handler", "after-handler"] as const)(
    "is kept if its client disconnected while the handler worked, %s",
    async (settle) => {
      let runs = 0
      const entered = Promise.withResolvers<void>()
      const shop = await open(
        async (ctx) => {
          runs++
          entered.resolve()
          if (runs === 1) await once(ctx.res, "close")
          ctx.body = `run ${runs}`
        },
        { settle }
      )
      const payment = await shop.payment()
      const asking = shop.ask(payment).on("error", () => undefined)
      await entered.promise
      await cut(asking)
      const got = await shop.getOnceThere(payment)
      assert.strictEqual(got.body.toString(), settle === "before-handler" ? "run 1" : "run 2")
      assert.strictEqual(shop.transfers(), 1n)
      const again = await shop.getOnceThere(payment)
      assert.deepStrictEqual(again.body, got.body)
    }
  )

  it("is kept private, with its receipt, if its client disconnected before the handler called it public", async () => {
    const entered = Promise.withResolvers<void>()
    const shop = await open(async (ctx) => {
      entered.resolve()
      await once(ctx.res, "close")
      ctx.set("Cache-Control", "public, max-age=86400")
      ctx.set("Vary", "Accept")
      ctx.body = "goods"
    })
    const payment = await shop.payment()
    const asking = shop.ask(payment).on("error", () => undefined)
    await entered.promise
    await cut(asking)
    const { body, headers } = await shop.getOnceThere(payment)
    assert.strictEqual(body.toString(), "goods")
    assert.strictEqual(headers["cache-control"], "private")
    assert.match(headers["vary"] ?? "", /^Accept, .*X-Payment/i)
    assert.isDefined(headers["x-payment-response"])
  })

  it.each(["before", "after"])("is not kept if it is a stream, which Koa destroys %s the body is set", async (when) => {
    let runs = 0
    const entered = Promise.withResolvers<void>()
    const shop = await open(async (ctx) => {
      runs++
      if (when === "after") ctx.body = Readable.from([`run ${runs}`])
      entered.resolve()
      if (runs === 1) await once(ctx.res, "close")
      if (when === "before") ctx.body = Readable.from([`run ${runs}`])
    })
    const payment = await shop.payment()
    const asking = shop.ask(payment).on("error", () => undefined)
    await entered.promise
    await cut(asking)
    assert.strictEqual((await shop.getOnceThere(payment)).body.toString(), "run 2")
    assert.strictEqual((await shop.getOnceThere(payment)).body.toString(), "run 2")
    assert.strictEqual(shop.transfers(), 1n)
  })

  it("is not kept if it is longer than the limit: a response that was cut off is made again", async () => {
    let runs = 0
    const entered = Promise.withResolvers<void>()
    const shop = await open(
      async (ctx) => {
        runs++
        ctx.body = "x".repeat(101)
        entered.resolve()
        if (runs === 1) await once(ctx.res, "close")
      },
      {},
      [],
      { responses: { maximumBytes: 100 } }
    )
    const payment = await shop.payment()
    const asking = shop.ask(payment).on("error", () => undefined)
    await entered.promise
    await cut(asking)
    assert.strictEqual((await shop.getOnceThere(payment)).body.length, 101)
    assert.strictEqual(runs, 2)
    assert.strictEqual(shop.transfers(), 1n)
    assert.strictEqual((await shop.getOnceThere(payment)).status, 409)
  })

  it("is not kept if the handler throws: the payment is owed", async () => {
    let runs = 0
    const shop = await open((ctx) => {
      if (++runs === 1) throw new Error("the disk is gone")
      ctx.body = "second run"
    })
    const payment = await shop.payment()
    assert.strictEqual((await shop.get(payment)).status, 500)
    assert.strictEqual((await shop.getOnceThere(payment)).body.toString(), "second run")
    assert.strictEqual(runs, 2)
  })
})

describe("purchases of which some lose their responses", () => {
  it("run once each, and every payer reads its own response", async () => {
    const runs = new Map<string, number>()
    const made = new Map<string, string>()
    const shop = await open((ctx) => {
      const name = ctx.get("x-purchase")
      runs.set(name, (runs.get(name) ?? 0) + 1)
      const bytes = randomBytes(500)
      made.set(name, sha256(bytes))
      ctx.body = bytes
    })
    const buy = async (index: number) => {
      const name = `purchase-${index}`
      const headers = { ...(await shop.payment(index % 2 === 0 ? "acct-alice" : "acct-bob")), "x-purchase": name }
      // Three of ten responses are cut off, at the head or while the request is on its way.
      if (index % 10 < 3) {
        const asking = shop.ask(headers).on("error", () => undefined)
        if (index % 10 !== 0) await once(asking, "response")
        await cut(asking)
      }
      const got = await shop.getOnceThere(headers)
      assert.strictEqual(got.status, 200, got.body.toString())
      assert.strictEqual(sha256(got.body), made.get(name))
      assert.strictEqual(runs.get(name), 1)
    }
    await Promise.all(Array.from({ length: 200 }, (_, index) => buy(index)))
    assert.strictEqual(shop.transfers(), 200n)
  })
})
