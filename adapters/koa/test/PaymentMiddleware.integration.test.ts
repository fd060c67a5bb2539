import { once } from "node:events"
import { connect as connectSecond, constants, createServer as createSecondServer } from "node:http2"
import { type AddressInfo, connect } from "node:net"
import { PassThrough, Readable, Writable } from "node:stream"

import { Router } from "@koa/router"
import type { PaymentOptions } from "@pontage/koa"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import Koa from "koa"
import { afterEach, assert, describe, it } from "vitest"

import * as FakeFacilitator from "../../../core/test/server/FakeFacilitator.ts"
import { type RouteConfig, paymentMiddleware, paymentRoutes, settlementOf } from "../src/index.ts"
import { serve } from "./KoaServer.ts"
import * as KoaShop from "./KoaShop.ts"

const { paid, terms } = KoaShop

const closing: Array<() => Promise<void>> = []
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()))
})

const open: typeof KoaShop.open = async (...parameters) => {
  const shop = await KoaShop.open(...parameters)
  closing.push(shop.close)
  return shop
}

const hello: Koa.Middleware = (ctx) => {
  ctx.body = "hello"
}

/** A handler of its own: the same one must not be sold in one place and free in another. */
const greeting = (): Koa.Middleware => (ctx) => {
  ctx.body = "hello"
}

const runs = (shop: KoaShop.KoaShop) => FakeFacilitator.outcomes(shop.facilitator.told)

const breaking = () =>
  Readable.from(
    (async function* () {
      yield "some"
      throw new Error("disk is gone")
    })()
  )

const asks = (shop: KoaShop.KoaShop) => shop.facilitator.told.map(({ ask }) => ask)

const cors: Koa.Middleware = (ctx, next) => {
  ctx.set({ Vary: "Origin", "Access-Control-Expose-Headers": "X-Request-Id", "Cache-Control": "private" })
  return next()
}

/** Turns every error into a page. */
const page: Koa.Middleware = async (ctx, next) => {
  try {
    await next()
  } catch {
    ctx.status = 200
    ctx.body = "sorry"
  }
}

const stream: Koa.Middleware = (ctx) => {
  ctx.body = Readable.from(["some", " more"])
}

const isPrivate = ({ headers }: Awaited<ReturnType<KoaShop.KoaShop["get"]>>, cache: string) => {
  assert.strictEqual(headers["cache-control"], cache)
  for (const name of ["cdn-cache-control", "surrogate-control"]) assert.strictEqual(headers[name], "no-store")
  for (const name of ["expires", "x-accel-expires"]) assert.strictEqual(headers[name], "0")
}

const mistake = (make: () => unknown): string => {
  try {
    make()
  } catch (error) {
    assert.strictEqual((error as { _tag?: string })._tag, "Misconfigured")
    return (error as Error).message
  }
  return "no mistake"
}

describe("an unpaid request", () => {
  it("gets 402 and the handler does not run", async () => {
    let ran = 0
    const shop = await open(() => void ran++)
    const { body, headers, status } = await shop.get("/report?day=1")
    assert.strictEqual(status, 402)
    assert.strictEqual(headers["content-type"], "application/json")
    assert.strictEqual(headers["cache-control"], "no-store")
    assert.strictEqual(headers["x-payment"], '{"protocolVersion":2,"schemes":["exact"]}')
    assert.strictEqual(JSON.parse(body).accepts[0].resource, "https://shop.example/report?day=1")
    assert.strictEqual(ran, 0)
  })

  it("gets the headers that the application's CORS middleware set, extended", async () => {
    const shop = await open(hello, { outer: [cors] })
    const { headers } = await shop.get("/report", { headers: { origin: "https://page.example" } })
    assert.strictEqual(
      headers["access-control-expose-headers"],
      "X-Request-Id, X-Payment, X-Payment-Response, PAYMENT-REQUIRED, PAYMENT-RESPONSE, Retry-After"
    )
    assert.strictEqual(headers.vary, "Origin")
    assert.strictEqual(headers["cache-control"], "no-store")
  })

  it("by HEAD gets 402 too; OPTIONS runs nothing; other routes are free", async () => {
    let ran = 0
    const shop = await open((ctx) => {
      ran++
      ctx.body = "free"
    })
    assert.strictEqual((await shop.get("/report", { method: "HEAD" })).status, 402)
    const options = await shop.get("/report", { method: "OPTIONS" })
    assert.strictEqual(options.status, 204)
    assert.strictEqual(options.headers.allow, "GET, HEAD, OPTIONS")
    assert.strictEqual(ran, 0)
    assert.strictEqual((await shop.get("/other")).body, "free")
    assert.strictEqual((await shop.get("/report", { method: "POST" })).body, "free")
  })

  it("with two payment headers is refused as malformed", async () => {
    const shop = await open(hello)
    const socket = connect(shop.port, "127.0.0.1")
    socket.end(
      `GET /report HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Payment: ${paid["x-payment"]}\r\nx-payment: ${paid["x-payment"]}\r\n\r\n`
    )
    let answer = ""
    for await (const chunk of socket) answer += String(chunk)
    assert.match(answer, /^HTTP\/1.1 402/)
    assert.include(answer, "duplicate_header")
    assert.deepStrictEqual(shop.facilitator.told, [])
  })
})

