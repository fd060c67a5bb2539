/** Sold paths of an application whose URLs are rewritten before its router sees them. */
import fastify from "fastify"
import { afterEach, assert, describe, it } from "vitest"

import * as LedgerSeller from "../../../core/test/server/LedgerSeller.ts"
import { paymentPlugin } from "../src/index.ts"

const closing: Array<() => Promise<unknown>> = []
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()))
})

const open = async () => {
  const { options, terms } = LedgerSeller.open()
  const payment = paymentPlugin({ ...options, routes: { "GET /api/report": terms, "GET /sold/report": terms } })
  const app = fastify({ rewriteUrl: ({ url = "/" }) => url.replace(/^\/en\//, "/").replace(/^\/sold\//, "/free/") })
  await app.register(payment)
  // A free wildcard that reaches into a sold path, as a proxy does.
  app.get("/api/*", ({ params }) => `proxied ${(params as { readonly "*": string })["*"]}`)
  app.get("/api/report", () => "goods")
  app.get("/free/*", () => "rewritten goods")
  app.get("/sold/report", () => "goods")
  await payment.ready()
  closing.push(() => app.close())
  return async (url: string) => (await app.inject({ url })).statusCode
}

describe("a sold path that a free wildcard answers", () => {
  it.each(["/api/report", "/api/report/", "/api/REPORT", "/en/api/report", "/en/api/report/", "/en/api/report/?x=1"])(
    "is sold by its rewritten URL: %s",
    async (url) => {
      assert.strictEqual(await (await open())(url), 402)
    }
  )

  it("is sold by its original URL", async () => {
    assert.strictEqual(await (await open())("/sold/report"), 402)
  })

  it.each(["/api/other", "/en/api/other", "/free/report", "/sold/other"])("leaves %s free", async (url) => {
    assert.strictEqual(await (await open())(url), 200)
  })
})
