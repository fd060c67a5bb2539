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

  it("keeps the challenges of the application, and adds its own once", () => {
    const own = 'Payment id="a", realm="b"'
    const joined = { "WWW-Authenticate": `Basic realm="staging", ${own}` }
    assert.deepStrictEqual(over({ "WWW-Authenticate": own }, { "WWW-Authenticate": 'Basic realm="staging"' }), joined)
    assert.deepStrictEqual(over({ "WWW-Authenticate": own }, joined), joined)
  })

  it.each([
    ["private, max-age=60", "private, max-age=60"],
    ["No-Store", "No-Store"],
    ["public, max-age=60", "private"],
    ["max-age=60", "private"],
    ["private, public", "private"],
    ["private, s-maxage=60", "private"],
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

  const lax = {
    "CDN-Cache-Control": "public, max-age=60",
    "cloudflare-cdn-cache-control": "max-age=60",
    "Vercel-CDN-Cache-Control": "max-age=60",
    "Surrogate-Control": "max-age=60",
    "Edge-Control": "max-age=60",
    "X-Accel-Expires": "60",
    Expires: "Fri, 31 Dec 2049 00:00:00 GMT",
    Pragma: "public",
    "Content-Length": "60"
  }

  it.each(["private", "no-store", "private, max-age=5"])(
    "closes every other cache where the route says %s",
    (cache) => {
      const fields = { "Cache-Control": cache }
      const laid = ResponseHeaders.over(
        fields,
        (name) => Object.entries(lax).find(([one]) => one === name)?.[1],
        Object.keys(lax)
      )
      assert.deepStrictEqual(laid, {
        "CDN-Cache-Control": "no-store",
        "cloudflare-cdn-cache-control": "no-store",
        "Vercel-CDN-Cache-Control": "no-store",
        "Surrogate-Control": "no-store",
        "Edge-Control": "no-store",
        "X-Accel-Expires": "0",
        Expires: "0",
        Pragma: "no-cache",
        "Cache-Control": cache
      })
    }
  )

  it("leaves them to a handler whose route says public", () => {
    const fields = { "Cache-Control": "public, max-age=5" }
    assert.deepStrictEqual(
      ResponseHeaders.over(fields, () => undefined, Object.keys(lax)),
      fields
    )
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
