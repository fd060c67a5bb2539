import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"

import { depthOf } from "../../../src/protocol/text/JsonDepth.ts"

const depthOfValue = (value: unknown): number =>
  typeof value === "object" && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOfValue)) : 0

describe("depthOf", () => {
  it("is the depth of the value that is written", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 12 }), (value) => {
        assert.strictEqual(depthOf(JSON.stringify(value)), depthOfValue(value))
        assert.strictEqual(depthOf(JSON.stringify(value, null, 2)), depthOfValue(value))
      })
    )
  })

  it("does not count brackets inside strings, however they are escaped", () => {
    assert.strictEqual(depthOf(JSON.stringify(["[[[{{{", '"[[', "\\[[", '\\"[['])), 1)
    assert.strictEqual(depthOf('{"[[[[": 1}'), 1)
  })

  it("reads any text, quickly and without a stack", () => {
    assert.strictEqual(depthOf("[".repeat(1_000_000)), 1_000_000)
    fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => depthOf(text) >= 0))
  })
})
