import { RequestTarget } from "@pontage/core"
import { assert, describe, it } from "vitest"

describe("of", () => {
  it.each([
    ["/report?day=1", "/report?day=1"],
    ["//evil/x", "//evil/x"],
    ["http://evil/report?day=1", "/report?day=1"],
    ["HTTP://user@evil:80", "/"],
    ["http://evil?x", "/?x"],
    ["*", "/"],
    ["", "/"]
  ])("%s is %s", (target, expected) => {
    assert.strictEqual(RequestTarget.of(target), expected)
  })
})

describe("pathOf", () => {
  it.each([
    ["/report?day=1?x", "/report"],
    ["/report#x", "/report"],
    ["http://evil/report?day=1", "/report"]
  ])("of %s is %s", (target, expected) => {
    assert.strictEqual(RequestTarget.pathOf(target), expected)
  })
})

describe("queryOf", () => {
  it("gives values, and lists where a name comes twice", () => {
    assert.deepStrictEqual(RequestTarget.queryOf("/a?x=1&y=2&x=3&z"), { x: ["1", "3"], y: "2", z: "" })
    assert.deepStrictEqual(RequestTarget.queryOf("/a"), {})
  })

  it("keeps __proto__ a name like others", () => {
    const query = RequestTarget.queryOf("/a?__proto__=evil")
    assert.strictEqual(Object.getPrototypeOf(query), Object.prototype)
    assert.isTrue(Object.hasOwn(query, "__proto__"))
  })
})
