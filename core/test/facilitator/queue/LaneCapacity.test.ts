import { assert, describe, it } from "@effect/vitest"

import * as LaneCapacity from "../../../src/facilitator/queue/LaneCapacity.ts"

/** A lane of 16 places in which landings take a second. */
const seen = () => {
  const lane = LaneCapacity.make(16)
  for (let index = 0; index < 10; index++) {
    lane.watch(`n${index}`, 0, index * 1_000)
    lane.included(`n${index}`, index * 1_000 + 1_000)
  }
  return lane
}

describe("the capacity of a lane", () => {
  it("is a guess that lets payments in while nothing was seen", () => {
    const lane = LaneCapacity.make(16)
    assert.strictEqual(lane.inclusionMillis(0), 5_000)
    assert.approximately(lane.perSecond(0), 16 / 5, 0.01)
  })

  it("is its places in the time of a landing once that was seen", () => {
    assert.approximately(seen().inclusionMillis(10_000), 1_000, 1)
    assert.approximately(seen().perSecond(10_000), 16, 0.1)
  })

  it("is what the queue shows, whatever the places promise", () => {
    const lane = seen()
    for (let index = 0; index < 20; index++) {
      lane.watch(`q${index}`, 40, 10_000 + index * 1_000)
      lane.included(`q${index}`, 10_000 + index * 1_000 + 11_000)
    }
    assert.approximately(lane.perSecond(40_000), 4, 0.5)
    assert.approximately(lane.perSecond(400_000), 16, 0.1)
  })

  it("falls while the oldest in the queue waits longer than it should", () => {
    const lane = seen()
    lane.watch("first", 10, 10_000)
    assert.approximately(lane.intervalMillis(41_000), 3_000, 1)
  })

  it("falls while nothing lands, and not for one payment beside which others land", () => {
    const lane = seen()
    lane.watch("stuck", 0, 10_000)
    assert.approximately(lane.inclusionMillis(40_000), 30_000, 1)
    for (let index = 0; index < 5; index++) {
      lane.watch(`m${index}`, 0, 40_000 + index * 1_000)
      lane.included(`m${index}`, 41_000 + index * 1_000)
    }
    assert.approximately(lane.inclusionMillis(45_500), 1_000, 1)
    lane.expired("stuck", 70_000)
    assert.approximately(lane.inclusionMillis(70_000), 1_000, 1)
  })

  it("counts a wait for the next block as that of the payments that blocks include, and not of the few before", () => {
    const lane = seen()
    const rates = [0, 1].map((steps) => {
      for (let index = 0; index < 20; index++) {
        const at = 11_000 + index * 1_000
        if (steps === 1) for (let one = 0; one < 39; one++) lane.includedIn(BigInt(index), at)
        lane.watch(`q${steps}-${index}`, 1 + (index % 4), at - 1_500)
        lane.included(`q${steps}-${index}`, at)
      }
      return lane.perSecond(30_000)
    })
    assert.isBelow(rates[0] ?? 0, 8)
    assert.isAbove(rates[1] ?? 0, 20)
    assert.isAtMost(rates[1] ?? 0, 40)
    lane.watch("first", 1, 31_000)
    assert.approximately(lane.intervalMillis(37_500), 5_500 / 39, 8)
    assert.isAbove(lane.intervalMillis(400_000), 20_000, "what was observed long ago says little")
  })

  it("counts a long wait by the payments before, whatever blocks include", () => {
    const lane = seen()
    for (let index = 0; index < 20; index++) {
      const at = 21_000 + index * 1_000
      for (let one = 0; one < 4; one++) lane.includedIn(BigInt(index), at)
      lane.watch(`q${index}`, 40, at - 11_000)
      lane.included(`q${index}`, at)
    }
    assert.approximately(lane.perSecond(40_000), 4, 0.5)
  })

  it("says nothing of a payment that left for another reason", () => {
    const lane = seen()
    lane.watch("back", 100, 10_000)
    lane.left("back")
    assert.approximately(lane.perSecond(90_000), 16, 0.1)
    assert.deepStrictEqual(lane.watched(), [])
  })
})
