import { assert, describe, it } from "@effect/vitest"

import { isAnothers } from "../src/LaneOwners.ts"

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
