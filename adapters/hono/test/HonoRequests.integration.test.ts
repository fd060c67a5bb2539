/** Requests as other middleware and another copy of Hono leave them: their body read or replaced, their routes told by that copy. */
import { createRequire } from "node:module"

import { Hono, type MiddlewareHandler } from "hono"
import { bodyLimit } from "hono/body-limit"
import { afterEach, assert, describe, it } from "vitest"

import { paymentMiddleware, paymentRoutes, settlementOf } from "../src/index.ts"
import * as HonoShop from "./HonoShop.ts"

const closing: Array<() => Promise<unknown>> = []
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()))
})

const stepOf =
  (config: object = {}): HonoShop.Gate =>
  (options, terms) => {
    const { close, paid, ready } = paymentRoutes(options)
    return Object.assign(paid({ ...terms, ...config }), { close, ready })
  }

const mapOf =
  (key: string, config: object = {}): HonoShop.Gate =>
  (options, terms) =>
    paymentMiddleware({ ...options, routes: { [key]: { ...terms, ...config } } })

const opened = async (...given: Parameters<typeof HonoShop.open>) => {
  const shop = await HonoShop.open(...given)
  closing.push(shop.close)
  return shop
}

const body = "It rained."

describe("a request that middleware behind the gate replaces by one with the body that it has read", () => {
  const limit = bodyLimit({ maxSize: 1000 })

  it("keeps its receipt", async () => {
    const app = new Hono()
    const { ask, payment } = await opened(app, mapOf("POST /report"), (gate) => {
      app.use(gate, limit)
      app.post("/report", async (context) =>
        context.text(`${settlementOf(context)?.payer}: ${await context.req.text()}`)
      )
    })
    const headers = await payment({ body })
    assert.deepInclude(await ask({ headers, body }), { status: 200, text: `acct-alice: ${body}` })
  })

  it.each(["before-handler", "after-handler"] as const)("passes the step of its route again (%s)", async (settle) => {
    const app = new Hono()
    const { ask, payment, transfers } = await opened(app, stepOf({ settle }), (step) => {
      app.post("/report", step, limit, step, async (context) => context.text(await context.req.text()))
    })
    const headers = await payment({ body })
    assert.deepInclude(await ask({ headers, body }), { status: 200, text: body, hasReceipt: true })
    assert.strictEqual(transfers(), 1n)
  })
})

describe("an application of another copy of Hono", () => {
  const { Hono: OtherHono } = createRequire(import.meta.url)("hono") as { readonly Hono: typeof Hono }

  it("is another copy", () => assert.notStrictEqual(OtherHono, Hono))

  it("sells the routes of a map, and serves the others", async () => {
    const app = new OtherHono()
    const { ask, payment } = await opened(app, mapOf("GET /report"), (gate) => {
      app.use(gate)
      app.get("/report", (context) => context.text(`${settlementOf(context)?.payer}`))
      app.get("/free", (context) => context.text("free"))
    })
    assert.deepInclude(await ask({ path: "/free" }), { status: 200, text: "free" })
    assert.strictEqual((await ask({ path: "/none" })).status, 404)
    assert.deepInclude(await ask({ headers: await payment() }), { status: 200, text: "acct-alice" })
  })

  it("sells a route that its pattern alone tells", async () => {
    const app = new OtherHono({ getPath: (request) => `/shop${new URL(request.url).pathname}` })
    const { ask, payment } = await opened(app, mapOf("GET /shop/:name"), (gate) => {
      app.use(gate)
      app.get("/shop/:name{.+}", (context) => context.text(context.req.param("name")))
    })
    const path = "/reports/today"
    assert.strictEqual((await ask({ path })).status, 402)
    assert.deepInclude(await ask({ path, headers: await payment({ path }) }), { status: 200, text: "reports/today" })
  })

  it("sells a route by a step", async () => {
    const app = new OtherHono()
    const { ask, payment } = await opened(app, stepOf(), (step) => {
      app.get("/report", step, (context) => context.text("It will rain."))
    })
    assert.strictEqual((await ask()).status, 402)
    assert.deepInclude(await ask({ headers: await payment() }), { status: 200, text: "It will rain." })
  })
})

/** Opens a shop behind middleware that reads the body. */
const sold = (read: (request: Parameters<MiddlewareHandler>[0]["req"]) => Promise<unknown>) => {
  const app = new Hono()
  return opened(app, mapOf("POST /report", { bind: "body" }), (gate) => {
    app.use(async (context, next) => {
      await read(context.req)
      await next()
    })
    app.use(gate)
    app.post("/report", async (context) => context.text(await context.req.text()))
  })
}

describe('bind: "body" on a route whose body was read in front of the gate', () => {
  const multipart = '--b\r\nContent-Disposition: form-data; name="page"\r\n\r\n1\r\n--b--\r\n'
  const form = { "Content-Type": "multipart/form-data; boundary=b" }
  const fields = { "Content-Type": "application/x-www-form-urlencoded" }
  const json = { "Content-Type": "application/json" }

  it.each<readonly [string, Parameters<typeof sold>[0], Readonly<Record<string, string>>, string]>([
    ["parseBody", (request) => request.parseBody(), form, multipart],
    ["json", (request) => request.json(), json, '{ "page": 1 }'],
    ["text", (request) => request.text(), json, '{ "page": 1 }'],
    ["arrayBuffer", (request) => request.arrayBuffer(), json, '{ "page": 1 }'],
    ["blob", (request) => request.blob(), json, '{ "page": 1 }']
  ])("sells it where %s has kept its bytes", async (_, read, type, body) => {
    const { ask, payment } = await sold(read)
    const headers = { ...type, ...(await payment({ headers: type, body })) }
    assert.deepInclude(await ask({ headers, body }), { status: 200, text: body })
  })

  it.each<readonly [string, Parameters<typeof sold>[0], Readonly<Record<string, string>>, string]>([
    ["formData of Hono's request, for a multipart form", (request) => request.formData(), form, multipart],
    ["formData of Hono's request, for fields", (request) => request.formData(), fields, "page=1"],
    ["formData of the platform's request", (request) => request.raw.formData(), form, multipart]
  ])("refuses it as an error where %s has kept none", async (_, read, headers, body) => {
    const { ask, transfers } = await sold(read)
    const { status, text } = await ask({ headers, body })
    assert.include(JSON.parse(text), { detail: "body_unavailable" })
    assert.strictEqual(status, 500)
    assert.strictEqual(transfers(), 0n)
  })
})
