import { assert, describe, it } from "@effect/vitest"
import type { ChannelStore } from "@pontage/core"
import { ChannelStoreLaws } from "@pontage/core/testing"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"

import { SqliteChannelStore } from "../src/sqlite.ts"
import * as DatabaseFile from "./DatabaseFile.ts"
import * as TrialChannels from "./TrialChannels.ts"

const layer = Layer.unwrap(Effect.map(DatabaseFile.filename, (filename) => SqliteChannelStore.layer({ filename })))

const inFile = <A, E>(filename: string, use: (store: ChannelStore["Service"]) => Effect.Effect<A, E>) =>
  Effect.scoped(Effect.flatMap(SqliteChannelStore.make({ filename }), use))

const limits = { lease: 60_000, open: 100 }

describe("the laws of a channel store, in a file", () => {
  for (const { effect, name } of ChannelStoreLaws.all) it.effect(name, () => Effect.provide(effect, layer))

  it.effect("has every granted draw of a process that has ended, and its voucher for one that lapsed meanwhile", () =>
    Effect.gen(function* () {
      const filename = yield* DatabaseFile.filename
      const { channel, draw } = TrialChannels
      yield* inFile(filename, (store) =>
        Effect.gen(function* () {
          yield* store.open(channel)
          yield* store.accept(draw(1, 500n), "claim 1", limits)
          yield* store.accept(draw(2, 500n), "claim 2", { ...limits, lease: 120_000 })
          yield* store.commit(channel.channelId, "claim 1", 70n)
          yield* store.accept(draw(3, 500n), "claim 3", limits)
        })
      )
      yield* inFile(filename, (store) =>
        Effect.gen(function* () {
          const standing = yield* store.find(channel.channelId)
          assert.deepInclude(standing, { charged: 70n, reserved: 200n, signed: 500n, open: 2, config: channel.config })
          assert.strictEqual((yield* store.accept(draw(2, 500n), "other", limits))._tag, "Held")
          yield* TestClock.adjust("60 seconds")
          assert.strictEqual((yield* store.commit(channel.channelId, "claim 3", 100n))._tag, "Charged")
          assert.strictEqual((yield* store.commit(channel.channelId, "claim 2", 100n))._tag, "Charged")
          assert.deepInclude(yield* store.find(channel.channelId), { charged: 270n, reserved: 0n, open: 0, used: 500n })
        })
      )
    })
  )

  it.effect("claims by worth and by age, the oldest first", () =>
    Effect.gen(function* () {
      const store = yield* SqliteChannelStore.make({ filename: yield* DatabaseFile.filename })
      const { channel } = TrialChannels
      const policy = {
        network: channel.network,
        least: 1n,
        maximumUnclaimed: 1_000n,
        worthwhile: 100n,
        worthwhileAge: 3_600_000,
        maximumAge: 86_400_000
      }
      const due = Effect.map(store.due(policy), (rows) => rows.map(({ channelId }) => channelId))
      const sell = Effect.fnUntraced(function* (channelId: string, amount: bigint) {
        yield* store.open({ ...channel, channelId })
        yield* store.accept({ channelId, maximum: amount, amount, unique: undefined, voucher: {} }, channelId, limits)
        yield* store.commit(channelId, channelId, amount)
      })
      yield* sell("worth", 100n)
      yield* sell("little", 99n)
      assert.deepStrictEqual(yield* due, [])
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(yield* due, ["worth"])
      yield* sell("much", 1_000n)
      assert.deepStrictEqual(yield* due, ["worth", "much"])
      yield* TestClock.adjust("23 hours")
      assert.sameOrderedMembers([...(yield* due)], ["little", "worth", "much"])
    })
  )

  it.effect("reads all channels with unclaimed charges, however many share one instant", () =>
    Effect.gen(function* () {
      const store = yield* SqliteChannelStore.make({ filename: yield* DatabaseFile.filename })
      const { channel } = TrialChannels
      yield* Effect.forEach(
        Array.from({ length: 1_203 }, (_, index) => `0x${index}`),
        Effect.fnUntraced(function* (channelId) {
          yield* store.open({ ...channel, channelId })
          yield* store.accept({ ...TrialChannels.draw(1, 100n), channelId }, "claim", limits)
          yield* store.commit(channelId, "claim", 1n)
        }),
        { concurrency: 64 }
      )
      const always = { least: 1n, maximumUnclaimed: 1n, worthwhile: 1n, worthwhileAge: 0, maximumAge: 0 }
      const rows = yield* store.due({ network: channel.network, ...always })
      assert.strictEqual(new Set(rows.map(({ channelId }) => channelId)).size, 1_203)
      assert.strictEqual(rows.length, 1_203)
    })
  )
})
