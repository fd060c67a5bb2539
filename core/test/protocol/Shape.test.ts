import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"

import * as Shape from "../../src/protocol/Shape.ts"

interface Pair {
  readonly name: string
  readonly size?: number
}

const pairs = Shape.list(
  Shape.struct<Pair>({
    name: Shape.text,
    size: Shape.optional(Shape.guarded("a number", (value): value is number => typeof value === "number"))
  })
)

const mutationOf = (shape: Shape.Shape<unknown>, value: unknown) =>
  Result.getOrThrow(Result.flip(Shape.read(shape, value)))

describe("read", () => {
  it("gives the value", () =>
    assert.deepStrictEqual(Result.getOrThrow(Shape.read(pairs, [{ name: "a", size: 1 }, { name: "b" }])), [
      { name: "a", size: 1 },
      { name: "b" }
    ]))

  it("leaves out what is not part of the shape", () =>
    assert.deepStrictEqual(Result.getOrThrow(Shape.read(pairs, [{ name: "a", more: { deep: [1] }, toString: 1 }])), [
      { name: "a" }
    ]))

  it("looks at a value's own fields alone", () => {
    const inherited: unknown = Object.create({ name: "a" })
    assert.strictEqual(mutationOf(pairs, [inherited]), "expected a string, got nothing at [0].name")
    assert.strictEqual(
      mutationOf(pairs, JSON.parse('[{"__proto__":{"name":"a"}}]')),
      "expected a string, got nothing at [0].name"
    )
  })

  it("reads the same value again as the same", () => {
    const once = Result.getOrThrow(Shape.read(pairs, [{ name: "a", size: 0, more: 1 }]))
    assert.deepStrictEqual(Result.getOrThrow(Shape.read(pairs, once)), once)
  })
})

describe("a fault names its place, what was expected and what came:", () => {
  const cases: Readonly<Record<string, readonly [Shape.Shape<unknown>, unknown, string]>> = {
    "nothing for a list": [pairs, undefined, "expected a list, got nothing"],
    "an object for a list": [pairs, {}, "expected a list, got {}"],
    "a list for an object": [pairs, [[]], "expected an object, got [] at [0]"],
    "null for an object": [pairs, [{ name: "a" }, null], "expected an object, got null at [1]"],
    "a missing field": [pairs, [{}], "expected a string, got nothing at [0].name"],
    "a wrong optional field": [pairs, [{ name: "a", size: "1" }], 'expected a number, got "1" at [0].size'],
    "null for an optional field": [pairs, [{ name: "a", size: null }], "expected a number, got null at [0].size"],
    "another value": [Shape.oneOf(["a", 2, true]), "2", 'expected "a" or 2 or true, got "2"'],
    "a long value": [Shape.object, "x".repeat(1_000), `expected an object, got "${"x".repeat(99)}`],
    "a value that a terminal obeys": [Shape.object, "\u009b2J\u202e", 'expected an object, got "\\u009b2J\\u202e"'],
    "less than nothing for a count": [Shape.count, -1, "expected a whole number of at least 0, got -1"],
    "a part for a count": [Shape.count, 0.5, "expected a whole number of at least 0, got 0.5"],
    "a text that the pattern does not match": [
      Shape.matching("two digits", /^\d\d$/),
      "7",
      'expected two digits, got "7"'
    ],
    "neither of two": [Shape.either(Shape.text, Shape.count), -1, "expected a whole number of at least 0, got -1"],
    "wrong before it is converted": [Shape.converted(Shape.text, BigInt), 7, "expected a string, got 7"],
    "no JSON at all": [Shape.json, undefined, "expected a value, got nothing"]
  }
  for (const [name, [shape, value, fault]] of Object.entries(cases)) {
    it(`where it is ${name}`, () => assert.strictEqual(mutationOf(shape, value), fault))
  }
})

describe("nullable", () => {
  const shape = Shape.struct<Pair>({ name: Shape.text, size: Shape.nullable(Shape.oneOf([1])) })

  it("takes null for what is left out", () =>
    assert.deepStrictEqual(Result.getOrThrow(Shape.read(shape, { name: "a", size: null })), { name: "a" }))

  it("takes nothing else for it", () => assert.isTrue(Result.isFailure(Shape.read(shape, { name: "a", size: "" }))))
})

const readOf = (shape: Shape.Shape<unknown>, value: unknown) => Result.getOrThrow(Shape.read(shape, value))

describe("values of other shapes", () => {
  it("are either", () => {
    const shape = Shape.either(Shape.matching("two digits", /^\d\d$/), Shape.count)
    assert.deepStrictEqual([readOf(shape, "07"), readOf(shape, 7)], ["07", 7])
  })

  it("are converted, also where they are left out", () => {
    const orZero = Shape.converted(Shape.optional(Shape.count), (number) => BigInt(number ?? 0))
    const shape = Shape.struct<{ readonly size: bigint }>({ size: orZero })
    assert.deepStrictEqual([readOf(shape, { size: 7 }), readOf(shape, {})], [{ size: 7n }, { size: 0n }])
  })
})
