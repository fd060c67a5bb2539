/**
 * Sold goods are not given away beside the gate: found at start where it can be seen, and responded with 500 where it cannot.
 */
import { once } from "node:events"
import { createServer, type RequestListener } from "node:http"
import type { AddressInfo } from "node:net"

import { Router } from "@koa/router"
import Koa from "koa"
import mount from "koa-mount"
import { afterEach, assert, describe, it } from "vitest"

import * as FakeFacilitator from "../../../core/test/server/FakeFacilitator.ts"
import { paymentMiddleware, paymentRoutes, type PaymentOptions } from "../src/index.ts"
import * as KoaShop from "./KoaShop.ts"

const { paid, terms } = KoaShop

const closing: Array<() => unknown> = []
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()))
})

const goods: Koa.Middleware = (ctx) => {
  ctx.body = "goods"
}

const other: Koa.Middleware = (ctx) => {
  ctx.body = "other"
}

const passing: Koa.Middleware = (_ctx, next) => next()

const gateFor = (keys: ReadonlyArray<string>, options: Partial<PaymentOptions> = {}) => {
  const gate = paymentMiddleware({
    ...KoaShop.options(FakeFacilitator.make()),
    routes: Object.fromEntries(keys.map((key) => [key, terms])),
    ...options
  })
  closing.push(gate.close)
  return gate
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

/** The parts of an application that are used. */
interface App {
  readonly on: (event: "error", listener: (error: Error) => void) => unknown
  readonly callback: () => RequestListener
}

const open = async (app: App) => {
  const logged: Array<string> = []
  app.on("error", (error: Error) => logged.push(error.message))
  const server = createServer(app.callback()).listen(0, "127.0.0.1")
  await once(server, "listening")
  closing.push(() => server.close())
  const { port } = server.address() as AddressInfo
  const ask = (path: string, init?: RequestInit) => fetch(`http://127.0.0.1:${port}${path}`, init)
  return { ask, logged }
}

const at = (path: string) => new Router().get(path, goods)

/** The response to a request, and whether the log names the sale. */
const leaving = async (app: App, path: string, init?: RequestInit) => {
  const { ask, logged } = await open(app)
  const answer = await ask(path, init)
  return {
    status: answer.status,
    hasGoods: (await answer.text()).includes("goods"),
    isLogged: /sold/.test(logged.join())
  }
}

const heldBack = { status: 500, hasGoods: false, isLogged: true }

const override: Koa.Middleware = (ctx, next) => {
  ctx.method = ctx.get("X-Method") || ctx.method
  return next()
}

/** Keeps every response for everyone, as `koa-cash` does. */
const blindCache = (): Koa.Middleware => {
  const kept = new Map<string, unknown>()
  return async (ctx, next) => {
    if (kept.has(ctx.path)) ctx.body = kept.get(ctx.path)
    else {
      await next()
      if (ctx.status === 200) kept.set(ctx.path, ctx.body)
    }
  }
}

const rewriting: Koa.Middleware = (ctx, next) => {
  ctx.path = ctx.path.replace("/v1", "")
  return next()
}

const thrown: Koa.Middleware = (ctx) => ctx.throw(200, "goods")

describe("a router that gives away what is sold is refused at start:", () => {
  it.each<readonly [string, () => Router, ReadonlyArray<string>, RegExp]>([
    ["all methods", () => new Router().all("/report", goods), ["GET /report"], /its handler also answers ACL, BIND/],
    ["one path of two", () => new Router().get(["/a", "/b"], goods), ["GET /a"], /also answers GET \/b for free/],
    ["one method of two", () => at("/report").post("/report", goods), ["GET /report"], /also answers POST \/report/],
    ["OPTIONS", () => at("/report").options("/report", goods), ["GET /report"], /also answers OPTIONS \/report/],
    ["a path of its own", () => at("/report").get("/preview", goods), ["GET /report"], /also answers GET \/preview/],
    [
      "paths of a nested router",
      () => new Router().use("/x", new Router().get(["/a", "/b"], goods).routes()),
      ["GET /x/a"],
      /also answers GET \/x\/b for free/
    ],
    [
      "a free route before it",
      () => new Router().get("/reports/:day", other).get("/reports/today", goods),
      ["GET /reports/today"],
      /GET \/reports\/:day can answer its requests before it/
    ],
    [
      "a free route before it, by a path of both",
      () => new Router().get("/a/y/:w", other).get("/a/:x/z", goods),
      ["GET /a/:x/z"],
      /GET \/a\/y\/:w can answer its requests before it/
    ],
    [
      "a regular expression before it",
      () => new Router().get(/^\/rep/, other).get("/report", goods),
      ["GET /report"],
      /can answer its requests before it/
    ],
    [
      "an optional part before it",
      () => new Router().get("/files{/*rest}", other).get("/files", goods),
      ["GET /files"],
      /can answer its requests before it/
    ],
    [
      "a free route of an exclusive router",
      () => new Router({ exclusive: true }).get("/report", goods).get("/:any", other),
      ["GET /report"],
      /GET \/:any can answer its requests before it/
    ]
  ])("%s", (_, router, keys, message) => {
    assert.match(
      mistake(() => gateFor(keys, { router: router() })),
      message
    )
  })

  it.each<readonly [string, () => Router, ReadonlyArray<string>]>([
    ["a free route after it", () => at("/report").get("/:any", other), ["GET /report"]],
    ["middleware", () => new Router().use(passing).use("/report", passing).get("/report", goods), ["GET /report"]],
    ["all its paths", () => new Router().get(["/a", "/b"], goods), ["GET /a", "GET /b"]],
    [
      "a step of its own",
      () => {
        const payment = paymentRoutes(KoaShop.options(FakeFacilitator.make()))
        closing.push(payment.close)
        return at("/a").get("/b", payment.paid(terms), goods)
      },
      ["GET /a"]
    ]
  ])("but not %s", (_, router, keys) => {
    assert.strictEqual(
      mistake(() => gateFor(keys, { router: router() })),
      "no mistake"
    )
  })

  it("a copy of it that another router took before, where the application is known", async () => {
    const nested = new Router().get("/report", goods)
    const app = new Koa().use(new Router().use("/api", nested.routes()).routes())
    assert.match(
      mistake(() => gateFor(["GET /report"], { router: nested, app })),
      /GET \/api\/report is sold, and served without a payment/
    )
    const late = new Koa()
    const early = new Router().get("/report", other)
    const parent = new Router().use("/api", early.routes())
    const gate = gateFor(["GET /report"], { router: early, app: late })
    late.use(gate).use(parent.routes())
    const failure = await gate.ready().catch((error: unknown) => error)
    assert.match(String(failure), /GET \/api\/report is sold/)
  })

  it("a router before the gate, where the application is known", async () => {
    const app = new Koa().use(new Router().get("/report", goods).routes())
    assert.match(
      mistake(() => gateFor(["GET /report"], { app })),
      /GET \/report is sold, and served without a payment/
    )
    const late = new Koa()
    const gate = gateFor(["GET /report"], { app: late })
    late.use(new Router().get("/report", other).routes()).use(gate)
    assert.match(String(await gate.ready().catch((error: unknown) => error)), /GET \/report is sold/)
    const right = new Koa()
    const placed = gateFor(["GET /report"], { app: right })
    right.use(placed).use(new Router().get("/report", other).routes())
    await placed.ready()
  })
})

describe("a route that is added later", () => {
  it("is closed where it gives away what is sold", async () => {
    const router = new Router().get("/report", goods)
    const gate = gateFor(["GET /report"], { router })
    await gate.ready()
    const { ask, logged } = await open(new Koa().use(gate).use(router.routes()))
    router.get("/copy", goods).get("/free", other)
    assert.strictEqual((await ask("/copy")).status, 500)
    assert.match(logged[0] ?? "", /its handler also answers GET \/copy for free/)
    assert.strictEqual((await ask("/free")).status, 200)
  })
})

describe("a request that goes past the gate", () => {
  it("through a copy of its router is a 500", async () => {
    const nested = new Router().get("/report", goods)
    const parent = new Router().use("/api", nested.routes())
    const gate = gateFor(["GET /report"], { router: nested })
    await gate.ready()
    const composed = new Koa()
    composed.use(parent.routes())
    assert.deepStrictEqual(
      await leaving(new Koa().use(gate).use(mount("/shop", composed)), "/shop/api/report"),
      heldBack
    )
    assert.deepStrictEqual(await leaving(new Koa().use(gate).use(parent.routes()), "/api/report"), heldBack)
  })

  it("through a router before it is a 500 from the first request on that comes through", async () => {
    const gate = gateFor(["GET /report"])
    await gate.ready()
    const router = new Router().get("/report", goods)
    const { ask, logged } = await open(new Koa().use(router.routes()).use(gate).use(other))
    assert.strictEqual((await ask("/elsewhere")).status, 500)
    assert.match(logged[0] ?? "", /GET \/report is sold/)
  })

  it("by a method that is rewritten behind it is a 500", async () => {
    const gate = gateFor(["GET /report"])
    await gate.ready()
    const router = new Router().get("/report", goods).post("/report", other)
    const app = new Koa().use(gate).use(override).use(router.routes())
    assert.deepStrictEqual(await leaving(app, "/report", { method: "POST", headers: { "X-Method": "GET" } }), heldBack)
    assert.deepStrictEqual(await leaving(app, "/report", { method: "POST", headers: { "X-Method": "get" } }), heldBack)
  })

  it("by a path that is rewritten behind it is a 500", async () => {
    const gate = gateFor(["GET /report"])
    await gate.ready()
    assert.deepStrictEqual(await leaving(new Koa().use(gate).use(rewriting).use(goods), "/v1/report"), heldBack)
  })

  it("to a response of middleware in front of the router is a 500, streams and thrown answers too", async () => {
    const router = new Router().get("/report", other)
    const gate = gateFor(["GET /report"], { router })
    await gate.ready()
    assert.deepStrictEqual(await leaving(new Koa().use(gate).use(goods).use(router.routes()), "/Report/"), heldBack)
    assert.deepStrictEqual(await leaving(new Koa().use(gate).use(thrown).use(router.routes()), "/report"), heldBack)
  })

  it.each([
    ["after the middleware", undefined],
    ["as a step of the route", new Router()]
  ])("from a cache that is blind to its privacy pays where the cache stands %s", async (_, router) => {
    const cache = blindCache()
    router?.get("/report", cache, goods)
    const gate = gateFor(["GET /report"], router && { router })
    await gate.ready()
    const app = new Koa().use(gate)
    const { ask } = await open(router === undefined ? app.use(cache).use(goods) : app.use(router.routes()))
    assert.strictEqual((await ask("/report", { headers: paid })).status, 200)
    assert.strictEqual((await ask("/report")).status, 402)
  })

  it("from a cache between gate and router is a 500 that says where the cache has to stand", async () => {
    const router = new Router().get("/report", goods)
    const gate = gateFor(["GET /report"], { router })
    await gate.ready()
    const { ask, logged } = await open(new Koa().use(gate).use(blindCache()).use(router.routes()))
    assert.strictEqual((await ask("/report", { headers: paid })).status, 200)
    assert.strictEqual((await ask("/report")).status, 500)
    assert.match(logged[0] ?? "", /a cache .* behind the gate/)
  })

  const modes = [
    ["before", () => ({})],
    ["in", (router: Router) => ({ router })]
  ] as const

  it.each(
    modes.flatMap(([place, options]) => ["get", "Get", "head"].map((method) => [method, place, options] as const))
  )("in the method %s, rewritten in front of a gate %s the router, pays", async (method, _, options) => {
    const router = new Router().get("/report", goods)
    const gate = gateFor(["GET /report"], options(router))
    await gate.ready()
    const { ask } = await open(new Koa().use(override).use(gate).use(router.routes()))
    assert.strictEqual((await ask("/report", { method: "POST", headers: { "X-Method": method } })).status, 402)
  })

  it("between router and gate in a method without a price is a 500", async () => {
    const router = new Router().use(override).get("/report", goods)
    const gate = gateFor(["GET /report"], { router })
    await gate.ready()
    const { ask, logged } = await open(new Koa().use(gate).use(router.routes()))
    assert.strictEqual((await ask("/report", { headers: { "X-Method": "PUT" } })).status, 500)
    assert.match(logged[0] ?? "", /PUT reached GET \/report, where it has no price/)
    assert.strictEqual((await ask("/report", { headers: { ...paid, "X-Method": "get" } })).status, 200)
  })

  it("to something that is free stays as it is", async () => {
    const router = new Router().get("/report", goods).get("/free", other)
    const gate = gateFor(["GET /report"], { router })
    await gate.ready()
    const { ask } = await open(new Koa().use(gate).use(router.routes()).use(router.allowedMethods()))
    assert.strictEqual(await (await ask("/free")).text(), "other")
    assert.strictEqual((await ask("/report", { method: "OPTIONS" })).status, 200)
    assert.strictEqual((await ask("/report", { method: "DELETE" })).status, 405)
    assert.strictEqual((await ask("/nowhere")).status, 404)
    assert.strictEqual(await (await ask("/report", { headers: paid })).text(), "goods")
  })
})
