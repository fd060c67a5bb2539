import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as FastCheck from "fast-check"

import * as OptionCheck from "../../src/protocol/OptionCheck.ts"
import * as LikelySpelling from "../../src/protocol/text/LikelySpelling.ts"

interface Inner {
  readonly perDay?: string
  readonly perHost?: string
}

interface Outer {
  readonly name: string
  readonly limits?: Inner
  readonly maximum?: number
  readonly cost?: bigint
  readonly kind?: "big" | "small"
  readonly list?: ReadonlyArray<Inner>
  readonly byName?: Readonly<Record<string, string | Inner>>
  readonly isOpen?: boolean
  readonly onNews?: (news: string) => void
  readonly signer?: { readonly sign: () => string }
}

const inner = OptionCheck.options<Inner>({
  perDay: OptionCheck.optional(OptionCheck.text),
  perHost: OptionCheck.optional(OptionCheck.text)
})

const outerTable: OptionCheck.Table<Outer> = {
  name: OptionCheck.text,
  limits: OptionCheck.optional(inner),
  maximum: OptionCheck.optional(OptionCheck.whole(1, 50)),
  cost: OptionCheck.optional(OptionCheck.amount(1n)),
  kind: OptionCheck.optional(OptionCheck.oneOf("big", "small")),
  list: OptionCheck.optional(OptionCheck.list(inner)),
  byName: OptionCheck.optional(OptionCheck.record(OptionCheck.either(OptionCheck.text, inner))),
  isOpen: OptionCheck.optional(OptionCheck.flag),
  onNews: OptionCheck.optional(OptionCheck.callable()),
  signer: OptionCheck.optional(OptionCheck.having("a signer", "sign"))
}

const outer = OptionCheck.options<Outer>(outerTable)

/** As a program without types would call it. */
const mistake = (value: unknown): string | undefined => {
  const read = OptionCheck.read<unknown>({ fault: outer.fault }, value)
  return Result.isFailure(read) ? read.failure.message : undefined
}

class Limits {
  readonly perDay = "$1"
}

const foreign: unknown = new (class Foreign {
  readonly name = "a"
})()

describe("options are taken", () => {
  const cases: Readonly<Record<string, unknown>> = {
    "with what they need": { name: "a" },
    "with everything": {
      name: "",
      limits: { perDay: "$1", perHost: "$1" },
      maximum: 50,
      cost: 1n,
      kind: "small",
      list: [{}, { perDay: "$1" }],
      byName: { toString: "$1", constructor: { perDay: "$1" } },
      isOpen: false,
      onNews: () => undefined,
      signer: new (class {
        sign() {
          return ""
        }
      })()
    },
    "with what is undefined": { name: "a", limits: undefined, maximum: undefined, onNews: undefined },
    "without a prototype": Object.assign(Object.create(null), { name: "a" }),
    "from JSON": JSON.parse('{"name":"a","limits":{"perDay":"$1"}}')
  }
  it.each(Object.entries(cases))("%s", (_, value) => assert.isUndefined(mistake(value)))

  it("and come back as they are", () => {
    const value: Outer = { name: "a" }
    assert.strictEqual(Result.getOrThrow(OptionCheck.read(outer, value)), value)
  })
})

