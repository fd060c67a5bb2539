/** A state of the chain that is on record already writes nothing: draws within one block write the channel once each, for themselves. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"

import type { ChannelState } from "../../../src/facilitator/channel/Channel.ts"
import * as ChannelBooks from "../../../src/facilitator/channel/ChannelBooks.ts"
import * as MemoryChannelStore from "../../../src/facilitator/channel/MemoryChannelStore.ts"
import * as Network from "../../../src/protocol/Network.ts"

const network = Network.make("ledger:books")
const state: ChannelState = {
  channelId: "0xchannel",
  balance: 1_000n,
  claimed: 0n,
  withdrawRequestedAt: undefined,
  refundNonce: 0n,
  block: { number: 7n, hash: "0x7" }
}
const channel = { ...state, network, config: {} }

describe("an observation", () => {
  it("that says nothing new leaves the same standing, and each change another one", () => {
    const before = ChannelBooks.opened(channel)
    assert.strictEqual(ChannelBooks.observed(before, { ...state, block: { ...state.block } }, 1), before)
    const changes: ReadonlyArray<Partial<ChannelState>> = [
      { balance: 999n },
      { claimed: 1n },
      { withdrawRequestedAt: 0 },
      { refundNonce: 1n },
      { block: { number: 7n, hash: "0x8" } },
      { block: { number: 8n, hash: "0x7" } }
    ]
    for (const change of changes) {
      const next = ChannelBooks.observed(before, { ...state, ...change }, 1)
      assert.notStrictEqual(next, before)
      assert.deepInclude(next, change)
    }
  })

  it("mends the age of charges in a record that has none", () => {
    const before = { ...ChannelBooks.opened(channel), charged: 5n }
    assert.deepStrictEqual(ChannelBooks.observed(before, state, 9), { ...before, unclaimedSince: 9 })
  })

  it("has a claimed channel looked at for an hour, and owe from the moment at which its claim is gone", () => {
    const hour = 3_600_000
    const block = { number: 8n, hash: "0x8" }
    const owing = { ...ChannelBooks.opened(channel), charged: 5n, unclaimedSince: 1 }
    const claimed = ChannelBooks.claimed(owing, 5n, state.block, 10)
    assert.deepInclude(claimed, { claimed: 5n, unclaimedSince: 10 })
    const later = { ...state, claimed: 5n, block }
    assert.strictEqual(ChannelBooks.observed(claimed, later, 10 + hour).unclaimedSince, 10)
    assert.isUndefined(ChannelBooks.observed(claimed, later, 11 + hour).unclaimedSince)
    assert.strictEqual(ChannelBooks.observed(claimed, { ...later, claimed: 0n }, 20).unclaimedSince, 20)
  })

  it.effect("of the block on record writes nothing, also where money waits to be claimed", () =>
    Effect.gen(function* () {
      const store = MemoryChannelStore.make()
      yield* store.open(channel)
      yield* store.accept(
        { channelId: "0xchannel", maximum: 100n, voucher: {}, amount: 100n, unique: undefined },
        "first",
        { lease: 60_000, open: 1 }
      )
      yield* store.commit("0xchannel", "first", 100n)
      const before = yield* store.find("0xchannel")
      yield* TestClock.adjust("1 minute")
      // The store keeps the very record that was written last.
      assert.strictEqual(yield* store.open(channel), before)
      yield* store.observed([state])
      assert.strictEqual(yield* store.find("0xchannel"), before)
    })
  )
})
