import { HostLaws } from "@pontage/core/testing"
import { assert, describe, it } from "vitest"

import { paymentRoutes } from "../src/index.ts"

const shop = HostLaws.shopForTrial()
const { terms } = HostLaws

const cases: ReadonlyArray<readonly [unknown, RegExp]> = [
  [{ ...shop, afer: () => {} }, /^afer: unknown key; did you mean after\?$/],
  [{ ...shop, after: 1 }, /^after: expected a function, got a number$/],
  [null, /^the options: expected a plain object, got null$/]
]

describe("paymentRoutes refuses", () => {
  it.each(cases)("%o", (options, message) => {
    assert.throws(() => paymentRoutes(options as never), message)
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
