/** The laws of draws: which are granted, and how they end. */
import * as Effect from "effect/Effect"

import { same } from "../Law.ts"
import * as Trial from "./ChannelStoreTrial.ts"

const { drawOn, lapsing, law, opened, roomy, sold, standingIs } = Trial

const many = Array.from({ length: 20 }, (_, index) => index)

/** Sells by each of these claims at once; returns the verdicts' tags. */
const atOnce = <E>(one: (index: number) => Effect.Effect<{ readonly _tag: string }, E>) =>
  Effect.map(Effect.forEach(many, one, { concurrency: "unbounded" }), (verdicts) => verdicts.map(({ _tag }) => _tag))

const count = (tags: ReadonlyArray<string>, tag: string) => tags.filter((one) => one === tag).length

/** The laws of granting. */
export const granting: ReadonlyArray<Trial.ChannelLaw> = [
  law("of many requests with one voucher at once exactly one is granted", (store) =>
    Effect.gen(function* () {
      const channel = yield* opened(store)
      const tags = yield* atOnce((index) => store.accept(drawOn(channel, 100n, 100n), `claim ${index}`, roomy))
      yield* same("the number of granted draws", count(tags, "Granted"), 1)
      yield* same("the number of held draws", count(tags, "Held"), many.length - 1)
      yield* standingIs(store, channel.channelId, { reserved: 100n, signed: 100n, open: 1 })
    })
  ),
  law("of many draws on one channel at once the charges never exceed the highest voucher", (store) =>
    Effect.gen(function* () {
      const channel = yield* opened(store)
      const tags = yield* atOnce((index) =>
        Effect.gen(function* () {
          const verdict = yield* store.accept(drawOn(channel, 700n, 100n, `salt ${index}`), `claim ${index}`, roomy)
          if (verdict._tag !== "Granted") return verdict
          return yield* store.commit(channel.channelId, `claim ${index}`, 100n)
        })
      )
      yield* same("the number of charged draws", count(tags, "Charged"), 7)
      yield* same("the number of refused draws", count(tags, "Stale"), many.length - 7)
      yield* standingIs(store, channel.channelId, { charged: 700n, reserved: 0n, signed: 700n, open: 0 })
    })
  ),
  law("a voucher without a name of its own is for exactly what the channel owes and the amount", (store) =>
    Effect.gen(function* () {
      const channel = yield* opened(store, { claimed: 50n })
      for (const maximum of [100n, 149n, 151n, 250n]) {
        const verdict = yield* store.accept(drawOn(channel, maximum, 100n), "claim", roomy)
        yield* same(`the verdict on ${maximum}`, verdict._tag, "Stale")
      }
      yield* standingIs(store, channel.channelId, { signed: 50n, charged: 50n, reserved: 0n, voucher: undefined })
      yield* store.accept(drawOn(channel, 150n, 100n), "claim", roomy)
      yield* same(
        "the verdict beside an open draw",
        (yield* store.accept(drawOn(channel, 250n, 100n), "other", roomy))._tag,
        "Granted"
      )
      yield* standingIs(store, channel.channelId, { signed: 250n, charged: 50n, reserved: 200n, open: 2 })
    })
  ),
  law("the next voucher goes on top of the highest one where the natural one is used up", (store) =>
    Effect.gen(function* () {
      const channel = yield* opened(store)
      const { channelId } = channel
      for (const maximum of [100n, 200n, 300n]) yield* store.accept(drawOn(channel, maximum, 100n), `${maximum}`, roomy)
      yield* store.release(channelId, "200")
      yield* store.commit(channelId, "300", 100n)
      yield* store.commit(channelId, "100", 100n)
      const stale = yield* store.accept(drawOn(channel, 250n, 100n), "stale", roomy)
      yield* same("what is owed", stale._tag === "Stale" && stale.owed, 300n)
      yield* same("the used one", (yield* store.accept(drawOn(channel, 300n, 100n), "again", roomy))._tag, "Spent")
      yield* sold(store, drawOn(channel, 400n, 100n))
      yield* standingIs(store, channelId, { charged: 300n, used: 400n, signed: 400n })
    })
  ),
  law("a draw is judged beside a deposit, and nothing is granted", (store) =>
    Effect.gen(function* () {
      const channel = yield* opened(store, { balance: 100n })
      const tag = (deposit: bigint) =>
        Effect.map(store.judge(drawOn(channel, 150n, 150n), deposit, roomy), ({ _tag }) => _tag)
      yield* same("with too little", yield* tag(49n), "Short")
      yield* same("with enough", yield* tag(50n), "Granted")
      yield* standingIs(store, channel.channelId, { signed: 0n, reserved: 0n, open: 0 })
    })
  ),
  law("a channel that the store does not know grants nothing", (store) =>
    Effect.gen(function* () {
      const draw = drawOn(yield* Trial.newChannel(), 100n, 100n)
      yield* same("the verdict", yield* store.accept(draw, "claim", roomy), { _tag: "Unknown" })
      yield* same("the voucher", yield* store.advance(draw.channelId, draw), { _tag: "Unknown" })
      yield* same("the record", yield* store.find(draw.channelId), undefined)
    })
  ),
  law("a draw enters the chain's state that comes with it, whether it is granted or not", (store) =>
    Effect.gen(function* () {
      const channel = yield* Trial.newChannel()
      const { channelId } = channel
      const first = yield* store.accept(drawOn(channel, 100n, 100n), "first", roomy, channel)
      yield* same("on a new channel", first._tag, "Granted")
      const richer = { ...channel, balance: 2_000n, block: { number: 11n, hash: "0x11" } }
      const second = yield* store.accept(drawOn(channel, 2_000n, 100n, "named"), "second", roomy, richer)
      yield* same("above the balance before", second._tag, "Granted")
      const closing = { ...richer, withdrawRequestedAt: 5, block: { number: 12n, hash: "0x12" } }
      const third = yield* store.accept(drawOn(channel, 2_000n, 100n, "later"), "third", roomy, closing)
      yield* same("after a withdrawal began", third._tag, "Closing")
      const late = yield* store.accept(drawOn(channel, 2_000n, 100n, "late"), "late", roomy, channel)
      yield* same("with an earlier state", late._tag, "Closing")
      yield* standingIs(store, channelId, { balance: 2_000n, withdrawRequestedAt: 5, open: 2, reserved: 200n })
    })
  ),
  law("a voucher above the balance, a pending withdrawal and too many open draws refuse, and write nothing", (store) =>
    Effect.gen(function* () {
      const channel = yield* opened(store, { balance: 100n })
      const { channelId } = channel
      yield* same("above", (yield* store.accept(drawOn(channel, 101n, 101n), "claim", roomy))._tag, "Short")
      const limits = { ...roomy, open: 1 }
      yield* store.accept(drawOn(channel, 50n, 50n), "first", limits)
      yield* same("second", (yield* store.accept(drawOn(channel, 100n, 50n), "second", limits))._tag, "Busy")
      yield* store.observed([{ ...channel, withdrawRequestedAt: 5, block: { number: 11n, hash: "0x11" } }])
      yield* same("pending", (yield* store.accept(drawOn(channel, 100n, 50n), "claim", roomy))._tag, "Closing")
      yield* standingIs(store, channelId, { signed: 50n, reserved: 50n, open: 1, withdrawRequestedAt: 5 })
    })
  ),
  law("a lower voucher never takes the place of a higher one", (store) =>
    Effect.gen(function* () {
      const channel = yield* opened(store)
      yield* sold(store, drawOn(channel, 500n, 100n, "one"))
      yield* sold(store, drawOn(channel, 300n, 100n, "two"))
      yield* same("lower", (yield* store.advance(channel.channelId, drawOn(channel, 400n, 0n)))._tag, "Stale")
      const { voucher } = drawOn(channel, 500n, 0n)
      yield* standingIs(store, channel.channelId, { signed: 500n, charged: 200n, voucher })
      yield* same("higher", (yield* store.advance(channel.channelId, drawOn(channel, 600n, 0n)))._tag, "Kept")
      yield* same("again", (yield* store.advance(channel.channelId, drawOn(channel, 600n, 0n)))._tag, "Kept")
      yield* same("above", (yield* store.advance(channel.channelId, drawOn(channel, 1_001n, 0n)))._tag, "Short")
      yield* standingIs(store, channel.channelId, { signed: 600n, voucher: drawOn(channel, 600n, 0n).voucher })
    })
  )
]

