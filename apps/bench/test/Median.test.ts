import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"

import { median, percentile } from "../src/Median.ts"

describe("median", () => {
  it("is the middle one, whatever the order", () => assert.strictEqual(median([9, 1, 5]), 5))
  it("is the mean of the two in the middle", () => assert.strictEqual(median([4, 1, 2, 100]), 3))
  it("of nothing is no number", () => assert.isNaN(median([])))
  it("has as many below as above", () =>
    fc.assert(
      fc.property(fc.array(fc.integer(), { minLength: 1 }), (values) => {
        const middle = median(values)
        const below = values.filter((value) => value < middle).length
        const above = values.filter((value) => value > middle).length
        assert.isAtMost(Math.max(below, above) * 2, values.length)
      })
    ))
})

describe("percentile", () => {
  const hundred = Array.from({ length: 100 }, (_, index) => 100 - index)
  it("is the value that a percentage lies below", () => {
    assert.strictEqual(percentile(hundred, 50), 51)
    assert.strictEqual(percentile(hundred, 99), 100)
  })
  it("of all is the greatest", () => assert.strictEqual(percentile(hundred, 100), 100))
  it("of nothing is no number", () => assert.isNaN(percentile([], 50)))
})
