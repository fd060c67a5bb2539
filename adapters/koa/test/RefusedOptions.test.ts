import { assert, describe, it } from "@effect/vitest"

import * as FakeFacilitator from "../../../core/test/server/FakeFacilitator.ts"
import { paymentMiddleware, paymentRoutes } from "../src/index.ts"
import * as KoaShop from "./KoaShop.ts"

const shop = KoaShop.options(FakeFacilitator.make())
const routes = { "GET /report": KoaShop.terms }

const cases: ReadonlyArray<readonly [unknown, RegExp]> = [
  [{ ...shop, route: routes }, /^route: unknown key; did you mean routes\?$/],
  [{ ...shop, routes, pricse: 1 }, /^pricse: unknown key; did you mean prices\?$/],
  [{ ...shop, routes: [] }, /^routes: expected a plain object, got a list$/],
  [{ ...shop, routes: null }, /^routes: expected a plain object, got null$/],
  [{ ...shop, routes, router: {} }, /^router: expected a router of @koa\/router, got an object$/],
  [{ ...shop, routes, router: null }, /^router: expected a router of @koa\/router, got null$/],
  [
    { ...shop, routes: { "GET /report": { ...KoaShop.terms, getprice: () => "$1" } } },
    /getprice: unknown key; did you/
  ],
  [Object.create({ ...shop, routes }), /^the options: expected a plain object/],
  [null, /^the options: expected a plain object, got null$/]
]

describe("paymentMiddleware refuses", () => {
  it.each(cases)("%o", (options, message) => {
    assert.throws(() => paymentMiddleware(options as never), message)
  })
})

describe("paymentRoutes refuses", () => {
  it("an unknown key, also in the map of routes", () => {
    assert.throws(() => paymentRoutes({ ...shop, routes } as never), /^routes: unknown key/)
    assert.throws(() => paymentRoutes(1n as never), /^the options: expected a plain object, got a bigint$/)
  })

  it("a route that it does not know all of", async () => {
    const open = paymentRoutes(shop)
    assert.throws(
      () => open.paid({ ...KoaShop.terms, caches: "public" } as never),
      /caches: unknown key; did you mean cache\?/
    )
    await open.close()
  })
})
