/**
 * Reads of the contract `x402BatchSettlement`: the state of channels, and of a receiver. All values of one read are as of one block,
 * because they come by one call of the contract's own `multicall`.
 */
import { ChainUnavailable } from "@pontage/core"
import * as Effect from "effect/Effect"

import type * as EvmRpc from "../node/EvmRpc.ts"
import type * as EvmAddress from "../primitives/EvmAddress.ts"
import type * as EvmHex from "../primitives/EvmHex.ts"
import * as ChannelCall from "../voucher/ChannelCall.ts"
import * as ChannelContract from "../voucher/ChannelContract.ts"

/** A channel on the chain. Amounts are in the token's smallest unit. */
export interface OnChain {
  readonly balance: bigint
  readonly claimed: bigint
  /** Unix seconds; 0 without a pending withdrawal. */
  readonly withdrawRequestedAt: number
  readonly refundNonce: bigint
}

/** A receiver's sums in one token. */
export interface ReceiverSums {
  readonly claimed: bigint
  readonly settled: bigint
}

const wordsOf = (digits: string): ReadonlyArray<bigint> =>
  (digits.match(/.{64}/g) ?? []).map((word) => BigInt(`0x${word}`))

/**
 * The results of `multicall`, each as its words. `undefined` where the text has another layout, or a result another number of words.
 */
const resultsOf = (
  data: EvmHex.Hex,
  lengths: ReadonlyArray<number>
): ReadonlyArray<ReadonlyArray<bigint>> | undefined => {
  const words = wordsOf(data.slice(2))
  if (words[0] !== 32n || words[1] !== BigInt(lengths.length)) return undefined
  const results = lengths.map((length, index) => {
    const at = 2 + Number((words[2 + index] ?? 0n) / 32n)
    const isWhole = words[at] === BigInt(32 * length)
    return isWhole ? words.slice(at + 1, at + 1 + length) : []
  })
  return results.every(({ length }, index) => length === lengths[index]) ? results : undefined
}

/** A call of a view, and the words that it returns. */
interface View {
  readonly data: EvmHex.Hex
  readonly length: number
}

/** Gas for one read: a cold slot, and the call around it. */
const readGas = 20_000n

const readAll = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  views: ReadonlyArray<View>,
  block: EvmRpc.BlockTag
): Effect.fn.Return<ReadonlyArray<ReadonlyArray<bigint>>, ChainUnavailable> {
  const data = ChannelCall.multicall(views.map((view) => view.data))
  const gas = 100_000n + readGas * BigInt(views.length)
  const outcome = yield* rpc.call({ to: ChannelContract.address, data, gas }, block)
  const lengths = views.map(({ length }) => length)
  const results = outcome._tag === "Returned" ? resultsOf(outcome.data, lengths) : undefined
  if (results !== undefined) return results
  return yield* new ChainUnavailable({
    network: rpc.network,
    message: `the contract of payment channels at ${ChannelContract.address} returned no valid state`
  })
})

/** The states of channels as of a block, in the order of their ids. */
export const channels = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  ids: ReadonlyArray<EvmHex.Hex>,
  block: EvmRpc.BlockTag
): Effect.fn.Return<ReadonlyArray<OnChain>, ChainUnavailable> {
  const views = ids.flatMap((id): ReadonlyArray<View> => [
    { data: ChannelCall.channels(id), length: 2 },
    { data: ChannelCall.pendingWithdrawals(id), length: 2 },
    { data: ChannelCall.refundNonce(id), length: 1 }
  ])
  const results = ids.length === 0 ? [] : yield* readAll(rpc, views, block)
  return ids.map((_, index) => {
    const [sums, withdrawal, nonce] = results.slice(3 * index, 3 * index + 3)
    return {
      balance: sums?.[0] ?? 0n,
      claimed: sums?.[1] ?? 0n,
      withdrawRequestedAt: Number(withdrawal?.[1] ?? 0n),
      refundNonce: nonce?.[0] ?? 0n
    }
  })
})

/** The state of one channel as of a block. */
export const channel = (
  rpc: EvmRpc.Shape,
  id: EvmHex.Hex,
  block: EvmRpc.BlockTag
): Effect.Effect<OnChain, ChainUnavailable> => Effect.map(channels(rpc, [id], block), ([one = nothing]) => one)

/** A channel without money. */
export const nothing: OnChain = { balance: 0n, claimed: 0n, withdrawRequestedAt: 0, refundNonce: 0n }

/** A receiver's sums as of a block. */
export const receiver = (
  rpc: EvmRpc.Shape,
  account: EvmAddress.Address,
  token: EvmAddress.Address,
  block: EvmRpc.BlockTag
): Effect.Effect<ReceiverSums, ChainUnavailable> =>
  Effect.map(readAll(rpc, [{ data: ChannelCall.receivers(account, token), length: 2 }], block), ([sums]) => ({
    claimed: sums?.[0] ?? 0n,
    settled: sums?.[1] ?? 0n
  }))
