/**
 * Evidence of refunds: the contract counts a channel's refunds, and a signed one is for one place in that count. The refund of a place
 * that the count has passed is made, by our transaction or by another, and no other can be made there.
 */
import type { ChainUnavailable } from "@pontage/core"
import * as Effect from "effect/Effect"

import { blocksBefore } from "../evidence/EvmAuthorizationSearch.ts"
import type * as EvmRpc from "../node/EvmRpc.ts"
import type * as EvmHex from "../primitives/EvmHex.ts"
import * as ChannelContract from "../voucher/ChannelContract.ts"
import * as ChannelEvent from "../voucher/ChannelEvent.ts"
import type { ChannelChain } from "./ChannelChain.ts"
import * as ChannelReads from "./ChannelReads.ts"

/** A place in the count of a channel's refunds. */
export interface Place {
  readonly channelId: EvmHex.Hex
  readonly nonce: bigint
}

/**
 * A refund that is made. Without a log it has moved nothing, or its log is in an earlier block than the searched ones, or the node's
 * events lag behind its state.
 */
export interface Made {
  /** The block whose state has the count. */
  readonly block: bigint
  readonly log: EvmRpc.Log | undefined
}

/**
 * The refund of a place by the newest state, looked for from a thousand blocks before `since` on; `undefined` while it is not made. Each
 * refund that moves money logs one event, so the last events belong to the last places.
 */
export const find = (
  { lagGuard: { confirm, rpc } }: ChannelChain,
  { channelId, nonce }: Place,
  since: bigint | undefined
): Effect.Effect<Made | undefined, ChainUnavailable> =>
  confirm(
    Effect.fnUntraced(function* (block) {
      const { refundNonce } = yield* ChannelReads.channel(rpc, channelId, block)
      if (refundNonce <= nonce) return undefined
      const first = since === undefined || since > block ? block : since
      const fromBlock = first > blocksBefore ? first - blocksBefore : 0n
      const filter = { address: ChannelContract.address, topics: [ChannelEvent.topics.Refunded, channelId] }
      const logs = (yield* rpc.getLogs(filter, { fromBlock, toBlock: block })).filter(
        (log) => ChannelEvent.read(log)?.channelId === channelId
      )
      const log = logs.at(-Number(refundNonce - nonce))
      return { block, log: log && (yield* isOfPlace(rpc, { channelId, nonce }, log)) ? log : undefined }
    })
  )

/** Whether the count had passed the place in the log's block; the log of an earlier place shows no more than that place. */
const isOfPlace = (rpc: EvmRpc.Shape, { channelId, nonce }: Place, { blockNumber }: EvmRpc.Log) =>
  Effect.match(ChannelReads.channel(rpc, channelId, blockNumber), {
    onSuccess: ({ refundNonce }) => refundNonce > nonce,
    onFailure: () => true
  })

/** The amount that a refund has moved; 0 without a log. */
export const movedBy = ({ log }: Made): bigint => (log && ChannelEvent.read(log)?.amount) ?? 0n
