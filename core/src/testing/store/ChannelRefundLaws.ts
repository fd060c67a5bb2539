/** The laws of refunds: money that a payer gets back is held back from draws before the refund is sent. */
import * as Effect from "effect/Effect"

import type { NewChannel, RefundVerdict, SentRefund } from "../../facilitator/channel/Channel.ts"
import { same } from "../Law.ts"
import * as Trial from "./ChannelStoreTrial.ts"

const { drawOn, lapsing, law, opened, policy, roomy, sold, standingIs } = Trial

const orderOf = ({ channelId }: Pick<NewChannel, "channelId">, amount: bigint, maximum: bigint) => ({
  channelId,
  amount,
  maximum,
  voucher: { channelId, maximum: `${maximum}` }
})

const tagOf = (verdict: RefundVerdict | undefined) => verdict?._tag
const amountOf = (verdict: RefundVerdict | undefined) => (verdict?._tag === "Held" ? verdict.refund.amount : undefined)

/** The chain's state after a refund, in a block of this number. */
const after = (channel: NewChannel, { amount, nonce }: Pick<SentRefund, "amount" | "nonce">, number: bigint) => ({
  ...channel,
  balance: channel.balance - amount,
  refundNonce: nonce + 1n,
  block: { number, hash: `0x${number}` }
})

