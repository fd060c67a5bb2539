/**
 * The events of the channel contract, read from logs. A log of another contract, or of another shape, is no event.
 */
import type * as EvmRpc from "../node/EvmRpc.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import type * as EvmHex from "../primitives/EvmHex.ts"
import * as ChannelContract from "./ChannelContract.ts"

/** An event of one channel. `total` is the channel's sum after it: its balance of a deposit, its claims of a claim. */
export type ChannelEvent =
  | { readonly _tag: "Deposited"; readonly channelId: EvmHex.Hex; readonly amount: bigint; readonly total: bigint }
  | { readonly _tag: "Claimed"; readonly channelId: EvmHex.Hex; readonly amount: bigint; readonly total: bigint }
  | { readonly _tag: "Refunded"; readonly channelId: EvmHex.Hex; readonly amount: bigint }
  | {
      readonly _tag: "WithdrawInitiated"
      readonly channelId: EvmHex.Hex
      readonly amount: bigint
      /** The time from which the withdrawal may end, in seconds since 1970. */
      readonly finalizeAfter: bigint
    }
  | { readonly _tag: "WithdrawFinalized"; readonly channelId: EvmHex.Hex; readonly amount: bigint }

/** The transfer of everything that is claimed for a receiver in a token. */
export interface Settled {
  readonly receiver: EvmAddress.Address
  readonly token: EvmAddress.Address
  readonly amount: bigint
}

/** First topics, by the event's name. */
export const topics = {
  Deposited: "0x6c2a09353b5e75e70d0b9778b80a413809bb235d46c211811c474b3346791d89",
  Claimed: "0x36bd546bb573e8921fdbfd934bbed62d872796b01792cd240cce27f79dd3eddd",
  Refunded: "0xa84286cf8ebc7903a663c77c8d99aa92b600d4c2fcca872a5d4a663db4eb394b",
  WithdrawInitiated: "0xe4280d0d903c7f258f62b07c62f262377cbaa23f7791d78126e6446e0f0e3c23",
  WithdrawFinalized: "0x546ce1e2242cd930c196bd08b894443562d709b4fffe4f028a75a6d233efc6e3",
  Settled: "0x7337b4386b690fdb8ba66905b92b9d45d33bc6626ee2620c905fb150ec0cc47d"
} as const satisfies Record<string, EvmHex.Hex>

type Log = Pick<EvmRpc.Log, "address" | "topics" | "data">

/** The words of a log's data, where it has exactly this number of them. */
const wordsOf = ({ data }: Log, count: number): ReadonlyArray<bigint> | undefined =>
  data.length === 2 + 64 * count
    ? Array.from({ length: count }, (_, at) => BigInt(`0x${data.slice(2 + 64 * at, 66 + 64 * at)}`))
    : undefined

/** The event of a channel in a log; `undefined` for every other log. */
export const read = (log: Log): ChannelEvent | undefined => {
  const [topic, channelId] = log.topics
  if (log.address !== ChannelContract.address || channelId === undefined) return undefined
  const [amount, second] = wordsOf(log, 2) ?? wordsOf(log, 1) ?? []
  if (amount === undefined) return undefined
  if (second === undefined) {
    if (topic === topics.Refunded) return { _tag: "Refunded", channelId, amount }
    return topic === topics.WithdrawFinalized ? { _tag: "WithdrawFinalized", channelId, amount } : undefined
  }
  if (topic === topics.Deposited) return { _tag: "Deposited", channelId, amount, total: second }
  if (topic === topics.Claimed) return { _tag: "Claimed", channelId, amount, total: second }
  return topic === topics.WithdrawInitiated
    ? { _tag: "WithdrawInitiated", channelId, amount, finalizeAfter: second }
    : undefined
}

/** The settlement in a log; `undefined` for every other log. */
export const readSettled = (log: Log): Settled | undefined => {
  const [topic, receiver, token] = log.topics
  const [amount] = wordsOf(log, 1) ?? []
  return log.address === ChannelContract.address &&
    topic === topics.Settled &&
    receiver !== undefined &&
    token !== undefined &&
    amount !== undefined
    ? { receiver: EvmAddress.fromTail(receiver), token: EvmAddress.fromTail(token), amount }
    : undefined
}