/** The laws of ends. */
export const ending: ReadonlyArray<Trial.ChannelLaw> = [
  law("a charge and a release happen once, for the claim that was granted", (store) =>
    Effect.gen(function* () {
      const channel = yield* opened(store)
      const { channelId } = channel
      yield* store.accept(drawOn(channel, 100n, 100n), "mine", roomy)
      yield* same("another's charge", yield* store.commit(channelId, "other", 100n), { _tag: "Lost" })
      yield* same("another's release", yield* store.release(channelId, "other"), { _tag: "Lost" })
      const ends = yield* atOnce(() => store.commit(channelId, "mine", 60n))
      yield* same("the ends", count(ends, "Charged"), many.length)
      yield* same("the release after it", (yield* store.release(channelId, "mine"))._tag, "Charged")
      const later = yield* store.commit(channelId, "mine", 100n)
      yield* same("the later charge", later._tag === "Charged" && later.charged, 60n)
      yield* standingIs(store, channelId, { charged: 60n, reserved: 0n, open: 0 })
      yield* store.accept(drawOn(channel, 160n, 100n), "next", roomy)
      yield* atOnce(() => store.release(channelId, "next"))
      yield* same("the charge after it", (yield* store.commit(channelId, "next", 100n))._tag, "Released")
      yield* standingIs(store, channelId, { charged: 60n, reserved: 0n, signed: 100n, used: 100n, open: 0 })
    })
  ),
  law("a charge is never above the draw's amount, and never negative", (store) =>
    Effect.gen(function* () {
      const channel = yield* opened(store)
      yield* sold(store, drawOn(channel, 100n, 100n), 5_000n)
      yield* sold(store, drawOn(channel, 200n, 100n), -5_000n)
      yield* standingIs(store, channel.channelId, { charged: 100n, signed: 100n })
    })
  ),
  law("a lapsed draw reserves nothing, and is charged late while its voucher covers it beside all others", (store) =>
    Effect.gen(function* () {
      const channel = yield* opened(store)
      const { channelId } = channel
      yield* store.accept(drawOn(channel, 100n, 100n), "slow", lapsing)
      yield* same("the lease", yield* store.renew(channelId, "slow", 1_000), false)
      yield* store.accept(drawOn(channel, 30n, 30n), "other", lapsing)
      yield* standingIs(store, channelId, { charged: 0n, reserved: 30n, signed: 30n })
      yield* same("the charge", (yield* store.commit(channelId, "slow", 100n))._tag, "Charged")
      yield* standingIs(store, channelId, { charged: 100n, reserved: 0n, open: 0, used: 100n, signed: 100n })
      yield* same("the other charge", yield* store.commit(channelId, "other", 30n), { _tag: "Lost" })
      yield* store.accept(drawOn(channel, 200n, 100n), "slowest", lapsing)
      yield* store.release(channelId, "slowest")
      yield* same("a release", (yield* store.commit(channelId, "slowest", 100n))._tag, "Released")
    })
  ),
  law("a lapsed draw's voucher is free for another claim", (store) =>
    Effect.gen(function* () {
      const channel = yield* opened(store)
      const draw = drawOn(channel, 100n, 100n)
      yield* store.accept(draw, "slower", lapsing)
      yield* same("the other claim", (yield* store.accept(draw, "other", roomy))._tag, "Granted")
      yield* same("the charge", yield* store.commit(channel.channelId, "slower", 100n), { _tag: "Lost" })
      yield* standingIs(store, channel.channelId, { charged: 0n, reserved: 100n, open: 1 })
    })
  ),
  law("a renewed draw outlives its first lease, and lapses beside one that does not", (store) =>
    Effect.gen(function* () {
      const channel = yield* opened(store)
      yield* store.accept(drawOn(channel, 300n, 100n, "one"), "one", roomy)
      yield* same("the lease", yield* store.renew(channel.channelId, "one", roomy.lease * 2), true)
      yield* store.accept(drawOn(channel, 300n, 100n, "two"), "two", lapsing)
      yield* store.accept(drawOn(channel, 300n, 100n, "three"), "three", roomy)
      yield* standingIs(store, channel.channelId, { reserved: 200n, open: 2 })
      yield* same("the charge", (yield* store.commit(channel.channelId, "one", 100n))._tag, "Charged")
    })
  ),
  law("a renewal never shortens a lease", (store) =>
    Effect.gen(function* () {
      const channel = yield* opened(store)
      yield* store.accept(drawOn(channel, 100n, 100n), "claim", roomy)
      yield* same("the renewal", yield* store.renew(channel.channelId, "claim", lapsing.lease), true)
      yield* same("the next one", yield* store.renew(channel.channelId, "claim", lapsing.lease), true)
      yield* same("the charge", (yield* store.commit(channel.channelId, "claim", 100n))._tag, "Charged")
    })
  ),
  law("a repeated voucher is the same draw: held, spent with its charge, or granted again after a release", (store) =>
    Effect.gen(function* () {
      const channel = yield* opened(store)
      const draw = drawOn(channel, 100n, 100n)
      const tag = Effect.map(store.accept(draw, "second", roomy), ({ _tag }) => _tag)
      yield* store.accept(draw, "first", roomy)
      yield* same("the same claim", (yield* store.accept(draw, "first", roomy))._tag, "Granted")
      yield* same("while it runs", yield* tag, "Held")
      yield* store.release(channel.channelId, "first")
      yield* same("after the release", yield* tag, "Granted")
      yield* store.commit(channel.channelId, "second", 40n)
      const spent = yield* store.accept(draw, "third", roomy)
      yield* same("after the charge", spent._tag === "Spent" && spent.charged, 40n)
      const dearer = yield* store.accept(drawOn(channel, 100n, 60n), "fourth", roomy)
      yield* same("the same voucher for the rest of it", dearer._tag, "Granted")
    })
  ),
  law("a voucher whose draw cost nothing pays for the next request", (store) =>
    Effect.gen(function* () {
      const channel = yield* opened(store)
      yield* sold(store, drawOn(channel, 100n, 100n), 0n)
      yield* sold(store, drawOn(channel, 100n, 100n), 70n)
      yield* sold(store, drawOn(channel, 500n, 10n, "named"), 0n)
      const again = yield* store.accept(drawOn(channel, 500n, 10n, "named"), "again", roomy)
      yield* same("a draw with a name of its own", again._tag, "Spent")
      yield* standingIs(store, channel.channelId, { charged: 70n, reserved: 0n })
    })
  )
]