/** Laws of refunds. */
export const refunding: ReadonlyArray<Trial.ChannelLaw> = [
  law("no draw is granted on money of a refund, before the chain shows it, then, and after a reorganisation", (store) =>
    Effect.gen(function* () {
      const channel = yield* opened(store)
      const { channelId } = channel
      yield* sold(store, drawOn(channel, 100n, 100n))
      yield* same("the verdict", tagOf(yield* store.refund(orderOf(channel, 800n, 100n))), "Held")
      const verdicts = Effect.fnUntraced(function* (when: string) {
        const beyond = yield* store.accept(drawOn(channel, 201n, 101n), "beyond", roomy)
        yield* same(`a draw beyond the rest ${when}`, beyond._tag, "Short")
        const within = yield* store.accept(drawOn(channel, 200n, 100n), "within", roomy)
        yield* same(`a draw of the rest ${when}`, within._tag, "Granted")
        yield* store.release(channelId, "within")
        const kept = yield* store.advance(channelId, { maximum: 201n, voucher: {} })
        yield* same(`a voucher beyond the rest ${when}`, kept._tag, "Short")
      })
      yield* verdicts("before it")
      yield* store.observed([after(channel, { amount: 800n, nonce: 0n }, 11n)])
      yield* verdicts("after it")
      yield* store.observed([{ ...channel, block: { number: 12n, hash: "0x12" } }])
      yield* verdicts("after it was taken back")
      yield* store.observed([{ ...channel, balance: 1_500n, block: { number: 13n, hash: "0x13" } }])
      const added = yield* store.accept(drawOn(channel, 700n, 600n), "added", roomy)
      yield* same("a draw on a deposit beside it", added._tag, "Granted")
    })
  ),
  law("a refund leaves what was charged and what open draws may cost, and claims what was charged", (store) =>
    Effect.gen(function* () {
      const channel = yield* opened(store)
      yield* sold(store, drawOn(channel, 100n, 100n), 60n)
      yield* store.accept(drawOn(channel, 260n, 200n), "open", roomy)
      yield* same("one unit too many", tagOf(yield* store.refund(orderOf(channel, 741n, 60n))), "Short")
      yield* same("nothing", tagOf(yield* store.refund(orderOf(channel, 0n, 60n))), "Short")
      yield* same("a voucher below the charges", tagOf(yield* store.refund(orderOf(channel, 740n, 59n))), "Stale")
      yield* same("a voucher above the debt", tagOf(yield* store.refund(orderOf(channel, 740n, 261n))), "Stale")
      yield* standingIs(store, channel.channelId, { refunds: [] })
      const held = yield* store.refund(orderOf(channel, 740n, 260n))
      const claim = { maximum: 100n, voucher: drawOn(channel, 100n, 0n).voucher, total: 60n }
      yield* same("the claim", held?._tag === "Held" && held.refund.claim, claim)
      yield* standingIs(store, channel.channelId, { published: 100n })
      yield* same("the open draw", (yield* store.commit(channel.channelId, "open", 200n))._tag, "Charged")
      const [row] = yield* store.due(policy(channel, { maximumUnclaimed: 1n }))
      yield* same("what is claimed", row?.total, 260n)
    })
  ),
  law("a channel that is opened again has no lapsed draws: a refund of all is judged without them", (store) =>
    Effect.gen(function* () {
      const channel = yield* opened(store)
      const all = drawOn(channel, channel.balance, channel.balance)
      yield* same("the draw", (yield* store.accept(all, "lapses", lapsing))._tag, "Granted")
      yield* same("what is reserved", (yield* store.open(channel)).reserved, 0n)
      yield* same("the refund", amountOf(yield* store.refund(orderOf(channel, channel.balance, 0n))), channel.balance)
    })
  ),
  law("a repeated order finds the same refund until the chain shows it, and then makes another", (store) =>
    Effect.gen(function* () {
      const channel = yield* opened(store)
      yield* same("the first", amountOf(yield* store.refund(orderOf(channel, 300n, 0n))), 300n)
      yield* same("the same", amountOf(yield* store.refund(orderOf(channel, 700n, 0n))), 300n)
      yield* store.observed([after(channel, { amount: 300n, nonce: 0n }, 11n)])
      yield* same("too much", tagOf(yield* store.refund(orderOf(channel, 701n, 0n))), "Short")
      yield* same("another", amountOf(yield* store.refund(orderOf(channel, 700n, 0n))), 700n)
      yield* store.observed([{ ...channel, block: { number: 12n, hash: "0x12" } }])
      const both = yield* store.accept(drawOn(channel, 1n, 1n), "draw", roomy)
      yield* same("a draw once both were taken back", both._tag, "Short")
      yield* same("the first once more", amountOf(yield* store.refund(orderOf(channel, 1n, 0n))), 300n)
    })
  ),
  law("of draws and refunds at once, no two get the same money", (store) =>
    Effect.gen(function* () {
      const channel = yield* opened(store)
      const draws = Array.from({ length: 8 }, (_, index) =>
        Effect.map(store.accept(drawOn(channel, 1_000n, 100n, `${index}`), `${index}`, roomy), ({ _tag }) =>
          _tag === "Granted" ? 100n : 0n
        )
      )
      const refunds = Array.from({ length: 4 }, () =>
        Effect.map(store.refund(orderOf(channel, 500n, 0n)), (verdict) => amountOf(verdict) ?? 0n)
      )
      yield* Effect.all([...draws, ...refunds], { concurrency: "unbounded" })
      const standing = yield* store.find(channel.channelId)
      const held = (standing?.refunds ?? []).reduce((sum, { amount }) => sum + amount, 0n)
      yield* same("more than the channel holds", (standing?.reserved ?? 0n) + held > 1_000n, false)
      yield* same("refunds", standing !== undefined && standing.refunds.length <= 1, true)
    })
  ),
  law("a channel has eight refunds a day", (store) =>
    Effect.gen(function* () {
      const channel = yield* opened(store)
      for (let nonce = 0n; nonce < 8n; nonce++) {
        yield* same(`refund ${nonce}`, tagOf(yield* store.refund(orderOf(channel, 1n, 0n))), "Held")
        yield* store.observed([{ ...after(channel, { amount: nonce + 1n, nonce }, 11n + nonce) }])
      }
      yield* same("the ninth", tagOf(yield* store.refund(orderOf(channel, 1n, 0n))), "Busy")
      yield* store.observed([{ ...channel, block: { number: 20n, hash: "0x20" } }])
      const draw = yield* store.accept(drawOn(channel, 993n, 993n), "draw", roomy)
      yield* same("a draw once all were taken back", draw._tag, "Short")
    })
  ),
  law("a channel that another ledger has claimed, and an unknown one, are not refunded", (store) =>
    Effect.gen(function* () {
      const channel = yield* opened(store)
      yield* store.observed([{ ...channel, claimed: 80n, block: { number: 11n, hash: "0x11" } }])
      yield* same("the foreign one", tagOf(yield* store.refund(orderOf(channel, 100n, 0n))), "Foreign")
      const unknown = yield* Trial.newChannel()
      yield* same("the unknown one", tagOf(yield* store.refund(orderOf(unknown, 100n, 0n))), undefined)
    })
  )
]
