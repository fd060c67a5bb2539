import { HostLaws } from "@pontage/core/testing"
import { assert, describe, it } from "vitest"

import { paymentHandler, paymentRoutes } from "../src/index.ts"

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

describe("paymentHandler refuses", () => {
  it.each(cases)("%o", (options, message) => {
    assert.throws(() => paymentHandler(options as never, () => new Response("free")), message)
  })
})

describe("paymentRoutes refuses", () => {
  it("options that it does not know", async () => {
    assert.throws(() => paymentRoutes({ ...shop, routes: {} } as never), /^routes: unknown key/)
    const open = paymentRoutes(shop)
    const paid = open.paid as (...given: ReadonlyArray<unknown>) => unknown
    const config = { ...terms, caches: "public" }
    assert.throws(() => paid("GET /report", config, () => new Response()), /caches: unknown key; did you mean cache\?/)
    assert.throws(() => paid("/report", terms, () => new Response()), /expected a method/)
    await open.close()
  })
})
