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

  it("says nothing of a payment that left for another reason", () => {
    const lane = seen()
    lane.watch("back", 100, 10_000)
    lane.left("back")
    assert.approximately(lane.perSecond(90_000), 16, 0.1)
    assert.deepStrictEqual(lane.watched(), [])
  })
})
