/** Claims have a share of the ceilings of their own. */
import { assert, describe, it } from "@effect/vitest"

import * as SpendLimits from "../../../src/facilitator/lane/SpendLimits.ts"
import * as ChannelClaims from "../../../src/facilitator/local/ChannelClaims.ts"
import { claimsCaller } from "../../../src/facilitator/local/ChannelSettling.ts"
import * as Network from "../../../src/protocol/Network.ts"
import type { SchemeFacilitator } from "../../../src/scheme/SchemeFacilitator.ts"

const network = Network.make("ledger:claims")

/** The networks of this facilitator: channels are drawn on in the first, and settled for shops alone in the second. */
const settled = Network.make("ledger:settled")
const schemes = [
  { network, channels: { draws: {} } },
  { network: settled, channels: {} },
  { network: Network.make("ledger:plain") }
] as unknown as ReadonlyArray<SchemeFacilitator>

const brokenBy = (
  limits: SpendLimits.SpendLimits,
  spent: ReadonlyMap<string, bigint>,
  caller: string,
  cost: bigint,
  on: string = network
) =>
  SpendLimits.room(ChannelClaims.withShare(limits, schemes), on, { open: [], spent }).broken({
    callers: [caller],
    cost
  })

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

  it("is not held back where no channels are drawn on", () => {
    const limits = { total: () => 1_000n }
    for (const on of [settled, "ledger:plain", "ledger:unknown"]) {
      assert.deepStrictEqual(brokenBy(limits, new Map([["", 750n]]), "", 250n, on), [])
      assert.deepStrictEqual(brokenBy(limits, new Map([["", 750n]]), "", 251n, on), [undefined, ""])
      assert.deepStrictEqual(ChannelClaims.withShare({ callers: () => ["one"] }, schemes).callers?.(on), ["one"])
    }
  })
})
