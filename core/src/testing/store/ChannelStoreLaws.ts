/** The laws of a channel store (`ChannelStore`): run each on a store of your own. */
import * as Effect from "effect/Effect"

import type { Draw } from "../../facilitator/channel/Channel.ts"
import { same } from "../Law.ts"
import * as DrawLaws from "./ChannelDrawLaws.ts"
import { refunding } from "./ChannelRefundLaws.ts"
import * as Trial from "./ChannelStoreTrial.ts"

const { drawOn, law, opened, policy, roomy, sold, standingIs } = Trial

const greatest = 2n ** 128n - 1n

const chain: ReadonlyArray<Trial.ChannelLaw> = [
  law("a new channel owes what the chain shows as claimed, and a known one keeps its charges", (store) =>
    Effect.gen(function* () {
      const channel = yield* opened(store, { claimed: 300n })
      yield* standingIs(store, channel.channelId, { charged: 300n, signed: 300n, config: channel.config })
      yield* sold(store, drawOn(channel, 400n, 100n))
      yield* store.open({ ...channel, balance: 2_000n, block: { number: 11n, hash: "0x11" } })
      yield* standingIs(store, channel.channelId, { charged: 400n, signed: 400n, balance: 2_000n })
    })
  ),
  law("a state as of an earlier block changes nothing", (store) =>
    Effect.gen(function* () {
      const channel = yield* opened(store)
      yield* store.observed([{ ...channel, balance: 5n, refundNonce: 3n, block: { number: 9n, hash: "0x9" } }])
      yield* standingIs(store, channel.channelId, { balance: 1_000n, refundNonce: 0n, block: channel.block })
      yield* store.observed([{ ...channel, balance: 5n, refundNonce: 3n, block: { number: 12n, hash: "0x12" } }])
      yield* standingIs(store, channel.channelId, {
        balance: 5n,
        refundNonce: 3n,
        block: { number: 12n, hash: "0x12" }
      })
      yield* store.observed([yield* Trial.newChannel()])
    })
  ),
  law(
    "a claim that the store did not make ends the channel's draws for good, and its charges stay as they are",
    (store) =>
      Effect.gen(function* () {
        const channel = yield* opened(store)
        const { channelId } = channel
        yield* store.accept(drawOn(channel, 100n, 100n), "claim", roomy)
        yield* store.observed([{ ...channel, claimed: 80n, block: { number: 11n, hash: "0x11" } }])
        const verdict = Effect.map(store.accept(drawOn(channel, 200n, 100n), "next", roomy), ({ _tag }) => _tag)
        yield* same("the verdict", yield* verdict, "Foreign")
        const end = yield* store.commit(channelId, "claim", 100n)
        yield* same("the charge", end._tag === "Charged" && end.charged, 100n)
        yield* store.publish([{ channelId, maximum: 100n }])
        yield* same("the verdict after a claim of its own", yield* verdict, "Foreign")
        yield* standingIs(store, channelId, { charged: 100n, signed: 100n, claimed: 80n, reserved: 0n })
      })
  ),
  law("amounts of 128 bits are kept exactly", (store) =>
    Effect.gen(function* () {
      const channel = yield* opened(store, { balance: greatest, refundNonce: 2n ** 256n - 1n })
      yield* sold(store, drawOn(channel, greatest, greatest), greatest - 1n)
      yield* standingIs(store, channel.channelId, {
        balance: greatest,
        charged: greatest - 1n,
        refundNonce: 2n ** 256n - 1n,
        signed: greatest
      })
    })
  )
]

