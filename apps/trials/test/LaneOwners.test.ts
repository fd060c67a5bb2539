import { assert, describe, it } from "@effect/vitest"

import { changes, isAnothers } from "../src/LaneOwners.ts"

const sample = (at: number, owner: string | undefined) => ({
  at,
  owners: new Map(owner === undefined ? [] : [["0xab", owner]])
})
const samples = [sample(0, "a"), sample(10, undefined), sample(20, "b"), sample(30, "b"), sample(40, "a")]

describe("a lane is another's", () => {
  const cases: ReadonlyArray<readonly [number, string, boolean]> = [
    [5, "a", false],
    [15, "a", false],
    [25, "a", true],
    [25, "b", false],
    [35, "a", false],
    [35, "c", true],
    [45, "c", false]
  ]
  for (const [at, owner, expected] of cases) {
    it(`${expected ? "for certain" : "not for certain"} at ${at}, seen by ${owner}`, () =>
      assert.strictEqual(isAnothers(samples, "0xAB", owner, at), expected))
  }
})

const look = (at: number, ...owners: ReadonlyArray<string | undefined>) => ({
  at,
  owners: new Map(owners.flatMap((owner, lane) => (owner === undefined ? [] : [[`0x${lane}`, owner] as const])))
})

describe("after a strike a lane", () => {
  const struckAt = 100
  const seen = (...looks: ReadonlyArray<ReturnType<typeof look>>) => changes(look(90, "a", "b"), looks, struckAt)

  it("that is held all the time has not changed", () =>
    assert.deepStrictEqual(seen(look(110, "a", "b"), look(200, "a", "b")), []))
  it("that another has at once or after a while was idle since the strike", () => {
    const ofA = [{ from: "a", to: "b", idleMillis: 100 }]
    assert.deepStrictEqual(seen(look(110, "a", "b"), look(200, "b", "b")), ofA)
    assert.deepStrictEqual(seen(look(150, undefined, "b"), look(200, "b", "b")), ofA)
  })
  it("that its own worker has again was idle from the last look at which it was held", () => {
    const late = [{ from: "b", to: undefined, idleMillis: 60 }]
    assert.deepStrictEqual(seen(look(140, "a", "b"), look(170, "a", undefined), look(200, "a", "b")), late)
    const atOnce = [{ from: "b", to: undefined, idleMillis: 100 }]
    assert.deepStrictEqual(seen(look(150, "a", undefined), look(200, "a", "b")), atOnce)
  })
  it("that nobody has any more is idle for ever", () =>
    assert.deepStrictEqual(seen(look(150, undefined, "b"), look(200, undefined, "b")), [
      { from: "a", to: undefined, idleMillis: Number.POSITIVE_INFINITY }
    ]))
  it("is told apart from what was seen before the strike", () =>
    assert.deepStrictEqual(seen(look(95, undefined, "b"), look(110, "a", "b")), []))
})
