import { assert, describe, it, onTestFinished, vi } from "@effect/vitest"
import * as fc from "fast-check"

import * as BoundedMap from "../../src/platform/BoundedMap.ts"

const setAll = (capacity: number, keys: ReadonlyArray<string>) => {
  const map = BoundedMap.oldestOut<string, number>(capacity)
  keys.forEach((key, at) => void map.set(key, at))
  return map
}

describe("a map whose oldest entry leaves", () => {
  it("forgets the entry that was set longest ago, and no other", () => {
    assert.deepStrictEqual(
      [...setAll(2, ["a", "b", "c"])],
      [
        ["b", 1],
        ["c", 2]
      ]
    )
    assert.deepStrictEqual([...setAll(1, ["a", "b"])], [["b", 1]])
  })

  it("makes an entry the youngest that is set again, and forgets nothing for it", () => {
    assert.deepStrictEqual(
      [...setAll(2, ["a", "b", "a"])],
      [
        ["b", 1],
        ["a", 2]
      ]
    )
    assert.deepStrictEqual(
      [...setAll(2, ["a", "b", "a", "c"])],
      [
        ["a", 2],
        ["c", 3]
      ]
    )
  })

  it("leaves an entry as old as it is when it is read", () => {
    const map = setAll(2, ["a", "b"])
    assert.strictEqual(map.get("a"), 0)
    assert.isTrue(map.has("a"))
    assert.deepStrictEqual([...map.set("c", 2).keys()], ["b", "c"])
  })

  it("has a place again for what is deleted, and keeps keys and values that are undefined", () => {
    const map = setAll(2, ["a", "b"])
    assert.isTrue(map.delete("b"))
    assert.deepStrictEqual([...map.set("c", 2).keys()], ["a", "c"])
    const odd = BoundedMap.oldestOut<string | undefined, undefined>(1)
    assert.isTrue(odd.set(undefined, undefined).has(undefined))
    assert.deepStrictEqual([...odd.set("a", undefined).keys()], ["a"])
  })

  it("holds the last entries set, whatever is set and deleted", () => {
    const step = fc.record({
      key: fc.constantFrom("a", "b", "c", "d", "e"),
      act: fc.constantFrom("set", "set", "set", "delete", "clear")
    })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 4 }), fc.array(step), (capacity, steps) => {
        const map = BoundedMap.oldestOut<string, boolean>(capacity)
        let expected: Array<string> = []
        for (const { act, key } of steps) {
          expected = act === "clear" ? [] : expected.filter((one) => one !== key)
          if (act === "clear") map.clear()
          else if (act === "delete") map.delete(key)
          else {
            map.set(key, true)
            expected = [...expected, key].slice(-capacity)
          }
          assert.deepStrictEqual([...map.keys()], expected)
        }
      })
    )
  })

  it("looks for the first entry once, and not for each that leaves", () => {
    const walks = vi.spyOn(Map.prototype, "keys")
    onTestFinished(() => walks.mockRestore())
    const map = setAll(
      100,
      Array.from({ length: 5_000 }, (_, at) => `key ${at}`)
    )
    assert.strictEqual(walks.mock.calls.length, 1)
    assert.deepStrictEqual([map.size, map.has("key 4899"), map.has("key 4900")], [100, false, true])
  })

  it("looks for it anew after as many entries as it holds have come and gone, so that no old place is kept", () => {
    const map = setAll(3, ["a", "b", "c", "d"])
    const walks = vi.spyOn(Map.prototype, "keys")
    onTestFinished(() => walks.mockRestore())
    for (let at = 0; at < 4; at++) map.set("d", at)
    map.set("e", 4)
    assert.strictEqual(walks.mock.calls.length, 1)
    assert.deepStrictEqual([...map.keys()], ["c", "d", "e"])
  })

  it("has a capacity that limits", () => {
    for (const capacity of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      assert.throws(() => BoundedMap.oldestOut(capacity), RangeError)
    }
    assert.strictEqual(BoundedMap.oldestOut(3).capacity, 3)
  })
})
