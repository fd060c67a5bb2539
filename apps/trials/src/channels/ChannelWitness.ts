/**
 * The readings of the audit: the contract and the token by plain requests to the node, the ledger through the shop. This module does not
 * know how a channel works.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

import type { ChannelEnd, ChannelLook } from "../audit/ChannelAudit.ts"
import { type ChainRpc, toQuantity } from "../world/ChainRpc.ts"
import type { TrialWorld } from "../world/TrialWorld.ts"
import type { ChannelBuyer, ChannelCall } from "./ChannelBuyers.ts"
import { goods } from "./ChannelGoods.ts"

/** The contract of channels. */
export const contract = "0x4020074e9dF2ce1deE5A9C1b5c3f541D02a10003"

const Words = Schema.String.check(Schema.isPattern(/^0x([0-9a-f]{64})+$/i))

const call = (rpc: ChainRpc, to: string, data: string) =>
  Effect.map(rpc.ask(Words, "eth_call", [{ to, data }, "latest"]), (words) =>
    (words.slice(2).match(/.{64}/g) ?? []).map((word) => BigInt(`0x${word}`))
  )

/** `channels(bytes32)`: balance and claims. */
const sumsOf = (rpc: ChainRpc, channelId: string) =>
  Effect.map(call(rpc, contract, `0x7a7ebd7b${channelId.slice(2)}`), ([balance = 0n, claimed = 0n]) => ({
    balance,
    claimed
  }))

/** Tokens of an account. */
export const tokensOf = ({ chain, rpc }: TrialWorld, account: string): Effect.Effect<bigint> =>
  Effect.map(
    call(rpc, chain.token.address, `0x70a08231${account.slice(2).padStart(64, "0")}`),
    ([tokens = 0n]) => tokens
  )

const Transfers = Schema.Array(Schema.Struct({ data: Schema.String }))
const transferTopic = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"

const wordOf = (address: string) => `0x${address.slice(2).toLowerCase().padStart(64, "0")}`

/**
 * The channel's balance, and the tokens that its payer has withdrawn or was refunded. They are read second, so that what is withdrawn
 * between the two reads is not missing from both.
 */
const fundsOf = Effect.fnUntraced(function* ({ chain, firstBlock, rpc }: TrialWorld, channelId: string, payer: string) {
  const { balance } = yield* sumsOf(rpc, channelId)
  const topics = [transferTopic, wordOf(contract), wordOf(payer)]
  const filter = { address: chain.token.address, topics, fromBlock: toQuantity(firstBlock), toBlock: "latest" }
  const transfers = yield* rpc.ask(Transfers, "eth_getLogs", [filter])
  return { balance, withdrawn: transfers.reduce((sum, { data }) => sum + BigInt(data), 0n) }
})

const Sums = Schema.fromJsonString(
  Schema.Struct({
    charged: Schema.BigIntFromString,
    reserved: Schema.BigIntFromString,
    used: Schema.BigIntFromString,
    signed: Schema.BigIntFromString
  })
)
const decodeSums = Schema.decodeUnknownOption(Sums)

/** The ledger's record; none while the shop does not listen, or before the channel's first draw. */
const booksOf = (shop: string, channelId: string) =>
  Effect.map(
    Effect.promise(() =>
      fetch(`${shop}/books/${channelId}`).then(
        (response) => response.text(),
        () => ""
      )
    ),
    (text) => Option.getOrUndefined(decodeSums(text))
  )

/** A look at a buyer's channel; `undefined` while there is none to be had. */
export const look = Effect.fnUntraced(function* (
  world: TrialWorld,
  shop: string,
  buyer: ChannelBuyer
): Effect.fn.Return<ChannelLook | undefined> {
  const channelId = buyer.signed()?.channelId
  if (channelId === undefined) return undefined
  const { claimed } = yield* sumsOf(world.rpc, channelId)
  const at = performance.now()
  const books = yield* booksOf(shop, channelId)
  if (books === undefined) return undefined
  const funds = yield* fundsOf(world, channelId, buyer.payer)
  return { channelId, at, claimed, books, ...funds, signedByPayer: buyer.signed()?.maximum ?? 0n }
})

/** The history of a buyer's channel: its looks, the payer's tokens before its first call, and the deaths of the shop's process. */
export interface ChannelHistory {
  readonly looks: ReadonlyArray<ChannelLook>
  readonly before: bigint
  /** Milliseconds of the monotonic clock. */
  readonly deaths: ReadonlyArray<number>
}

/** A buyer's channel at the end. */
export const end = Effect.fnUntraced(function* (
  world: TrialWorld,
  shop: string,
  buyer: ChannelBuyer,
  history: ChannelHistory
): Effect.fn.Return<ChannelEnd | undefined> {
  const seen = yield* look(world, shop, buyer)
  if (seen === undefined) return undefined
  return {
    ...seen,
    payer: buyer.payer,
    spent: history.before - (yield* tokensOf(world, buyer.payer)),
    served: sumOf(buyer, ({ end: ended }) => ended === "served"),
    lost: sumOf(buyer, ({ end: ended }) => ended === "lost"),
    mercy: mercyOf(buyer, history)
  }
})

/** The price of a buyer's calls, of those whose handler serves. */
const sumOf = ({ calls }: ChannelBuyer, isCounted: (call: ChannelCall) => boolean): bigint =>
  calls
    .filter((one) => goods[one.goods].isServed && isCounted(one))
    .reduce((sum, one) => sum + goods[one.goods].amount, 0n)

/**
 * The sum that deaths may have cost the shop. A charge is written when its response has left: of the calls that were under way or served
 * since the last look that had all charges, as many as are at once.
 */
export const mercyOf = (buyer: ChannelBuyer, { deaths, looks }: Omit<ChannelHistory, "before">): bigint => {
  const atOnce = BigInt(buyer.together) * goods.dear.amount
  let [mercy, accounted] = [0n, 0n]
  const events = [
    ...looks.map(({ at, books }) => ({ at, charged: books.charged })),
    ...deaths.map((at) => ({ at, charged: undefined }))
  ].toSorted((one, other) => one.at - other.at)
  for (const { at, charged } of events) {
    const isServed = ({ began, end: ended, ended: time }: ChannelCall) =>
      ended === "served" && (charged === undefined ? began : time) <= at
    const served = sumOf(buyer, isServed)
    if (charged === undefined) mercy += least(atOnce, most(0n, served - accounted))
    if (charged === undefined || charged + mercy >= served) accounted = most(accounted, served)
  }
  return mercy
}

const least = (one: bigint, other: bigint) => (one < other ? one : other)
const most = (one: bigint, other: bigint) => (one > other ? one : other)
