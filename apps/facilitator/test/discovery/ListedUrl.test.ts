import { assert, describe, it } from "@effect/vitest"

import * as ListedUrl from "../../src/discovery/ListedUrl.ts"

describe("an origin of the list", () => {
  const good = ["https://shop.example", "https://shop.example:8443", "https://xn--bcher-kva.example", "https://8.8.8.8"]
  it.each(good)("%s is taken", (origin) => {
    assert.isUndefined(ListedUrl.objection(origin, false))
  })

  const bad = [
    "https://shop.example/",
    "https://shop.example/report",
    "https://user:secret@shop.example",
    "https://SHOP.example",
    "https://b\u00fccher.example",
    "http://shop.example",
    "javascript:alert(1)",
    "file:///etc",
    "null",
    "",
    "*",
    "https://localhost",
    "https://a.localhost",
    "https://127.0.0.1",
    "https://[::1]",
    "https://[::ffff:7f00:1]",
    "https://10.0.0.1",
    "https://169.254.169.254",
    "https://metadata",
    "https://db.internal",
    "https://db.internal.",
    "https://printer.local"
  ]
  it.each(bad)("%s is refused", (origin) => {
    assert.isString(ListedUrl.objection(origin, false))
  })

  it("may be private where the settings allow it", () => {
    for (const origin of ["http://127.0.0.1:3000", "http://shop", "https://localhost:1"]) {
      assert.isUndefined(ListedUrl.objection(origin, true))
    }
    assert.isString(ListedUrl.objection("ftp://shop", true))
  })
})

describe("a POST", () => {
  const posts = ["https://shop.example/render", "https://shop.example/api/"]
  const may = (text: string) => ListedUrl.mayPost(new URL(text), posts)

  it("goes to the URLs of the settings, and below them", () => {
    for (const path of ["/render", "/render?a=b", "/render/deep", "/api/", "/api/x"]) {
      assert.isTrue(may(`https://shop.example${path}`), path)
    }
    for (const path of ["/", "/renderer", "/api", "/admin", "/render/../admin", "/render/%2e%2e/admin"]) {
      assert.isFalse(may(`https://shop.example${path}`), path)
    }
    for (const path of ["/render/..%2fadmin", "/render/..%5cadmin", "/render/%252e%252e%252fadmin", "/render/%zz"]) {
      assert.isFalse(may(`https://shop.example${path}`), path)
    }
    assert.isFalse(may("https://other.example/render"))
    assert.isFalse(may("http://shop.example/render"))
  })
})

describe("the name of a resource", () => {
  const url = new URL("https://shop.example/reports/monday?key=secret")

  it("is its URL without the query, or its template", () => {
    assert.strictEqual(ListedUrl.nameOf(url, undefined), "https://shop.example/reports/monday")
    assert.strictEqual(ListedUrl.nameOf(url, "/reports/:day"), "https://shop.example/reports/:day")
  })

  const leading = ["/:all/monday", "/reports/{day}", "/reports/{*rest}", "/*", "/reports/mon:rest", "/rep{x}/:day*"]
  it.each(leading)("may be the template %s", (template) => {
    assert.strictEqual(ListedUrl.nameOf(url, template), `https://shop.example${template}`)
  })

  // Another shop's path: a shop of the same origin would overwrite its entry.
  const others = [
    "/files/{*rest}",
    "/reports",
    "/reports/:day/:hour",
    "/reports/tuesday",
    "/:day",
    "/reports/:day:x",
    "/a/*"
  ]
  it.each(others)("is not made of the template %s, which leads elsewhere", (template) => {
    assert.isUndefined(ListedUrl.nameOf(url, template))
  })

  const bad = [
    "",
    "reports",
    "//evil.example",
    "/a//b",
    "/../a",
    "/%2e%2e/a",
    "/%252E%252e/a",
    "/..%5ca",
    "/a?b",
    "/a b",
    "/%zz"
  ]
  it.each(bad)("is not made of the template %s", (template) => {
    assert.isUndefined(ListedUrl.nameOf(url, template))
  })
})
