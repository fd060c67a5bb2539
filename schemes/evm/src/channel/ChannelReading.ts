/**
 * A channel's state by the chain, read at one block.
 */
import { ChainUnavailable } from "@pontage/core"
import * as Effect from "effect/Effect"

import type * as EvmRpc from "../node/EvmRpc.ts"
import type * as EvmHex from "../primitives/EvmHex.ts"
import * as ChannelCall from "../voucher/ChannelCall.ts"
import * as ChannelContract from "../voucher/ChannelContract.ts"

/** The state of a channel. Amounts are in the token's smallest unit, times in seconds since 1970. */
export interface ChannelReading {
  readonly channelId: EvmHex.Hex
  /** Deposits less refunds and withdrawals; claims do not lower it. */
  readonly balance: bigint
  /** The sum of all claims. */
  readonly claimed: bigint
  /** The balance that is not claimed: the most that the payer can get back now. */
  readonly available: bigint
  /** The withdrawal that has begun, if any. */
  readonly withdrawal: { readonly amount: bigint; readonly requestedAt: number } | undefined
  /** The count of refunds. */
  readonly refundNonce: bigint
  /** The block that shows it. */
  readonly block: { readonly number: bigint; readonly time: number }
}

/** Gas of a view, far above its cost. */
const viewGas = 100_000n

/** Reads the state; a channel that was never funded has zeros. Fails where the node has no such contract. */
export const read = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  channelId: EvmHex.Hex
): Effect.fn.Return<ChannelReading, ChainUnavailable> {
  const block = yield* rpc.getBlock("latest")
  if (block === undefined) return yield* unreadable(rpc, "shows no latest block")
  const view = Effect.fnUntraced(function* (data: EvmHex.Hex) {
    const outcome = yield* rpc.call({ to: ChannelContract.address, data, gas: viewGas }, block.number)
    return outcome._tag === "Returned"
      ? outcome.data
      : yield* unreadable(rpc, "reverted a view of the channel contract")
  })
  const [sums, pending, nonce] = yield* Effect.all(
    [
      view(ChannelCall.channels(channelId)),
      view(ChannelCall.pendingWithdrawals(channelId)),
      view(ChannelCall.refundNonce(channelId))
    ],
    { concurrency: 3 }
  )
  const [balance, claimed] = ChannelCall.readPair(sums) ?? []
  const [amount, requestedAt] = ChannelCall.readPair(pending) ?? []
  if (balance === undefined || claimed === undefined || amount === undefined || requestedAt === undefined) {
    return yield* unreadable(rpc, "has no channel contract")
  }
  if (nonce.length !== 66 || claimed > balance)
    return yield* unreadable(rpc, "has another contract at the channels' address")
  return {
    channelId,
    balance,
    claimed,
    available: balance - claimed,
    withdrawal: requestedAt === 0n ? undefined : { amount, requestedAt: Number(requestedAt) },
    refundNonce: BigInt(nonce),
    block: { number: block.number, time: Number(block.timestamp) }
  }
})

const unreadable = ({ network }: EvmRpc.Shape, fault: string): Effect.Effect<never, ChainUnavailable> =>
  Effect.fail(new ChainUnavailable({ network, message: `the node of ${network} ${fault}` }))
