import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as fc from "fast-check"

import * as Amount from "../../src/protocol/Amount.ts"

const decode = Schema.decodeUnknownResult(Amount.FromText)
const encode = Schema.encodeSync(Amount.FromText)

describe("isText", () => {
  it("takes exactly the decimal strings of 0 to 2^256-1", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 260n }), (value) => {
        assert.strictEqual(Amount.isText(`${value}`), value <= Amount.maximum)
      })
    )
  })

  it("ends at 2^256-1", () => {
    assert.isTrue(Amount.isText(`${2n ** 256n - 1n}`))
    assert.isFalse(Amount.isText(`${2n ** 256n}`))
    assert.isFalse(Amount.isText("9".repeat(78)))
    assert.isFalse(Amount.isText("1".repeat(100_000)))
  })

  for (const text of [
    "",
    "00",
    "01",
    "-1",
    "+1",
    "1.0",
    "1e3",
    "0x1",
    " 1",
    "1 ",
    "1\n",
    "1_0",
    "1,0",
    "٣",
    "１",
    "-0",
    "1n"
  ]) {
    it(`refuses ${JSON.stringify(text)}`, () => assert.isFalse(Amount.isText(text)))
  }
})

describe("FromText", () => {
  it("brings back every amount", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: Amount.maximum }), (value) => {
        assert.strictEqual(Result.getOrThrow(decode(encode(value))), value)
      })
    )
  })

  for (const value of [1, 1n, null, undefined, true, {}, ["1"], "-1", "1.5"]) {
    it(`refuses ${JSON.stringify(value, (_, inner: unknown) => (typeof inner === "bigint" ? "bigint" : inner))}`, () =>
      assert.isTrue(Result.isFailure(decode(value))))
  }

  it("does not encode what is no amount", () => {
    assert.throws(() => encode(-1n))
    assert.throws(() => encode(Amount.maximum + 1n))
  })
})
