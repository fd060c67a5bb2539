import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as fc from "fast-check"

import * as AsciiJson from "../../../src/wire/http/AsciiJson.ts"

const anyJson = fc.jsonValue({ maxDepth: 6, stringUnit: "binary" })
const detailOf = (text: string) =>
  Result.match(AsciiJson.decode(text), { onFailure: ({ detail }) => detail, onSuccess: () => "read" })

describe("encode", () => {
  it("is one line of printable ASCII, and the same JSON, for any value", () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        const text = AsciiJson.encode(value)
        assert.match(text, /^[\x20-\x7e]*$/)
        assert.deepStrictEqual(JSON.parse(text), JSON.parse(JSON.stringify(value)))
      }),
      { numRuns: 2_000 }
    )
  })

  it("brings back any value of bounded size", () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        const text = AsciiJson.encode(value)
        fc.pre(text.length <= AsciiJson.maximumHeaderBytes)
        assert.deepStrictEqual(Result.getOrThrow(AsciiJson.decode(text)), JSON.parse(JSON.stringify(value)))
      })
    )
  })

  it("writes dashes, line separators, emoji, lone surrogates and DEL as \\uXXXX", () => {
    assert.strictEqual(AsciiJson.encode("—"), '"\\u2014"')
    assert.strictEqual(AsciiJson.encode("\u2028\u2029"), '"\\u2028\\u2029"')
    assert.strictEqual(AsciiJson.encode("😀"), '"\\ud83d\\ude00"')
    assert.strictEqual(AsciiJson.encode("\ud83d"), '"\\ud83d"')
    assert.strictEqual(AsciiJson.encode("\u007f\u0080"), '"\\u007f\\u0080"')
    assert.strictEqual(AsciiJson.encode("a\r\nX-Injected: 1"), '"a\\r\\nX-Injected: 1"')
  })
})

describe("decode", () => {
  it("reads 8192 characters and not one more", () => {
    const text = JSON.stringify("a".repeat(AsciiJson.maximumHeaderBytes - 2))
    assert.strictEqual(detailOf(text), "read")
    assert.strictEqual(detailOf(`${text} `), "too_long")
    assert.strictEqual(detailOf("[".repeat(1_000_000)), "too_long")
  })

  it("reads 8 levels and not one more", () => {
    assert.strictEqual(detailOf("[".repeat(8) + "]".repeat(8)), "read")
    assert.strictEqual(detailOf("[".repeat(9) + "]".repeat(9)), "too_deep")
    assert.strictEqual(detailOf('{"a":'.repeat(9) + "1" + "}".repeat(9)), "too_deep")
    assert.strictEqual(detailOf("[".repeat(8_000)), "too_deep")
  })

  const table = [
    ["", "not_json"],
    [" ", "not_json"],
    ["{", "not_json"],
    ["{}{}", "not_json"],
    ['{"a":1}, {"b":2}', "not_json"],
    ["{'a':1}", "not_json"],
    ["{a:1}", "not_json"],
    ["NaN", "not_json"],
    ["undefined", "not_json"],
    ["eyJhIjoxfQ==", "not_json"],
    ['"é"', "not_ascii"],
    ['"\u0000"', "not_ascii"],
    ['{"a":1}\n', "not_ascii"],
    ['{"a":\r\n1}', "not_ascii"],
    ['"\u007f"', "not_ascii"],
    ["\ufeff{}", "not_ascii"],
    ["{\t}", "read"],
    ["null", "read"],
    ["1", "read"]
  ] as const
  for (const [text, detail] of table) {
    it(`${JSON.stringify(text)}: ${detail}`, () => assert.strictEqual(detailOf(text), detail))
  }

  it("fails with malformed and never throws, whatever comes", () => {
    const ascii = fc.string({ unit: "binary-ascii", maxLength: 200 })
    const mutated = fc.tuple(anyJson, fc.nat(), fc.string({ maxLength: 3 })).map(([value, at, junk]) => {
      const text = AsciiJson.encode(value)
      return text.slice(0, at % (text.length + 1)) + junk + text.slice((at % (text.length + 1)) + 1)
    })
    fc.assert(
      fc.property(fc.oneof(ascii, mutated, fc.string({ unit: "binary" })), (text) => {
        const result = AsciiJson.decode(text)
        assert.isTrue(Result.isSuccess(result) || result.failure.reason === "malformed")
      }),
      { numRuns: 5_000 }
    )
  })

  it("__proto__ and constructor stay names", () => {
    const value = Result.getOrThrow(
      AsciiJson.decode('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}')
    )
    assert.strictEqual(Object.getPrototypeOf(value), Object.prototype)
    assert.isFalse("polluted" in {})
  })
})
