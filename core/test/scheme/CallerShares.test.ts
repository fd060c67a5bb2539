import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"

import * as CallerShares from "../../src/scheme/CallerShares.ts"

/** The use of a total by callers; spends as far as the rule allows. */
const sharing = (total: bigint, callers: ReadonlyArray<string>, ownLimit?: (caller: string) => bigint | undefined) => {
  const parts = CallerShares.partsOf(total, callers, ownLimit)
  const used = new Map<string, bigint>()
  const of = (caller: string) => used.get(caller) ?? 0n
  const all = () => [...used.values()].reduce((sum, one) => sum + one, 0n)
  const room = (caller: string) => CallerShares.roomOf(total, parts, caller, { all: all(), of })
  const spend = (caller: string, amount: bigint) => {
    if (amount <= room(caller)) used.set(caller, of(caller) + amount)
  }
  return { all, of, parts, room, spend }
}

describe("a caller", () => {
  it("that is alone has everything, and so has everybody where callers are not told apart", () => {
    assert.strictEqual(sharing(100n, ["shop"]).room("shop"), 100n)
    assert.strictEqual(sharing(100n, []).room(""), 100n)
    assert.strictEqual(sharing(100n, ["shop", "shop"]).room("shop"), 100n)
  })

  it("of several may use all but the parts of the others, and leaves them these", () => {
    const { room, spend } = sharing(100n, ["a", "b"])
    assert.strictEqual(room("a"), 75n)
    spend("a", 75n)
    assert.deepStrictEqual([room("a"), room("b")], [0n, 25n])
    spend("b", 25n)
    assert.deepStrictEqual([room("a"), room("b")], [0n, 0n])
  })

  it("frees what others need not be held by using its part", () => {
    const { room, spend } = sharing(100n, ["a", "b"])
    spend("b", 20n)
    assert.strictEqual(room("a"), 75n)
    spend("b", 5n)
    assert.strictEqual(room("a"), 75n)
    spend("b", 10n)
    assert.strictEqual(room("a"), 65n)
  })

  it("is held no more than its own limit, and the rest is for all", () => {
    const { room } = sharing(100n, ["a", "b"], (caller) => (caller === "b" ? 5n : undefined))
    assert.strictEqual(room("a"), 95n)
  })

  it("that is not one of them has what is beside their parts", () => {
    const { room, spend } = sharing(100n, ["a", "b"])
    assert.strictEqual(room("gone"), 50n)
    spend("gone", 50n)
    assert.deepStrictEqual([room("gone"), room("a"), room("b")], [0n, 25n, 25n])
  })
})

it("the total holds and no caller loses the rest of its part, in any order of their calls", () => {
  const callers = ["a", "b", "c", "d", "e"]
  const deeds = fc.array(fc.tuple(fc.constantFrom(...callers, "stranger"), fc.bigInt(0n, 400n)), { maxLength: 60 })
  fc.assert(
    fc.property(fc.bigInt(0n, 1_000n), fc.integer({ min: 2, max: 5 }), deeds, (total, count, spending) => {
      const names = callers.slice(0, count)
      const { all, of, parts, room, spend } = sharing(total, names)
      for (const [caller, amount] of spending) {
        spend(caller, amount)
        assert.isTrue(all() <= total)
        for (const name of names) assert.isTrue(room(name) >= (parts.get(name) ?? 0n) - of(name))
      }
    })
  )
})

it("several callers may use at least a half of the total, to the unit that does not divide", () => {
  fc.assert(
    fc.property(fc.bigInt(0n, 10n ** 30n), fc.integer({ min: 2, max: 300 }), (total, count) => {
      const parts = CallerShares.partsOf(
        total,
        Array.from({ length: count }, (_, index) => `caller-${index}`)
      )
      const held = [...parts.values()].reduce((sum, part) => sum + part, 0n)
      assert.isTrue(held <= total / 2n && total / 2n - held < BigInt(count))
    })
  )
})
