/** The least sums of a channel's transactions, without a chain. */
import { assert, describe, it } from "@effect/vitest"

import * as ChannelMinimum from "../../src/channel-jobs/ChannelMinimum.ts"
import * as EvmAsset from "../../src/transfer/EvmAsset.ts"

const found = EvmAsset.retired("eip155:8453", "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913")

const of = () => ({ amount: 100n, option: "minimumPrice $1" })

const least = (isOwn?: boolean) => {
  if (found === undefined) throw new Error("the address is one")
  return ChannelMinimum.make({ of })(found, isOwn)
}

const row = (channel: number, moved: bigint, more: Partial<ChannelMinimum.MovedRow> = {}): ChannelMinimum.MovedRow => ({
  channelId: `${channel}`,
  moved,
  total: moved,
  empties: false,
  withdrawRequestedAt: 0,
  ...more
})

const rows = (count: number, moved: bigint) => Array.from({ length: count }, (_, channel) => row(channel, moved))

const withdrawn = (total: bigint, withdrawRequestedAt: number) => [row(1, 1n, { total, withdrawRequestedAt })]

const detailOf = (refusal: { readonly detail: string } | undefined) => refusal?.detail ?? "ok"

describe("the least sums of a channel's transactions", () => {
  const claim = "batch_settlement_claim_below_minimum"

  it("are one least amount for each ten rows of a claim, those included that are claimed already", () => {
    const { claim: judge } = least()
    assert.strictEqual(detailOf(judge(rows(10, 10n), 10)), "ok")
    assert.strictEqual(detailOf(judge(rows(10, 9n), 10)), claim)
    assert.strictEqual(detailOf(judge(rows(11, 10n), 11)), claim)
    assert.strictEqual(detailOf(judge(rows(11, 19n), 11)), "ok")
    assert.strictEqual(detailOf(judge([row(1, 100n)], 11)), claim)
    assert.strictEqual(detailOf(judge([row(1, 1n, { empties: true })], 1)), "ok")
    assert.strictEqual(detailOf(judge([row(1, 1n, { empties: true })], 2)), claim)
  })

  it("let one sum through in each withdrawal, again and again", () => {
    const { claim: judge } = least()
    assert.strictEqual(detailOf(judge(withdrawn(1n, 5), 1)), "ok")
    assert.strictEqual(detailOf(judge(withdrawn(2n, 5), 1)), claim)
    assert.strictEqual(detailOf(judge(withdrawn(1n, 5), 1)), "ok")
    assert.strictEqual(detailOf(judge(withdrawn(2n, 6), 1)), "ok")
    // Beside rows that move a least amount it is the same one sum.
    const beside = (total: bigint) =>
      Array.from({ length: 30 }, (_, channel) => row(channel + 2, 1n, { total, withdrawRequestedAt: 5 }))
    assert.strictEqual(detailOf(judge([row(0, 100n), ...beside(1n)], 31)), "ok")
    assert.strictEqual(detailOf(judge([row(0, 100n), ...beside(2n)], 31)), claim)
  })

  it("let one small payout through in 24 hours, and the same one again", () => {
    const { payout } = least()
    const day = 86_400_000
    const small = (upTo: bigint, now: number) => detailOf(payout("0x1", { unpaid: 99n, upTo, now }))
    assert.strictEqual(small(99n, 0), "ok")
    assert.strictEqual(small(99n, 1), "ok")
    assert.strictEqual(small(198n, day), "batch_settlement_settle_below_minimum")
    assert.strictEqual(detailOf(payout("0x1", { unpaid: 100n, upTo: 199n, now: day })), "ok")
    assert.strictEqual(small(298n, day + 1), "ok")
    assert.strictEqual(detailOf(payout("0x2", { unpaid: 1n, upTo: 1n, now: 0 })), "ok")
  })

  it("bind no claim of the facilitator's own watch", () => {
    const { claim: judge, payout, refund } = least(true)
    assert.strictEqual(detailOf(judge(rows(20, 1n), 20)), "ok")
    assert.strictEqual(detailOf(payout("0x1", { unpaid: 1n, upTo: 1n, now: 0 })), "ok")
    assert.strictEqual(detailOf(payout("0x1", { unpaid: 1n, upTo: 2n, now: 0 })), "ok")
    assert.strictEqual(detailOf(refund(1n, false)), "ok")
  })
})
