/**
 * The price of one whole coin of a network, in millionths of a dollar: fixed by the operator, or read from a price feed on that network
 * (Chainlink's `AggregatorV3Interface`) whenever a route is priced. A price that a feed has not updated for too long is none: then
 * nothing is quoted, and no payment is taken by an earlier quote.
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

/** The present price; fails while a feed's is too old. */
export type CoinPrice = Effect.Effect<bigint, ChainUnavailable>

/** `latestRoundData()`: the round, the price, the times of its start and its update (Unix seconds), and the round again. */
const latestRound = "0xfeaf968c"
const gas = 300_000n
/** More decimals than any feed has. */
const mostDecimals = 36n
const millionths = 6n
/** Seconds by which a chain's clock may be ahead of this machine's. */
const clockSkew = 900n

/** Makes the price. A feed is read once now: one that names no decimals or no price is `Misconfigured`. */
export const make = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  given: Given,
  maximumAgeSeconds: number
): Effect.fn.Return<CoinPrice, Misconfigured | ChainUnavailable> {
  if (typeof given === "bigint") return Effect.succeed(given)
  const feed = EvmAddress.fromText(given)
  if (feed === undefined) return yield* wrong(`"${given}" is neither a price in millionths nor the address of a feed`)
  const at = `the price feed ${EvmAddress.checksum(feed)} on ${rpc.network}`
  const word = yield* OftCalls.read(rpc, feed, OftCalls.getters.decimals)
  const decimals = word === undefined ? undefined : BigInt(word)
  if (decimals === undefined || decimals > mostDecimals) return yield* wrong(`${at} names no decimals`)
  if ((yield* roundOf(rpc, feed)) === undefined) return yield* wrong(`${at} shows no price above zero`)
  return Effect.flatMap(roundOf(rpc, feed), (round) =>
    round === undefined
      ? unusable(rpc, `${at} shows no price above zero`)
      : Effect.flatMap(Clock.currentTimeMillis, (now) => {
          const age = BigInt(Math.floor(now / 1000)) - round.updatedAt
          return age > BigInt(maximumAgeSeconds) || age < -clockSkew
            ? unusable(
                rpc,
                `${at} was updated at ${round.updatedAt}; at most ${maximumAgeSeconds} seconds ago are taken`
              )
            : Effect.succeed(inMillionths(round.price, decimals))
        })
  )
})

interface Round {
  readonly price: bigint
  /** Unix seconds. */
  readonly updatedAt: bigint
}

/** The last round of a feed; `undefined` where it shows no price above zero. */
const roundOf = (rpc: EvmRpc.Shape, feed: EvmAddress.Address): Effect.Effect<Round | undefined, ChainUnavailable> =>
  Effect.map(rpc.call({ to: feed, data: latestRound, gas }), (outcome) => {
    if (outcome._tag !== "Returned" || !EvmHex.isHex(outcome.data) || outcome.data.length !== 2 + 5 * 64)
      return undefined
    const price = BigInt.asIntN(256, wordAt(outcome.data, 1))
    return price > 0n ? { price, updatedAt: wordAt(outcome.data, 3) } : undefined
  })

const wordAt = (data: EvmHex.Hex, index: number): bigint => BigInt(`0x${data.slice(2 + 64 * index, 66 + 64 * index)}`)

/** Rounded up: a cost is never too low by it. */
const inMillionths = (price: bigint, decimals: bigint): bigint => {
  const unit = 10n ** decimals
  return (price * 10n ** millionths + unit - 1n) / unit
}

const unusable = ({ network }: EvmRpc.Shape, message: string) =>
  Effect.fail(new ChainUnavailable({ network, message, lack: "price_unknown" }))

const wrong = (what: string) =>
  Effect.fail(new Misconfigured({ message: `exactEvm.facilitator: routes: coinPrice: ${what}` }))
