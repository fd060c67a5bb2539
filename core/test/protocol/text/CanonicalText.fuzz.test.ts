import { isDeepStrictEqual } from "node:util"

import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"

import * as CanonicalText from "../../../src/protocol/text/CanonicalText.ts"

/** The same value with the fields of every object in another order. */
const reordered = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(reordered)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([name, field]) => [name, reordered(field)])
  )
}

/** Values that JSON cannot tell apart either. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

describe("the text of arguments", () => {
  it("is the same in any order, and another for others", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), fc.jsonValue({ maxDepth: 4 }), (one, other) => {
        const [a, b] = [plain(one), plain(other)]
        assert.isDefined(CanonicalText.of(a))
        assert.strictEqual(CanonicalText.of(a), CanonicalText.of(reordered(a)))
        assert.strictEqual(CanonicalText.of(a) === CanonicalText.of(b), isDeepStrictEqual(a, b))
      })
    )
  })

  it("tells near ones apart", () => {
    const near: ReadonlyArray<unknown> = [
      undefined,
      null,
      0,
      "0",
      0n,
      Number.NaN,
      Infinity,
      false,
      "",
      "null",
      "0n",
      [],
      {},
      [[]],
      [null],
      [undefined, undefined],
      ["a,b"],
      ["a", "b"],
      ["b", "a"],
      { a: { b: 1 } },
      { "a:{b": 1 },
      { a: 1, b: 2 },
      { a: "1,b:2" },
      new Set(["a", "b"]),
      new Map([["a", "b"]]),
      new Date(0),
      new Date(0).toJSON(),
      new Date(1),
      new URL("https://shop.example/"),
      Uint8Array.of(1, 2),
      Uint8Array.of(1, 3),
      { __proto__: null, a: [1] }
    ]
    const texts = near.map(CanonicalText.of)
    assert.notInclude(texts, undefined)
    assert.strictEqual(new Set(texts).size, near.length)
  })

  it("takes what is left out for what is not there, and an object for what it says", () => {
    assert.strictEqual(CanonicalText.of({ a: 1, b: undefined }), CanonicalText.of({ a: 1 }))
    assert.strictEqual(CanonicalText.of(new Date(5)), CanonicalText.of(new Date(5)))
  })

  class Opaque {
    readonly #secret: number
    constructor(secret: number) {
      this.#secret = secret
    }
    get secret() {
      return this.#secret
    }
  }

  const endless: Record<string, unknown> = {}
  endless["self"] = endless
  for (const [name, value] of Object.entries({
    "a function": () => 1,
    "a symbol": Symbol("a"),
    "an object that hides what it is": new Opaque(1),
    "one deep inside": { a: [{ b: new Opaque(1) }] },
    "an endless text": endless
  })) {
    it(`there is none for ${name}`, () => assert.isUndefined(CanonicalText.of(value)))
  }
})