describe("options are refused, with the place, what came and what to do:", () => {
  const cases: Readonly<Record<string, readonly [unknown, string]>> = {
    "another case": [{ name: "a", limits: { perday: "$1" } }, "limits.perday: unknown key; did you mean perDay?"],
    "a slip": [{ name: "a", limit: {} }, "limit: unknown key; did you mean limits?"],
    "two letters swapped": [{ nmae: "a" }, "nmae: unknown key; did you mean name?"],
    "a dash": [{ name: "a", "is-open": true }, '["is-open"]: unknown key; did you mean isOpen?'],
    "a key one floor too high": [{ name: "a", perDay: "$1" }, "perDay: unknown key; did you mean limits.perDay?"],
    "no key at all": [
      { name: "a", list: [{}, { nonsense: 1 }] },
      "list[1].nonsense: unknown key; the keys are perDay, perHost"
    ],
    "an unknown key that is undefined": [{ name: "a", limts: undefined }, "limts: unknown key; did you mean limits?"],
    "a key of every object": [
      { name: "a", limits: { toString: 1 } },
      "limits.toString: unknown key; the keys are perDay, perHost"
    ],
    "__proto__ from JSON": [
      JSON.parse('{"name":"a","limits":{"__proto__":{"perDay":"$1"}}}'),
      "limits.__proto__: unknown key; the keys are perDay, perHost"
    ],
    "__proto__ as it is written": [
      { name: "a", limits: { __proto__: { perDay: "$1" } } },
      "limits: expected a plain object, got an object that inherits from another"
    ],
    "an inherited key": [
      Object.create({ name: "a" }),
      "the options: expected a plain object, got an object that inherits from another"
    ],
    "a key inherited from an object without a prototype": [
      Object.create(Object.assign(Object.create(null), { name: "a" })),
      "the options: expected a plain object, got an object that inherits from another"
    ],
    "a symbol": [{ name: "a", [Symbol("x")]: 1 }, '["Symbol(x)"]: unknown key; the keys are'],
    "a hidden key": [Object.defineProperty({ name: "a" }, "limts", { value: 1 }), "limts: unknown key"],
    "a value of a class": [
      { name: "a", limits: new Limits() },
      "limits: expected a plain object, got a value of class Limits"
    ],
    "a value of a class for all": [foreign, "the options: expected a plain object, got a value of class Foreign"],
    "a map": [{ name: "a", limits: new Map() }, "limits: expected a plain object, got a value of class Map"],
    "a bigint": [{ name: "a", limits: 1n }, "limits: expected a plain object, got a bigint"],
    null: [{ name: "a", limits: null }, "limits: expected a plain object, got null"],
    "a list": [{ name: "a", limits: [] }, "limits: expected a plain object, got a list"],
    "a function": [{ name: "a", limits: () => ({}) }, "limits: expected a plain object, got a function"],
    nothing: [undefined, "the options: expected a plain object, got nothing"],
    "a missing key": [{}, "name: expected a text, got nothing"],
    "a number for a text, untold": [{ name: 12_345 }, "name: expected a text, got a number"],
    "a text for a list": [{ name: "a", list: "perDay" }, "list: expected a list, got a text"],
    "an object that only looks like a list": [
      { name: "a", list: { length: 0 } },
      "list: expected a list, got an object"
    ],
    "a hole in a list": [{ name: "a", list: Array(1) }, "list[0]: expected a plain object, got nothing"],
    "a text for a number": [
      { name: "a", maximum: "5" },
      "maximum: expected a whole number between 1 and 50, got a text"
    ],
    "no number": [{ name: "a", maximum: Number.NaN }, "maximum: expected a whole number between 1 and 50, got NaN"],
    "a number out of range": [{ name: "a", maximum: 51 }, "maximum: expected a whole number between 1 and 50, got 51"],
    "a broken number": [{ name: "a", maximum: 1.5 }, "maximum: expected a whole number between 1 and 50, got 1.5"],
    "a number for an amount": [
      { name: "a", cost: 1 },
      "cost: expected a bigint of at least 1, such as 1000n, got a number"
    ],
    "an amount below": [{ name: "a", cost: 0n }, "cost: expected a bigint of at least 1, got 0n"],
    "a text for yes or no": [{ name: "a", isOpen: "false" }, "isOpen: expected true or false, got a text"],
    "another word": [{ name: "a", kind: "tall\u202e" }, 'kind: expected "big" or "small", got "tall\\u202e"'],
    "no function": [{ name: "a", onNews: {} }, "onNews: expected a function, got an object"],
    "something that cannot sign": [{ name: "a", signer: {} }, "signer: expected a signer, got an object"],
    "a text that signs nothing": [{ name: "a", signer: "sign" }, "signer: expected a signer, got a text"],
    "neither the one nor the other": [
      { name: "a", byName: { x: 5 } },
      'byName["x"]: expected a text, got a number; or expected a plain object'
    ],
    "nearer to the other": [
      { name: "a", byName: { x: { perDya: "$1" } } },
      'byName["x"].perDya: unknown key; did you mean perDay?'
    ]
  }
  it.each(Object.entries(cases))("%s", (_, [value, expected]) => {
    const message = mistake(value)
    assert.isTrue(message?.startsWith(expected), message)
  })

  it("behind the constructor's name", () => {
    const read = OptionCheck.read<unknown>({ fault: outer.fault }, {}, "exactEvm.client")
    assert.strictEqual(
      Result.isFailure(read) && read.failure.message,
      "exactEvm.client: name: expected a text, got nothing"
    )
  })
})

