import { HostLaws } from "@pontage/core/testing"
import { assert, describe, it } from "vitest"

import { paymentMiddleware, paymentRoutes } from "../src/index.ts"

const shop = HostLaws.shopForTrial()
const { terms } = HostLaws

const cases: ReadonlyArray<readonly [unknown, RegExp]> = [
  [{ ...shop, route: {} }, /^route: unknown key; did you mean routes\?$/],
  [{ ...shop, routes: [] }, /^routes: expected a plain object, got a list$/],
  [{ ...shop, routes: { "/report": terms } }, /^route "\/report": expected a method/],
  [{ ...shop, routes: { "GET /report": { ...terms, price: "1" } } }, /^route "GET \/report": price/],
  [{ ...shop, routes: { "GET /report": { ...terms, repeat: "same" } } }, /this host keeps no responses/],
  [null, /^the options: expected a plain object, got null$/]
]

describe("paymentMiddleware refuses", () => {
  it.each(cases)("%o", (options, message) => {
    assert.throws(() => paymentMiddleware(options as never), message)
  })
})

describe("paymentRoutes refuses", () => {
  it("options that it does not know", async () => {
    assert.throws(() => paymentRoutes({ ...shop, routes: {} } as never), /^routes: unknown key/)
    const open = paymentRoutes(shop)
    const paid = open.paid as (...given: ReadonlyArray<unknown>) => unknown
    const config = { ...terms, caches: "public" }
    assert.throws(() => paid(config, "GET /report"), /^route "GET \/report": caches: unknown key; did you mean cache\?/)
    await open.close()
  })
})
