import { RouteKey } from "@pontage/core"
import * as Result from "effect/Result"
import { assert, describe, it } from "vitest"

const message = (text: string): string => {
  const key = RouteKey.parse(text)
  return Result.isFailure(key) ? key.failure.message : "no mistake"
}

const segments = (path: string) => RouteKey.segmentsOf(path)

describe("parse", () => {
  it("reads methods, literals, parameters and the rest", () => {
    const key = Result.getOrThrow(RouteKey.parse("GET /Reports/:day/v:version/*"))
    assert.strictEqual(key.method, "GET")
    assert.deepStrictEqual(key.segments, [
      { _tag: "Literal", text: "Reports", canonical: "reports" },
      { _tag: "Parameter", name: "day" },
      { _tag: "Parameter", name: "v:version" },
      { _tag: "Rest" }
    ])
  })

  it("takes the root, a slash at the end and a named rest", () => {
    assert.deepStrictEqual(Result.getOrThrow(RouteKey.parse("GET /")).segments, [])
    assert.strictEqual(Result.getOrThrow(RouteKey.parse("GET /a/")).segments.length, 1)
    assert.deepStrictEqual(Result.getOrThrow(RouteKey.parse("GET /*path")).segments, [{ _tag: "Rest" }])
  })

  it.each([
    ["/report", "expected a method, one space and a path"],
    ["GET  /report", "expected a method, one space and a path"],
    ["GET report", "expected a method, one space and a path"],
    ["GET /report?day=1", "expected a method, one space and a path"],
    ["GET /report ", "expected a method, one space and a path"],
    ["get /report", "write the method in capitals: GET"],
    ["HEAD /report", "HEAD is covered by GET"],
    ["OPTIONS /report", "OPTIONS is never sold"],
    ["GET /report{/:day}", "only literal segments, :param and a * at the end"],
    ["GET /(a|b)", "only literal segments, :param and a * at the end"],
    ["GET /a\\b", "only literal segments, :param and a * at the end"],
    ["GET /a//b", "empty and dot segments are never served"],
    ["GET /a/%2e%2e/b", "empty and dot segments are never served"],
    ["GET /*/b", "* stands for the rest of the path and must come last"]
  ])("refuses %s and says why", (text, mend) => {
    assert.include(message(text), mend)
    assert.include(message(text), JSON.stringify(text))
  })
})

describe("covers", () => {
  it.each([
    ["/a/:x", "/a/:y", true],
    ["/a/:x", "/a/b", true],
    ["/a/*", "/a/b/:c", true],
    ["/a/*", "/a", true],
    ["/A", "/a", true],
    ["/caf%C3%A9", "/café", true],
    ["/a/b", "/a/:x", false],
    ["/a", "/a/b", false],
    ["/a/:x", "/a/*", false],
    ["/a/b", "/a", false]
  ])("%s covers %s: %s", (self, other, expected) => {
    assert.strictEqual(RouteKey.covers(segments(self), segments(other)), expected)
  })
})

describe("unnamedIn", () => {
  it.each([
    ["/a/:x", "/a/:x", []],
    ["/a/:x", "/a/:y", ["x"]],
    ["/a/:x", "/a/b", ["x"]],
    ["/a/:x/:y", "/a/:y/:x", []],
    ["/a/v:x", "/a/b", []],
    ["/a/*", "/a/b/:c", []]
  ])("%s, where the router knows %s: %o", (self, other, expected) => {
    assert.deepStrictEqual(RouteKey.unnamedIn(segments(self), segments(other)), expected)
  })
})

describe("compare", () => {
  it("puts what says more first", () => {
    const paths = ["/*", "/:a", "/:a/:b", "/a/*", "/a/:b", "/a", "/a/b"]
    const sorted = paths.toSorted((one, other) => RouteKey.compare(segments(one), segments(other)))
    assert.isBelow(sorted.indexOf("/a/b"), sorted.indexOf("/a/:b"))
    assert.isBelow(sorted.indexOf("/a/:b"), sorted.indexOf("/a/*"))
    assert.isBelow(sorted.indexOf("/a"), sorted.indexOf("/a/*"))
    assert.isBelow(sorted.indexOf("/:a"), sorted.indexOf("/*"))
    assert.isBelow(sorted.indexOf("/a/*"), sorted.indexOf("/:a/:b"))
  })
})

describe("decodeLeniently", () => {
  it("leaves alone what is no UTF-8", () => {
    assert.strictEqual(RouteKey.decodeLeniently("/a%2Fb%ZZ%c3%a9%"), "/a/b%ZZé%")
    assert.strictEqual(RouteKey.decodeLeniently("%ff%2F%2e%2E%2fx"), "%ff/../x")
  })
})
