import { ResponseHeaders } from "@pontage/core"
import { assert, describe, it } from "vitest"

const over = (fields: Readonly<Record<string, string>>, present: Readonly<Record<string, string>>) =>
  ResponseHeaders.over(fields, (name) => present[name])

describe("over", () => {
  it("adds what is not there", () => {
    assert.deepStrictEqual(over({ Vary: "X-Payment" }, {}), { Vary: "X-Payment" })
  })

  it("extends lists, once", () => {
    assert.deepStrictEqual(over({ Vary: "X-Payment" }, { Vary: "Origin" }), { Vary: "Origin, X-Payment" })
    assert.deepStrictEqual(over({ Vary: "X-Payment" }, { Vary: "origin, x-payment" }), { Vary: "origin, x-payment" })
    assert.deepStrictEqual(
      over({ "Access-Control-Expose-Headers": "X-Payment" }, { "Access-Control-Expose-Headers": "X-Request-Id" }),
      { "Access-Control-Expose-Headers": "X-Request-Id, X-Payment" }
    )
  })

  it.each([
    ["private, max-age=60", "private, max-age=60"],
    ["No-Store", "No-Store"],
    ["public, max-age=60", "private"],
    ["max-age=60", "private"],
    ["private, public", "private"],
    ['private="set-cookie"', "private"]
  ])("turns a handler's %s into %s", (present, expected) => {
    assert.deepStrictEqual(over({ "Cache-Control": "private" }, { "Cache-Control": present }), {
      "Cache-Control": expected
    })
  })

  it("lets the route say public, and a handler be stricter", () => {
    const route = { "Cache-Control": "public, max-age=5" }
    assert.deepStrictEqual(over(route, { "Cache-Control": "max-age=60" }), route)
    assert.deepStrictEqual(over(route, { "Cache-Control": "no-store" }), { "Cache-Control": "no-store" })
  })

  it("never softens the no-store of a refusal", () => {
    assert.deepStrictEqual(over({ "Cache-Control": "no-store" }, { "Cache-Control": "private" }), {
      "Cache-Control": "no-store"
    })
  })

  it("leaves alone what it has laid before", () => {
    const fields = {
      Vary: "X-Payment, Payment-Signature",
      "Access-Control-Expose-Headers": "X-Payment",
      "Cache-Control": "private"
    }
    assert.deepStrictEqual(over(fields, over(fields, {})), fields)
    assert.deepStrictEqual(over(fields, { ...fields, Vary: "" }), fields)
  })

  it("replaces everything else", () => {
    assert.deepStrictEqual(over({ "X-Payment-Response": "new" }, { "X-Payment-Response": "forged" }), {
      "X-Payment-Response": "new"
    })
  })
})
