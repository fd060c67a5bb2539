/** States of channels are read by few requests, and none is older than two seconds. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"

import * as ChannelStates from "../../../src/facilitator/local/ChannelStates.ts"
import type { SchemeDraws } from "../../../src/scheme/SchemeDraws.ts"

/** A chain whose head counts its reads: the state of each channel shows the read that it is of. */
const chainOf = (answers: Effect.Effect<void> = Effect.void) => {
  const reads: Array<ReadonlyArray<string>> = []
  const states: SchemeDraws["states"] = (ids) =>
    Effect.suspend(() => {
      reads.push(ids)
      const block = { number: BigInt(reads.length), hash: `0x${reads.length}` }
      const read = ids.map((channelId) => stateOf(channelId, block))
      return Effect.as(answers, read)
    })
  return { reads, draws: { states } as Partial<SchemeDraws> as SchemeDraws }
}

const stateOf = (channelId: string, block: { readonly number: bigint; readonly hash: string }) => ({
  channelId,
  balance: 1_000n,
  claimed: 0n,
  withdrawRequestedAt: undefined,
  refundNonce: 0n,
  block
})

const blockOf = ({ sums }: ChannelStates.Seen) => sums?.block.number

describe("the states of channels", () => {
  it.effect("count again for two seconds, unless the newest is wanted, and not once the clock went back", () =>
    Effect.gen(function* () {
      yield* TestClock.adjust("1 hour")
      const { draws, reads } = chainOf()
      const states = ChannelStates.make()
      const first = yield* states.recent(draws, "0xa")
      yield* TestClock.adjust("1999 millis")
      const again = yield* states.recent(draws, "0xa")
      assert.deepStrictEqual([first.isNew, again.isNew, blockOf(again)], [true, false, 1n])
      yield* TestClock.adjust("1 millis")
      assert.strictEqual(blockOf(yield* states.recent(draws, "0xa")), 2n)
      assert.strictEqual(blockOf(yield* states.newest(draws, "0xa")), 3n)
      assert.strictEqual(blockOf(yield* states.recent(draws, "0xa")), 3n)
      yield* TestClock.setTime(0)
      assert.strictEqual(blockOf(yield* states.recent(draws, "0xa")), 4n)
      assert.deepStrictEqual(reads, [["0xa"], ["0xa"], ["0xa"], ["0xa"]])
    })
  )

  it.effect("are read together while a read is under way, by one that begins after all of them came", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const { draws, reads } = chainOf(Deferred.await(gate))
      const states = ChannelStates.make()
      const all = yield* Effect.forkChild(
        Effect.forEach(["0xa", "0xb", "0xc"], (id) => states.recent(draws, id), { concurrency: "unbounded" })
      )
      yield* Effect.yieldNow
      yield* Deferred.succeed(gate, undefined)
      const seen = yield* Fiber.join(all)
      assert.deepStrictEqual(reads, [["0xa"], ["0xb", "0xc"]])
      assert.deepStrictEqual(
        seen.map((one) => one.sums?.channelId),
        ["0xa", "0xb", "0xc"]
      )
    })
  )

  it.effect("are one network's own", () =>
    Effect.gen(function* () {
      const [one, other] = [chainOf(), chainOf()]
      const states = ChannelStates.make()
      yield* states.recent(one.draws, "0xa")
      yield* states.recent(other.draws, "0xa")
      assert.deepStrictEqual([one.reads.length, other.reads.length], [1, 1])
    })
  )
})
