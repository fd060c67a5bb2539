import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as fc from "fast-check"

import * as Amount from "../../src/protocol/Amount.ts"
import * as Price from "../../src/protocol/Price.ts"

const amountOf = (text: string, decimals: number) => Result.getOrElse(Price.toAmount(text, decimals), () => undefined)

describe("toAmount", () => {
  const table = [
    ["$0.01", 6, 10_000n],
    ["$1", 6, 1_000_000n],
    ["$0", 6, 0n],
    ["$0.000001", 6, 1n],
    ["$0.0000010", 6, 1n],
    ["$9999999999999.999999999999999999", 18, 9_999_999_999_999_999_999_999_999_999_999n],
    ["$1", 0, 1n],
    ["$1.00", 0, 1n],
    ["$0.29", 2, 29n],
    ["$1.1", 9, 1_100_000_000n]
  ] as const
  for (const [text, decimals, amount] of table) {
    it(`${text} is ${amount} of an asset with ${decimals} digits`, () => {
      assert.strictEqual(amountOf(text, decimals), amount)
    })
  }

  const tooFine = [
    ["$0.0000001", 6],
    ["$0.0000019", 6],
    ["$0.5", 0],
    ["$0.001", 2]
  ] as const
  for (const [text, decimals] of tooFine) {
    it(`${text} is refused for ${decimals} digits, not rounded`, () => {
      const error = Result.getOrThrow(Result.flip(Price.toAmount(text, decimals)))
      assert.strictEqual(error._tag, "InvalidPrice")
      assert.include(error.message, text)
    })
  }

  it("is exact: equal to rational arithmetic for every price and every number of digits, or refused", () => {
    const price = fc.record({
      whole: fc.bigInt({ min: 0n, max: 9_999_999_999_999n }),
      fraction: fc.stringMatching(/^[0-9]{0,18}$/),
      decimals: fc.nat({ max: 77 })
    })
    fc.assert(
      fc.property(price, ({ decimals, fraction, whole }) => {
        const text = `$${whole}${fraction && `.${fraction}`}`
        // whole.fraction * 10^decimals as numerator / 10^scale
        const numerator = BigInt(`${whole}${fraction}`) * 10n ** BigInt(decimals)
        const denominator = 10n ** BigInt(fraction.length)
        const exact = numerator % denominator === 0n ? numerator / denominator : undefined
        assert.strictEqual(amountOf(text, decimals), exact !== undefined && exact <= Amount.maximum ? exact : undefined)
      }),
      { numRuns: 20_000 }
    )
  })

  it("a result beyond 256 bits is refused", () => {
    assert.strictEqual(amountOf("$9999999999999", 70), undefined)
    assert.strictEqual(amountOf("$1", 77), 10n ** 77n)
    assert.strictEqual(amountOf("$1", 78), undefined)
  })
})

describe("the grammar", () => {
  const grammar = /^\$(0|[1-9][0-9]{0,12})(\.[0-9]{1,18})?$/
  const outside = [
    "",
    "$",
    "0.01",
    "$.5",
    "$1.",
    "$01",
    "$00.1",
    "$-1",
    "$+1",
    "-$1",
    "$1e3",
    "$1E-2",
    "$0x10",
    "$1,000",
    "$1_000",
    "$ 1",
    " $1",
    "$1 ",
    "$1\n",
    "\n$1",
    "$1\u0000",
    "$1abc",
    "$Infinity",
    "$NaN",
    "$٣",
    "$１",
    "＄1",
    "€1",
    "$1.0.0",
    "$10000000000000",
    "$0.0000000000000000001",
    "$0,01",
    "1$"
  ]
  for (const text of outside) {
    it(`${JSON.stringify(text)} is no price`, () => {
      assert.isTrue(Result.isFailure(Price.parse(text)))
      assert.isTrue(Result.isFailure(Price.toAmount(text, 6)))
    })
  }

  it("everything outside it is refused and everything inside is read", () => {
    const near = fc
      .array(fc.constantFrom(..."$$0123456789..,-+eE_ x\n１٣".split("")), { maxLength: 24 })
      .map((parts) => parts.join(""))
    fc.assert(
      fc.property(fc.oneof(near, fc.string(), fc.string({ unit: "binary" }), fc.stringMatching(grammar)), (text) => {
        assert.strictEqual(Result.isSuccess(Price.parse(text)), grammar.test(text))
      }),
      { numRuns: 20_000 }
    )
  })

  it("a value that is no text is refused too", () => {
    for (const value of [undefined, null, 1, 0.01, {}, ["$1"], { toString: () => "$1" }]) {
      assert.isTrue(Result.isFailure(Price.parse(value as unknown as string)))
    }
  })

  it("the message shows what came", () => {
    const error = Result.getOrThrow(Result.flip(Price.parse("1 dollar")))
    assert.include(error.message, '"1 dollar"')
    assert.strictEqual(error.price, "1 dollar")
  })
})
