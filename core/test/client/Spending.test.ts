import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"

import * as Spending from "../../src/client/Spending.ts"

const dollars = (digits: bigint, scale: number): Spending.Spending => ({ unit: "$", digits, scale })
const arbitrary = fc
  .record({ digits: fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }), scale: fc.integer({ min: 0, max: 40 }) })
  .map(({ digits, scale }) => dollars(digits, scale))

/** Everything as a whole number of 10^-80. */
const exactly = ({ digits, scale }: Spending.Spending) => digits * 10n ** BigInt(80 - scale)

describe("add, subtract, isAbove", () => {
  it("are exact whatever the scales are", () => {
    fc.assert(
      fc.property(arbitrary, arbitrary, (left, right) => {
        assert.strictEqual(exactly(Spending.add(left, right)), exactly(left) + exactly(right))
        assert.strictEqual(exactly(Spending.subtract(left, right)), exactly(left) - exactly(right))
        assert.strictEqual(Spending.isAbove(left, right), exactly(left) > exactly(right))
      })
    )
  })

  it("an amount is not above itself, and is above itself less the smallest unit", () => {
    assert.isFalse(Spending.isAbove(dollars(10n, 2), dollars(100_000n, 6)))
    assert.isTrue(Spending.isAbove(dollars(100_001n, 6), dollars(10n, 2)))
    assert.isFalse(Spending.isAbove(dollars(99_999n, 6), dollars(10n, 2)))
  })

  it("start from nothing", () => {
    assert.deepStrictEqual(Spending.add(Spending.zero("$"), dollars(5n, 2)), dollars(5n, 2))
  })
})

describe("format", () => {
  it.each([
    [dollars(5n, 2), "$0.05"],
    [dollars(50_000n, 6), "$0.05"],
    [dollars(1_500_000n, 6), "$1.50"],
    [dollars(1n, 6), "$0.000001"],
    [dollars(7n, 0), "$7.00"],
    [dollars(0n, 0), "$0.00"],
    [dollars(0n, 6), "$0.00"],
    [{ unit: "eip155:1/0xab", digits: 250n, scale: 0 }, "250 of eip155:1/0xab"]
  ])("%o is %s", (spending, text) => {
    assert.strictEqual(Spending.format(spending), text)
  })
})