describe("any value", () => {
  it("is looked at without a fault of ours", () => {
    const anything = FastCheck.anything({ withBigInt: true, withMap: true, withNullPrototype: true })
    const looked = FastCheck.property(anything, (value) => {
      mistake(value)
      mistake({ name: value, limits: value, list: [value], byName: { x: value }, signer: value })
    })
    assert.doesNotThrow(() => FastCheck.assert(looked))
  })

  it("a key that is not in the table is never taken", () => {
    const strange = FastCheck.string().filter((key) => !Object.hasOwn(outerTable, key))
    const refused = FastCheck.property(strange, (key) => {
      const value = Object.defineProperty({ name: "a" }, key, { value: undefined, enumerable: true })
      return mistake(value)?.includes("unknown key") === true
    })
    assert.doesNotThrow(() => FastCheck.assert(refused))
  })

  it("the text of a value is not told", () =>
    assert.notInclude(mistake({ name: ["secret-secret"], maximum: "secret-secret" }) ?? "secret", "secret"))
})

describe("a likely spelling", () => {
  const cases: ReadonlyArray<readonly [string, ReadonlyArray<string>, string | undefined]> = [
    ["PERDAY", ["perHost", "perDay"], "perDay"],
    ["max_fee_per_gas", ["maxFeePerGas"], "maxFeePerGas"],
    ["origins", ["origin", "options"], "origin"],
    ["url", ["fetch", "network"], undefined],
    ["", ["a"], "a"],
    ["x".repeat(10_000), ["x"], undefined]
  ]
  for (const [name, names, expected] of cases) {
    it(`of ${name.slice(0, 20)}`, () => assert.strictEqual(LikelySpelling.of(name, names), expected))
  }
})

/** These are for the compiler: each has to be an error. */
export const unequalTables = () => {
  const { limits: _, ...withoutLimits } = outerTable
  return [
    // @ts-expect-error an option is missing
    OptionCheck.options<Outer>(withoutLimits),
    // @ts-expect-error a key is no option
    OptionCheck.options<Inner>({ perDay: OptionCheck.optional(OptionCheck.text), perHost: outerTable.kind, more: 1 }),
    // @ts-expect-error an option that must be given may be left out
    OptionCheck.options<Pick<Outer, "name">>({ name: OptionCheck.optional(OptionCheck.text) }),
    // @ts-expect-error an option that may be left out must be given
    OptionCheck.options<Pick<Outer, "isOpen">>({ isOpen: OptionCheck.flag }),
    // @ts-expect-error an option takes less than its type says
    OptionCheck.options<Pick<Outer, "kind">>({ kind: OptionCheck.optional(OptionCheck.oneOf("big")) }),
    // @ts-expect-error an option takes more than its type says
    OptionCheck.options<Pick<Outer, "kind">>({ kind: OptionCheck.optional(OptionCheck.text) })
  ]
}
