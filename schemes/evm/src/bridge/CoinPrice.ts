/**
 * The price of one whole coin of a network, in millionths of a dollar: fixed by the operator, or read from a price feed on that network
 * (Chainlink's `AggregatorV3Interface`) whenever a route is priced. A price that a feed has not updated for too long is none, and so is
 * one that differs by too much from the round before: then nothing is quoted, and no payment is taken by an earlier quote.
 */
import { ChainUnavailable, Misconfigured } from "@pontage/core"
import * as OptionCheck from "@pontage/core/OptionCheck"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import type * as EvmRpc from "../node/EvmRpc.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import * as OftCalls from "./OftCalls.ts"

/** A price in millionths of a dollar, or the address of a feed on the coin's own network: dollars for one coin. */
export type Given = bigint | string

/** The check of a price in options. */
export const check: OptionCheck.Check<Given> = OptionCheck.either(OptionCheck.amount(1n), OptionCheck.text)

/** The present price; fails while a feed's is too old or has jumped. */
export type CoinPrice = Effect.Effect<bigint, ChainUnavailable>

/** `latestRoundData()`: the round, the price, the times of its start and its update (Unix seconds), and the round again. */
const latestRound = "0xfeaf968c"
/** `getRoundData(uint80)`: the same of an earlier round. */
const getRound = "0x9a6fc8f5"
const gas = 300_000n
/** More decimals than any feed has. */
const mostDecimals = 36n
const millionths = 6n
/** Seconds by which a chain's clock may be ahead of this machine's. */
const clockSkew = 900n

/** The terms on which a feed's price is taken. */
export interface FeedTerms {
  /** Seconds after its last update. */
  readonly feedMaximumAgeSeconds: number
  /** The most by which the price may differ from that of the round before, in percent of it. */
  readonly feedMaximumJumpPercent: number
}

/** A feed of a network, and its name for people. */
interface Feed {
  readonly rpc: EvmRpc.Shape
  readonly address: EvmAddress.Address
  readonly at: string
}

/** Makes the price. A feed is read once now: one that names no decimals or no price is `Misconfigured`. */
export const make = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  given: Given,
  terms: FeedTerms
): Effect.fn.Return<CoinPrice, Misconfigured | ChainUnavailable> {
  if (typeof given === "bigint") return Effect.succeed(given)
  const address = EvmAddress.fromText(given)
  if (address === undefined)
    return yield* wrong(`"${given}" is neither a price in millionths nor the address of a feed`)
  const feed: Feed = { rpc, address, at: `the price feed ${EvmAddress.checksum(address)} on ${rpc.network}` }
  const word = yield* OftCalls.read(rpc, address, OftCalls.getters.decimals)
  const decimals = word === undefined ? undefined : BigInt(word)
  if (decimals === undefined || decimals > mostDecimals) return yield* wrong(`${feed.at} names no decimals`)
  if ((yield* roundOf(feed)) === undefined) return yield* wrong(`${feed.at} shows no price above zero`)
  let taken: Round | undefined
  return Effect.gen(function* () {
    const round = yield* roundOf(feed)
    if (round === undefined) return yield* unusable(feed, "shows no price above zero")
    yield* demandFresh(feed, round, terms)
    yield* demandSteady(feed, round, taken, terms)
    taken = round
    return inMillionths(round.price, decimals)
  })
})

const demandFresh = Effect.fnUntraced(function* (
  feed: Feed,
  { updatedAt }: Round,
  { feedMaximumAgeSeconds: most }: FeedTerms
) {
  const age = BigInt(Math.floor((yield* Clock.currentTimeMillis) / 1000)) - updatedAt
  if (age <= BigInt(most) && age >= -clockSkew) return
  return yield* unusable(feed, `was updated at ${updatedAt}; at most ${most} seconds ago are taken`)
})

/**
 * Compares a price with that of the round before, and where the feed does not show that one, as after a change of its source, with the
 * last one that was taken here. A price with nothing to compare it with is not taken.
 */
const demandSteady = Effect.fnUntraced(function* (
  feed: Feed,
  { id, price }: Round,
  taken: Round | undefined,
  { feedMaximumJumpPercent: most }: FeedTerms
) {
  const before = (id > 0n ? yield* roundOf(feed, id - 1n) : undefined) ?? taken
  if (before === undefined) return yield* unusable(feed, `shows no round before ${id} to compare its price with`)
  const difference = price > before.price ? price - before.price : before.price - price
  if (difference * 100n <= before.price * BigInt(most)) return
  return yield* unusable(
    feed,
    `went from ${before.price} to ${price} in one round; a change of at most ${most} percent is taken`
  )
})

interface Round {
  readonly id: bigint
  readonly price: bigint
  /** Unix seconds. */
  readonly updatedAt: bigint
}

/** A round of a feed, by default the last one; `undefined` where it shows no price above zero. */
const roundOf = ({ address, rpc }: Feed, id?: bigint): Effect.Effect<Round | undefined, ChainUnavailable> =>
  Effect.map(
    rpc.call({ to: address, data: id === undefined ? latestRound : `${getRound}${EvmHex.toWord(id)}`, gas }),
    (outcome) => {
      if (outcome._tag !== "Returned" || !EvmHex.isHex(outcome.data) || outcome.data.length !== 2 + 5 * 64)
        return undefined
      const price = BigInt.asIntN(256, wordAt(outcome.data, 1))
      return price > 0n ? { id: wordAt(outcome.data, 0), price, updatedAt: wordAt(outcome.data, 3) } : undefined
    }
  )

const wordAt = (data: EvmHex.Hex, index: number): bigint => BigInt(`0x${data.slice(2 + 64 * index, 66 + 64 * index)}`)

/** Rounded up: a cost is never too low by it. */
const inMillionths = (price: bigint, decimals: bigint): bigint => {
  const unit = 10n ** decimals
  return (price * 10n ** millionths + unit - 1n) / unit
}

const unusable = ({ at, rpc: { network } }: Feed, why: string) =>
  Effect.fail(new ChainUnavailable({ network, message: `${at} ${why}`, lack: "price_unknown" }))

const wrong = (what: string) =>
  Effect.fail(new Misconfigured({ message: `exactEvm.facilitator: routes: coinPrice: ${what}` }))