describe("a paid request", () => {
  it("runs the handler once, with a receipt, and reports it served", async () => {
    let ran = 0
    const shop = await open((ctx) => {
      ran++
      ctx.body = { payer: settlementOf(ctx)?.payer }
    })
    const { body, headers, status } = await shop.get("/report", { headers: paid })
    assert.strictEqual(status, 200)
    assert.deepStrictEqual(JSON.parse(body), { payer: "0xpayer" })
    assert.strictEqual(JSON.parse(String(headers["x-payment-response"])).paymentId, "pay_0123456789abcdefghijkl")
    assert.strictEqual(headers["cache-control"], "private")
    assert.strictEqual(headers.vary, "X-Payment, PAYMENT-SIGNATURE")
    assert.strictEqual(await shop.facilitator.nextEnd(), "served")
    assert.strictEqual(ran, 1)
  })

  it.each([
    ["public, max-age=60", "private"],
    ["no-store", "no-store"]
  ])("whose handler says %s is %s", async (said, heard) => {
    const shop = await open((ctx) => {
      ctx.set({ "Cache-Control": said, Vary: "Accept", "X-Payment-Response": "forged" })
      ctx.body = "hello"
    })
    const { headers } = await shop.get("/report", { headers: paid })
    assert.strictEqual(headers["cache-control"], heard)
    assert.strictEqual(headers.vary, "Accept, X-Payment, PAYMENT-SIGNATURE")
    assert.notStrictEqual(headers["x-payment-response"], "forged")
  })

  it("is private to every cache, whoever says otherwise, and how ever late", async () => {
    const lax = { "Cache-Control": "public", "CDN-Cache-Control": "max-age=60", "surrogate-control": "max-age=60" }
    const shared: Koa.Middleware = async (ctx, next) => {
      await next()
      ctx.set({ ...lax, Expires: "Fri, 31 Dec 2049 00:00:00 GMT", "X-Accel-Expires": "60" })
    }
    const raw: Koa.Middleware = (ctx) => {
      ctx.respond = false
      ctx.res.writeHead(200, { ...lax, Expires: "1", "X-Accel-Expires": "60", "X-Own": "1" }).end("raw")
    }
    const thrown: Koa.Middleware = () => {
      throw Object.assign(new Error("down"), { headers: { ...lax, Expires: "1", "X-Accel-Expires": "60" } })
    }
    const said = await open(stream, { outer: [shared] })
    isPrivate(await said.get("/report", { headers: paid }), "private")
    isPrivate(await said.get("/report"), "no-store")
    isPrivate(
      await (await open(stream, { outer: [shared], settle: "after-handler" })).get("/report", { headers: paid }),
      "private"
    )
    const own = await (await open(raw)).get("/report", { headers: paid })
    isPrivate(own, "private")
    assert.strictEqual(own.headers["x-own"], "1")
    assert.property(own.headers, "x-payment-response")
    isPrivate(await (await open(thrown)).get("/report", { headers: paid }), "private")
    const shareable = await open(stream, { outer: [shared], cache: "public, max-age=5" })
    const { headers } = await shareable.get("/report", { headers: paid })
    assert.strictEqual(headers["cache-control"], "public, max-age=5")
    assert.strictEqual(headers["cdn-cache-control"], "max-age=60")
  })

  it.each([
    ["", new Error("the database is down")],
    [" and is frozen", Object.freeze(new Error("the database is down"))]
  ])("leaves the error alone that its handler throws%s: a stranger who meets it gets no receipt", async (_, error) => {
    const caught: Array<unknown> = []
    const keep: Koa.Middleware = async (ctx, next) => {
      try {
        await next()
      } catch (thrown) {
        caught.push(thrown)
        ctx.status = 503
        ctx.body = "later"
      }
    }
    const shop = await open(
      () => {
        throw error
      },
      { outer: [keep] }
    )
    const { headers, status } = await shop.get("/report", { headers: paid })
    assert.strictEqual(status, 503)
    assert.property(headers, "x-payment-response")
    assert.strictEqual(caught[0], error)
    assert.notProperty(error, "headers")
    assert.strictEqual(await shop.facilitator.nextEnd(), "failed")
  })

  it("keeps its receipt when the handler throws, and counts as failed", async () => {
    const shop = await open(() => {
      throw Object.assign(new Error("database is down"), { headers: { "X-Own": "1", "Cache-Control": "public" } })
    })
    const { body, headers, status } = await shop.get("/report", { headers: paid })
    assert.strictEqual(status, 500)
    assert.notInclude(body, "database")
    assert.property(headers, "x-payment-response")
    assert.strictEqual(headers["cache-control"], "private")
    assert.strictEqual(headers["x-own"], "1")
    assert.strictEqual(await shop.facilitator.nextEnd(), "failed")
    assert.strictEqual(runs(shop).length, 1)
  })

  it("counts as failed when an outer middleware turns the thrown error into a page", async () => {
    const shop = await open(
      () => {
        throw new Error("database is down")
      },
      { outer: [page] }
    )
    assert.strictEqual((await shop.get("/report", { headers: paid })).status, 200)
    assert.strictEqual(await shop.facilitator.nextEnd(), "failed")
  })

  it.each<readonly [string, Koa.Middleware, number, string]>([
    ["throws a 404", (ctx) => ctx.throw(404, "no such day"), 404, "refused"],
    ["throws a 503", (ctx) => ctx.throw(503), 503, "failed"],
    ["says 404 and nothing else", (ctx) => void (ctx.status = 404), 404, "refused"],
    ["says 410", (ctx) => void Object.assign(ctx, { status: 410, body: "gone" }), 410, "refused"],
    ["says 502", (ctx) => void Object.assign(ctx, { status: 502, body: "bad" }), 502, "failed"],
    ["throws a 200", () => Promise.reject(Object.assign(new Error("odd"), { status: 200 })), 200, "failed"],
    ["throws no error", () => Promise.reject("text"), 500, "failed"]
  ])("whose handler %s counts accordingly", async (_, handler, status, outcome) => {
    const shop = await open(handler)
    const answer = await shop.get("/report", { headers: paid })
    assert.strictEqual(answer.status, status)
    assert.strictEqual(await shop.facilitator.nextEnd(), outcome)
  })

  it("that no handler takes counts as refused: the application has responded with 404", async () => {
    const shop = await open((_ctx, next) => next())
    assert.strictEqual((await shop.get("/report", { headers: paid })).status, 404)
    assert.strictEqual(await shop.facilitator.nextEnd(), "refused")
  })

  it("counts as failed when its stream breaks or the payer leaves before the end", async () => {
    const broken = await open((ctx) => {
      ctx.body = breaking()
    })
    await broken.get("/report", { headers: paid }).catch(() => undefined)
    assert.strictEqual(await broken.facilitator.nextEnd(), "failed")

    const endless = new PassThrough()
    const left = await open((ctx) => {
      ctx.body = endless
      endless.write("some")
    })
    const socket = connect(left.port, "127.0.0.1")
    socket.write(`GET /report HTTP/1.1\r\nHost: x\r\nX-Payment: ${paid["x-payment"]}\r\n\r\n`)
    await once(socket, "data")
    socket.destroy()
    assert.strictEqual(await left.facilitator.nextEnd(), "failed")
  })

  it("counts as served when its stream ends", async () => {
    const shop = await open((ctx) => {
      ctx.body = Readable.from(["some", " more"])
    })
    assert.strictEqual((await shop.get("/report", { headers: paid })).body, "some more")
    assert.strictEqual(await shop.facilitator.nextEnd(), "served")
  })

  it("is not run when the payer has left while it was settled", async () => {
    const asked = Deferred.makeUnsafe<void>()
    const left = Deferred.makeUnsafe<void>()
    const settle = Deferred.succeed(asked, undefined).pipe(
      Effect.andThen(Deferred.await(left)),
      Effect.as(FakeFacilitator.settled())
    )
    let ran = 0
    const shop = await open(() => void ran++, {
      says: { settle: () => settle },
      outer: [
        (ctx, next) => {
          ctx.res.once("close", () => Deferred.doneUnsafe(left, Effect.void))
          return next()
        }
      ]
    })
    const socket = connect(shop.port, "127.0.0.1")
    socket.write(`GET /report HTTP/1.1\r\nHost: x\r\nX-Payment: ${paid["x-payment"]}\r\n\r\n`)
    await Effect.runPromise(Deferred.await(asked))
    socket.destroy()
    assert.strictEqual(await shop.facilitator.nextEnd(), "notRun")
    assert.strictEqual(ran, 0)
  })

  it("over HTTP/2 is given back when it is reset while it is settled, or after a few parts", async () => {
    const asked = Deferred.makeUnsafe<void>()
    const left = Deferred.makeUnsafe<void>()
    const settle = Deferred.succeed(asked, undefined).pipe(
      Effect.andThen(Deferred.await(left)),
      Effect.as(FakeFacilitator.settled())
    )
    const facilitator = FakeFacilitator.make({ settle: () => settle })
    const gate = paymentMiddleware({ ...KoaShop.options(facilitator), routes: { "GET /report": terms } })
    await gate.ready()
    let ran = 0
    const app = new Koa().use(gate).use((ctx) => {
      ran++
      const parts = new PassThrough()
      parts.write("some")
      ctx.body = parts
    })
    app.silent = true
    const server = createSecondServer(app.callback()).on("stream", (stream) => {
      stream.once("close", () => Deferred.doneUnsafe(left, Effect.void))
    })
    server.listen(0, "127.0.0.1")
    await once(server, "listening")
    const session = connectSecond(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    closing.push(gate.close, async () => {
      session.destroy()
      server.close()
    })
    const ask = () => session.request({ ":path": "/report", ...paid }).on("error", () => {})
    const early = ask()
    await Effect.runPromise(Deferred.await(asked))
    early.close(constants.NGHTTP2_CANCEL)
    assert.strictEqual(await facilitator.nextEnd(), "notRun")
    assert.strictEqual(ran, 0)
    const late = ask()
    await once(late, "data")
    late.close(constants.NGHTTP2_CANCEL)
    assert.strictEqual(await facilitator.nextEnd(), "failed")
    assert.strictEqual(ran, 1)
  })

  it("whose response is cut counts as served once 64 KiB of it have left", async () => {
    const shop = await open((ctx) => {
      const parts = new PassThrough()
      parts.write(Buffer.alloc(80 * 1024))
      ctx.body = parts
    })
    const socket = connect(shop.port, "127.0.0.1")
    socket.write(`GET /report HTTP/1.1\r\nHost: x\r\nX-Payment: ${paid["x-payment"]}\r\n\r\n`)
    let count = 0
    for await (const chunk of socket) {
      count += Buffer.from(chunk).length
      if (count > 80 * 1024) break
    }
    assert.strictEqual(await shop.facilitator.nextEnd(), "served")
  })

  it("that waits behind another one is given back when its connection closes", async () => {
    const shop = await open((ctx) => {
      const parts = new PassThrough()
      parts.write("some")
      ctx.body = parts
    })
    const socket = connect(shop.port, "127.0.0.1")
    const line = `GET /report HTTP/1.1\r\nHost: x\r\nX-Payment: ${paid["x-payment"]}\r\n\r\n`
    socket.write(line + line)
    await once(socket, "data")
    socket.destroy()
    assert.include(["failed", "notRun"], await shop.facilitator.nextEnd())
    assert.include(["failed", "notRun"], await shop.facilitator.nextEnd())
  })

  it("by HEAD runs the handler, as GET does", async () => {
    const shop = await open(hello)
    const answer = await shop.get("/report", { method: "HEAD", headers: paid })
    assert.strictEqual(answer.status, 200)
    assert.property(answer.headers, "x-payment-response")
    assert.strictEqual(await shop.facilitator.nextEnd(), "served")
  })
})

describe("after-handler", () => {
  const late = { settle: "after-handler" } as const
  it("settles after the handler and before the response", async () => {
    const shop = await open((ctx) => {
      assert.deepStrictEqual(
        shop.facilitator.told.map(({ ask }) => ask),
        ["claim"]
      )
      assert.isUndefined(settlementOf(ctx))
      ctx.body = { fine: true }
    }, late)
    const { body, headers } = await shop.get("/report", { headers: paid })
    assert.deepStrictEqual(JSON.parse(body), { fine: true })
    assert.property(headers, "x-payment-response")
    assert.strictEqual(headers["cache-control"], "private")
    assert.strictEqual(await shop.facilitator.nextEnd(), "served")
    assert.deepStrictEqual(asks(shop), ["claim", "settle", "finish"])
  })

  it.each<readonly [string, () => unknown, string]>([
    ["a stream", () => Readable.from(["some", " more"]), "application/octet-stream"],
    ["a blob", () => new Blob(["some more"], { type: "text/plain" }), "text/plain"],
    ["a web stream", () => new Blob(["some more"]).stream(), "application/octet-stream"],
    ["a response", () => new Response("some more", { headers: { "content-type": "text/csv" } }), "text/csv"],
    ["bytes", () => Buffer.from("some more"), "application/octet-stream"]
  ])("holds back %s, with its type", async (_, body, type) => {
    const shop = await open((ctx) => {
      ctx.body = body()
    }, late)
    const answer = await shop.get("/report", { headers: paid })
    assert.strictEqual(answer.body, "some more")
    assert.include(String(answer.headers["content-type"]), type)
    assert.strictEqual(answer.headers["content-length"], "9")
    assert.strictEqual(await shop.facilitator.nextEnd(), "served")
  })

  it.each<readonly [string, Koa.Middleware, number, string]>([
    ["responds with 404", (ctx) => void Object.assign(ctx, { status: 404, body: "no" }), 404, "failed"],
    ["throws a 400", (ctx) => ctx.throw(400), 400, "failed"],
    ["throws", () => Promise.reject(new Error("down")), 500, "failed"],
    ["is not there", (_ctx, next) => next(), 404, "notRun"]
  ])("charges nothing when the handler %s", async (_, handler, status, outcome) => {
    const shop = await open(handler, late)
    const answer = await shop.get("/report", { headers: paid })
    assert.strictEqual(answer.status, status)
    assert.notProperty(answer.headers, "x-payment-response")
    assert.strictEqual(await shop.facilitator.nextEnd(), outcome)
    assert.notInclude(asks(shop), "settle")
  })

  it("drops the whole response when the settlement fails", async () => {
    const shop = await open(
      (ctx) => {
        ctx.set({ ETag: '"secret"', "Set-Cookie": "a=b", "Content-Disposition": "attachment" })
        ctx.body = "the report"
      },
      {
        ...late,
        says: { settle: () => Effect.succeed(FakeFacilitator.settled({ status: "sent" })) },
        outer: [
          (ctx, next) => {
            ctx.set("X-Request-Id", "7")
            return next()
          }
        ]
      }
    )
    const { body, headers, status } = await shop.get("/report", { headers: paid })
    assert.strictEqual(status, 503)
    assert.notInclude(body, "the report")
    assert.strictEqual(JSON.parse(body).retry, "same_payment")
    for (const name of ["etag", "set-cookie", "content-disposition"]) assert.notProperty(headers, name)
    assert.strictEqual(headers["x-request-id"], "7")
    assert.strictEqual(headers["content-length"], `${Buffer.byteLength(body)}`)
    assert.strictEqual(await shop.facilitator.nextEnd(), "unanswered")
  })

  it.each<readonly [string, Koa.Middleware]>([
    [
      "is too long",
      (ctx) => {
        ctx.body = Readable.from(Array.from({ length: 9 }, () => Buffer.alloc(1024 * 1024)))
      }
    ],
    [
      "breaks",
      (ctx) => {
        ctx.body = breaking()
      }
    ],
    [
      "is a stream that cannot be read",
      (ctx) => {
        ctx.body = new Writable()
      }
    ]
  ])("refuses, uncharged, a response that %s", async (_, handler) => {
    const shop = await open(handler, late)
    const answer = await shop.get("/report", { headers: paid })
    assert.notProperty(answer.headers, "x-payment-response")
    assert.strictEqual(await shop.facilitator.nextEnd(), "failed")
    assert.notInclude(asks(shop), "settle")
  })
})

const openRouter = async (
  router: Router,
  routes: Readonly<Record<string, object>>,
  says?: Parameters<typeof FakeFacilitator.make>[0]
) => {
  const facilitator = FakeFacilitator.make(says)
  const gate = paymentMiddleware({
    ...KoaShop.options(facilitator),
    router,
    routes: Object.fromEntries(Object.entries(routes).map(([key, changes]) => [key, { ...terms, ...changes }]))
  })
  await gate.ready()
  const app = new Koa().use(gate).use(router.routes()).use(router.allowedMethods())
  const server = await serve(app)
  closing.push(server.close, gate.close)
  return { ...server, facilitator }
}

describe("a map with a router", () => {
  it("sells the routes that its keys name, in nested routers too, and gives getPrice the router's parameters", async () => {
    const seen: Array<unknown> = []
    const days = new Router().get("/:day", hello).get("/:day/raw", greeting())
    const router = new Router({ prefix: "/api" }).get("/free", greeting()).use("/reports", days.routes())
    const { price: _, ...unpriced } = terms
    const shop = await openRouter(router, {
      "GET /api/reports/:day": {
        ...unpriced,
        price: undefined,
        getPrice: ({ params }: { readonly params: unknown }) => {
          seen.push(params)
          return "$0.01"
        }
      }
    })
    assert.strictEqual((await shop.get("/api/reports/monday")).status, 402)
    assert.strictEqual((await shop.get("/api/reports/monday", { headers: paid })).body, "hello")
    assert.deepStrictEqual(seen, [{ day: "monday" }, { day: "monday" }])
    assert.strictEqual((await shop.get("/api/free")).status, 200)
    assert.strictEqual((await shop.get("/api/reports/monday/raw")).status, 200)
  })

  it("sells every route that a key with * covers, by the key that says most", async () => {
    const router = new Router().get("/a/x", hello).get("/a/:y/z", hello).all("/b", greeting())
    const shop = await openRouter(router, { "GET /a/*": { price: "$1" }, "GET /a/x": { price: "$2" } })
    const priceOf = async (path: string) => JSON.parse((await shop.get(path)).body).accepts[0].maxAmountRequired
    assert.strictEqual(await priceOf("/a/x"), "2000000")
    assert.strictEqual(await priceOf("/a/1/z"), "1000000")
    assert.strictEqual((await shop.get("/b")).status, 200)
  })

  it("asks once where two layers of one route answer together", async () => {
    const router = new Router().get("/a/:x", (_ctx, next) => next()).get("/a/y", hello)
    const shop = await openRouter(router, { "GET /a/*": {} })
    assert.strictEqual((await shop.get("/a/y", { headers: paid })).body, "hello")
    assert.strictEqual(shop.facilitator.told.filter(({ ask }) => ask === "settle").length, 1)
  })

  it("covers HEAD, runs nothing for OPTIONS, and leaves other handlers of a path alone", async () => {
    const router = new Router()
    router.register("/report", ["GET", "OPTIONS"], hello)
    router.get("/only-get", hello).post("/report", greeting()).head("/only-head", hello).get("/only-head", hello)
    const shop = await openRouter(router, { "GET /report": {}, "GET /only-get": {}, "GET /only-head": {} })
    assert.strictEqual((await shop.get("/report", { method: "HEAD" })).status, 402)
    assert.strictEqual((await shop.get("/only-head", { method: "HEAD" })).status, 402)
    const options = await shop.get("/report", { method: "OPTIONS" })
    assert.strictEqual(options.status, 204)
    assert.strictEqual(options.body, "")
    assert.strictEqual((await shop.get("/report", { method: "POST" })).body, "hello")
    assert.deepStrictEqual(shop.facilitator.told, [])
  })

  it("catches up with routes that are added after it", async () => {
    const router = new Router().get("/a/x", hello)
    const shop = await openRouter(router, { "GET /a/*": {} })
    router.get("/a/later", hello)
    assert.strictEqual((await shop.get("/a/later")).status, 402)
  })

  it("refuses a price function whose key names a parameter that the router calls otherwise, later ones too", async () => {
    const router = new Router().get("/a/:day", hello)
    const { price: _, ...unpriced } = terms
    const priced = { ...unpriced, getPrice: () => "$0.01" }
    const make = (key: string, config: RouteConfig) => () =>
      paymentMiddleware({ ...KoaShop.options(FakeFacilitator.make()), router, routes: { [key]: config } })
    assert.include(mistake(make("GET /a/:date", priced)), "GET /a/:day has no parameter :date, so getPrice")
    assert.strictEqual(mistake(make("GET /a/:day", priced)), "no mistake")
    const fixed = new Router().get("/b/:x", hello)
    const shop = await openRouter(fixed, { "GET /b/:x": { price: undefined, getPrice: () => "$0.01" } })
    fixed.get("/b/later", greeting())
    assert.strictEqual((await shop.get("/b/later")).status, 402)
    fixed.get("/b/:y", greeting())
    assert.strictEqual((await shop.get("/b/other")).status, 402)
  })

  it("says which key has no route, and which routes there are", () => {
    const router = new Router({ prefix: "/api" }).get("/report", hello)
    const make = (key: string) => () =>
      paymentMiddleware({ ...KoaShop.options(FakeFacilitator.make()), router, routes: { [key]: terms } })
    assert.include(mistake(make("GET /report")), 'route "GET /report": the router has no such route')
    assert.include(mistake(make("GET /report")), "The router's routes: GET /api/report")
    assert.include(mistake(make("POST /api/report")), "the router has no such route")
    assert.strictEqual(mistake(make("GET /api/report")), "no mistake")
  })
})

const make = (routes: PaymentOptions["routes"]) => () =>
  paymentMiddleware({ ...KoaShop.options(FakeFacilitator.make()), routes })

describe("paymentMiddleware", () => {
  it("throws for keys that are none, or cannot be told apart", () => {
    assert.include(mistake(make({ "/report": terms })), 'route "/report": expected a method')
    assert.include(mistake(make({ "GET /:a": terms, "GET /:b": terms })), "keep one")
    assert.include(mistake(make({ "GET /report": { ...terms, price: "1" } })), 'route "GET /report": price')
  })
})

describe("paymentRoutes", () => {
  it("sells one route after routing", async () => {
    const facilitator = FakeFacilitator.make()
    const payment = paymentRoutes(KoaShop.options(facilitator))
    const router = new Router()
      .get("/report", payment.paid(terms), hello)
      .get("/dear", payment.paid({ ...terms, price: "$5" }, "GET /dear"), hello)
      .get("/free", hello)
    await payment.ready()
    const server = await serve(new Koa().use(router.routes()))
    closing.push(server.close, payment.close)
    assert.strictEqual((await server.get("/report")).status, 402)
    assert.strictEqual(JSON.parse((await server.get("/dear")).body).accepts[0].maxAmountRequired, "5000000")
    assert.strictEqual((await server.get("/report", { headers: paid })).body, "hello")
    assert.strictEqual(await facilitator.nextEnd(), "served")
    assert.strictEqual((await server.get("/free")).body, "hello")
    assert.include(
      mistake(() => payment.paid({ ...terms, price: "1" }, "GET /x")),
      'route "GET /x": price'
    )
    assert.include(
      mistake(() => payment.paid({ ...terms, price: "1" })),
      "paid route 2"
    )
  })
})
