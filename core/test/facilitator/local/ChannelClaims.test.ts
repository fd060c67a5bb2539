/** Claims have a share of the ceilings of their own. */
import { assert, describe, it } from "@effect/vitest"

import * as SpendLimits from "../../../src/facilitator/lane/SpendLimits.ts"
import * as ChannelClaims from "../../../src/facilitator/local/ChannelClaims.ts"
import { claimsCaller } from "../../../src/facilitator/local/ChannelSettling.ts"

const network = "ledger:claims"

const brokenBy = (limits: SpendLimits.SpendLimits, spent: ReadonlyMap<string, bigint>, caller: string, cost: bigint) =>
  SpendLimits.room(ChannelClaims.withShare(limits), network, { open: [], spent }).broken({ callers: [caller], cost })

describe("the share of claims in a ceiling", () => {
  it("is left by all that others spend, where callers have no names", () => {
    const limits = { total: () => 1_000n }
    const spent = new Map([["", 750n]])
    assert.deepStrictEqual(brokenBy(limits, spent, "", 1n), [""])
    assert.deepStrictEqual(brokenBy(limits, spent, claimsCaller, 250n), [])
  })

  it("is one beside those of named callers", () => {
    const limits = { total: () => 1_200n, callers: () => ["one", "two"] }
    const spent = new Map([
      ["one", 500n],
      ["two", 500n]
    ])
    assert.deepStrictEqual(brokenBy(limits, spent, "one", 1n), ["one"])
    assert.deepStrictEqual(brokenBy(limits, spent, claimsCaller, 200n), [])
  })
})
