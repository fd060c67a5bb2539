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

describe("isAmbiguous", () => {
  it.each([
    ["/image?size=small", false],
    ["/image?what=now??", false],
    ["/image", false],
    ["/image?size=large#", true],
    ["/image#?size=small", true],
    ["/image??size=small", true],
    ["http://evil/image??size=small", true]
  ])("of %s is %s", (target, expected) => {
    assert.strictEqual(RequestTarget.isAmbiguous(target), expected)
  })
})
