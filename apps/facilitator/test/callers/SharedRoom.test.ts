import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"

import * as SharedRoom from "../../src/callers/SharedRoom.ts"

describe("shared room", () => {
  it("keeps an owner's entries within its part, however many another owner has", () => {
    const room = SharedRoom.make<number>(100)
    for (let index = 0; index < 50; index++) room.keep("small", `${index}`, index)
    for (let index = 0; index < 10_000; index++) room.keep("greedy", `${index}`, index)
    for (let index = 0; index < 50; index++) assert.strictEqual(room.find("small", `${index}`), index)
    for (let index = 0; index < 50; index++) assert.strictEqual(room.find("greedy", `${9_950 + index}`), 9_950 + index)
    assert.isUndefined(room.find("greedy", "9949"))
  })

  it("belongs to one owner while it is alone, and goes to others from its oldest entry on", () => {
    const room = SharedRoom.make<string>(10)
    for (let index = 0; index < 20; index++) room.keep("first", `${index}`, "here")
    assert.isUndefined(room.find("first", "9"))
    assert.strictEqual(room.find("first", "10"), "here")
    for (let index = 0; index < 5; index++) room.keep("second", `${index}`, "too")
    assert.isUndefined(room.find("first", "14"))
    assert.strictEqual(room.find("first", "15"), "here")
    room.forget("second", "0")
    assert.isUndefined(room.find("second", "0"))
  })

  it("drops the entry that was used longest ago", () => {
    const room = SharedRoom.make<number>(2)
    room.keep("one", "a", 1)
    room.keep("one", "b", 2)
    room.keep("one", "a", 1)
    room.keep("one", "c", 3)
    assert.isUndefined(room.find("one", "b"))
    assert.strictEqual(room.find("one", "a"), 1)
  })

  it("never holds more than its size, nor less than every owner's part", () => {
    const step = fc.record({ owner: fc.nat(5), key: fc.nat(30), forgets: fc.boolean() })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 12 }), fc.array(step, { maxLength: 300 }), (capacity, steps) => {
        const room = SharedRoom.make<true>(capacity)
        const found = (owner: number) =>
          Array.from({ length: 31 }, (_, key) => room.find(`${owner}`, `${key}`)).filter((one) => one !== undefined)
            .length
        for (const { forgets, key, owner } of steps) {
          const before = [0, 1, 2, 3, 4, 5].map(found)
          if (forgets && key % 3 === 0) room.forget(`${owner}`, `${key}`)
          else room.keep(`${owner}`, `${key}`, true)
          const after = [0, 1, 2, 3, 4, 5].map(found)
          assert.isAtMost(
            after.reduce((sum, one) => sum + one, 0),
            capacity
          )
          const owners = before.filter((one, index) => one > 0 || index === owner).length
          if (!forgets || key % 3 !== 0) assert.isTrue(room.find(`${owner}`, `${key}`))
          for (const [other, count] of before.entries()) {
            if (other !== owner && count <= Math.floor(capacity / owners)) assert.strictEqual(after[other], count)
          }
        }
      })
    )
  })
})
