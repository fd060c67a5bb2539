import { assert, describe, it } from "@effect/vitest"

import { changes, isAnothers } from "../../src/audit/LaneOwners.ts"

const sample = (at: number, owner: string | undefined) => ({
  at,
  owners: new Map(owner === undefined ? [] : [["0xab", owner]]),
  leased: new Map()
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

/** The owner of each lane; `a` is silent, and `b` goes on prolonging its leases. */
const look = (at: number, ...owners: ReadonlyArray<string | undefined>) => ({
  at,
  owners: new Map(owners.flatMap((owner, lane) => (owner === undefined ? [] : [[`0x${lane}`, owner] as const]))),
  leased: new Map(owners.flatMap((owner) => (owner === undefined ? [] : [[owner, owner === "a" ? 500 : at + 500]])))
})

describe("after a strike a lane", () => {
  const struckAt = 100
  const seen = (...looks: ReadonlyArray<ReturnType<typeof look>>) => changes(look(105, "a", "b"), looks, struckAt)

  it("that is held all the time has not changed", () =>
    assert.deepStrictEqual(seen(look(110, "a", "b"), look(200, "a", "b")), []))
  it("of who was struck was idle since the strike, had at once or after a while", () => {
    const ofA = [{ from: "a", to: "b", idleMillis: 100, isStruck: true }]
    assert.deepStrictEqual(seen(look(110, "a", "b"), look(200, "b", "b")), ofA)
    assert.deepStrictEqual(seen(look(150, undefined, "b"), look(200, "b", "b")), ofA)
  })
  it("of who was not struck was idle from the last look at which it was held", () => {
    const late = { from: "b", to: undefined, idleMillis: 60, isStruck: false }
    assert.deepStrictEqual(
      seen(look(140, "a", "b"), look(170, "a", undefined), look(200, "a", "b"), look(300, "a", "b")),
      [late]
    )
    const given = seen(look(140, "b", "b"), look(170, "b", undefined), look(200, "b", "c"))
    assert.deepStrictEqual(given.slice(1), [{ ...late, to: "c" }])
  })
  it("that was held at no look was idle since the strike", () =>
    assert.deepStrictEqual(seen(look(150, "a", undefined), look(200, "a", "b")), [
      { from: "b", to: undefined, idleMillis: 100, isStruck: false }
    ]))
  it("was idle for no longer than samples were taken", () => {
    const stalled = seen(look(110, undefined, "b"), look(5_000, undefined, "b"), look(5_100, "b", "b"))
    assert.deepStrictEqual(stalled, [{ from: "a", to: "b", idleMillis: 10 + 200 + 100, isStruck: true }])
    const looks = Array.from({ length: 30 }, (_, index) => look(200 + index * 100, undefined, "b"))
    assert.deepStrictEqual(seen(...looks, look(3_200, "b", "b")), [
      { from: "a", to: "b", idleMillis: 3_100, isStruck: true }
    ])
  })
  it("without an owner at the end is idle for ever", () =>
    assert.deepStrictEqual(seen(look(150, undefined, "b"), look(200, undefined, "b")), [
      { from: "a", to: undefined, idleMillis: Number.POSITIVE_INFINITY, isStruck: true }
    ]))
  it("is told apart from what was seen before the strike", () =>
    assert.deepStrictEqual(seen(look(95, undefined, "b"), look(110, "a", "b")), []))
})