const claims: ReadonlyArray<Trial.ChannelLaw> = [
  law("a claim is due for what was charged, and no more once it is in a block", (store) =>
    Effect.gen(function* () {
      const channel = yield* opened(store)
      const { channelId, config } = channel
      yield* sold(store, drawOn(channel, 400n, 400n), 250n)
      yield* store.accept(drawOn(channel, 650n, 400n), "open", roomy)
      const due = store.due(policy(channel, { maximumUnclaimed: 250n }))
      const { voucher } = drawOn(channel, 400n, 0n)
      yield* same("what is not due", yield* store.due(policy(channel, { maximumUnclaimed: 251n })), [])
      yield* same("what is due", yield* due, [
        { channelId, config, maximum: 400n, voucher, total: 250n, urgent: false }
      ])
      yield* store.claimed([{ channelId, total: 250n }], { number: 11n, hash: "0x11" })
      yield* same("what is due after the claim", yield* due, [])
      yield* standingIs(store, channelId, { claimed: 250n, charged: 250n })
    })
  ),
  law(
    "a channel is watched while it owes money, and still after its claim, which a reorganisation may take back",
    (store) =>
      Effect.gen(function* () {
        const channel = yield* opened(store)
        const { channelId } = channel
        const isWatched = Effect.map(store.watched(channel.network), (ids) => ids.includes(channelId))
        yield* same("whether it is watched before a charge", yield* isWatched, false)
        yield* sold(store, drawOn(channel, 100n, 100n))
        yield* same("whether it is watched while it owes", yield* isWatched, true)
        yield* store.claimed([{ channelId, total: 100n }], { number: 11n, hash: "0x11" })
        yield* same("whether it is watched after its claim", yield* isWatched, true)
        yield* store.observed([{ ...channel, claimed: 0n, block: { number: 12n, hash: "0x12" } }])
        const due = yield* store.due(policy(channel, { maximumUnclaimed: 1n }))
        yield* same(
          "what is due once the claim is gone",
          due.map(({ total }) => total),
          [100n]
        )
      })
  ),
  law("less than a claim costs is never due, also before a withdrawal", (store) =>
    Effect.gen(function* () {
      const channel = yield* opened(store)
      yield* sold(store, drawOn(channel, 100n, 100n))
      yield* store.observed([{ ...channel, withdrawRequestedAt: 7, block: { number: 11n, hash: "0x11" } }])
      const due = (least: bigint) => Effect.map(store.due(policy(channel, { least })), (rows) => rows.length)
      yield* same("below it", yield* due(101n), 0)
      yield* same("at it", yield* due(100n), 1)
    })
  ),
  law(
    "a claim names the highest voucher of a charged draw, and no draw is granted for a voucher that it makes public",
    (store) =>
      Effect.gen(function* () {
        const channel = yield* opened(store)
        const { channelId } = channel
        const tag = (draw: Draw) => Effect.map(store.accept(draw, `${draw.maximum}`, roomy), ({ _tag }) => _tag)
        yield* same("the first", yield* tag(drawOn(channel, 100n, 100n)), "Granted")
        yield* sold(store, drawOn(channel, 300n, 200n))
        yield* store.release(channelId, "100")
        const rows = yield* store.due(policy(channel, { maximumUnclaimed: 1n }))
        yield* same("the claim", rows[0] && [rows[0].maximum, rows[0].total], [300n, 200n])
        yield* store.publish(rows)
        yield* same("the public voucher for what it left", yield* tag(drawOn(channel, 300n, 100n)), "Stale")
        yield* same("the next one", yield* tag(drawOn(channel, 400n, 100n)), "Granted")
        yield* standingIs(store, channelId, {
          charged: 200n,
          reserved: 100n,
          used: 300n,
          signed: 400n,
          published: 300n
        })
      })
  ),
  law("the terms of each channel of a network are read", (store) =>
    Effect.gen(function* () {
      const channel = yield* opened(store)
      const configs: Array<unknown> = []
      yield* store.configs(channel.network, (config) => configs.push(config))
      yield* same("the terms", configs, [channel.config])
    })
  ),
  law("a claim before a pending withdrawal is due at once, and first", (store) =>
    Effect.gen(function* () {
      const channel = yield* opened(store)
      const other = { ...(yield* Trial.newChannel()), network: channel.network }
      yield* store.open(other)
      yield* sold(store, drawOn(channel, 100n, 100n))
      yield* sold(store, drawOn(other, 1n, 1n))
      yield* store.observed([{ ...other, withdrawRequestedAt: 7, block: { number: 11n, hash: "0x11" } }])
      const rows = yield* store.due(policy(channel, { maximumUnclaimed: 100n }))
      yield* same(
        "the rows",
        rows.map(({ channelId, urgent }) => [channelId, urgent]),
        [
          [other.channelId, true],
          [channel.channelId, false]
        ]
      )
    })
  ),
  law("a claim is never above what is left in the channel", (store) =>
    Effect.gen(function* () {
      const channel = yield* opened(store)
      yield* sold(store, drawOn(channel, 400n, 400n))
      yield* store.observed([{ ...channel, balance: 150n, block: { number: 11n, hash: "0x11" } }])
      const rows = yield* store.due(policy(channel, { maximumUnclaimed: 1n }))
      yield* same(
        "the totals",
        rows.map(({ total }) => total),
        [150n]
      )
      yield* store.observed([{ ...channel, balance: 0n, block: { number: 12n, hash: "0x12" } }])
      yield* same("the rows", yield* store.due(policy(channel, { maximumUnclaimed: 1n })), [])
    })
  ),
  law("ended draws are forgotten by their age, open ones never", (store) =>
    Effect.gen(function* () {
      const channel = yield* opened(store)
      yield* sold(store, drawOn(channel, 500n, 100n, "ended"))
      yield* store.accept(drawOn(channel, 500n, 100n, "open"), "open", roomy)
      yield* store.forget(0)
      const draw = drawOn(channel, 500n, 100n, "ended")
      yield* same("before its age", (yield* store.accept(draw, "again", roomy))._tag, "Spent")
      yield* store.forget(Number.MAX_SAFE_INTEGER)
      yield* same("after its age", (yield* store.accept(draw, "again", roomy))._tag, "Granted")
      yield* same("the open draw", (yield* store.commit(channel.channelId, "open", 100n))._tag, "Charged")
      yield* standingIs(store, channel.channelId, { charged: 200n, reserved: 100n, open: 1 })
    })
  )
]

/** All laws. They hold one after another on one store too. */
export const all: ReadonlyArray<Trial.ChannelLaw> = [
  ...DrawLaws.granting,
  ...DrawLaws.ending,
  ...chain,
  ...claims,
  ...refunding
]
