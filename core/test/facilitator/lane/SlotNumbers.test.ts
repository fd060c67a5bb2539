import { assert, describe, it } from "@effect/vitest"

import * as SlotNumbers from "../../../src/facilitator/lane/SlotNumbers.ts"

const headAt = (number: bigint, final: bigint) => ({ head: { number, hash: `0x${number}`, time: 1 }, final })

describe("the numbers of a lane's slots", () => {
  it("are watched until the head at which the watch began is final", () => {
    const slots = SlotNumbers.make(5n)
    SlotNumbers.noneMissing(slots, headAt(100n, 90n))
    SlotNumbers.noneMissing(slots, headAt(109n, 99n))
    assert.isFalse(slots.isOver)
    SlotNumbers.noneMissing(slots, headAt(110n, 100n))
    assert.isTrue(slots.isOver)
    assert.strictEqual(slots.since, 100n)
  })

  it("are not missing any more once a head shows them all", () => {
    const slots = SlotNumbers.make(5n)
    slots.missed = { first: 3n, head: 98n }
    SlotNumbers.noneMissing(slots, headAt(100n, 90n))
    assert.isUndefined(slots.missed)
  })

  it("are watched anew after a jump", () => {
    const slots = SlotNumbers.make(5n)
    SlotNumbers.noneMissing(slots, headAt(100n, 100n))
    Object.assign(slots, { missed: { first: 5n, head: 100n }, confirmed: 5n, nextLook: 9 })
    SlotNumbers.skipTo(slots, 8n)
    assert.deepStrictEqual(slots, SlotNumbers.make(8n))
    assert.isFalse(slots.isOver)
  })
})
