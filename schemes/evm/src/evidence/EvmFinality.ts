/**
 * Whether a block is beyond doubt, where one URL may lead to several nodes of which one is stuck on a branch of its own: that node shows
 * blocks that the chain has never had, and another one a head far above them. So the head is read before the block, and what the block
 * has done has to be in the state of that very head, which only a node that follows it can read.
 */
import type { Block, ChainHead, ChainUnavailable } from "@pontage/core"
import * as Effect from "effect/Effect"

import type * as EvmRpc from "../node/EvmRpc.ts"
import * as EvmHex from "../primitives/EvmHex.ts"

/**
 * Whether a block that was read after this head is deep enough below it and still at its height; `isDone` reads from the state of the
 * head what the block has done. A node that does not follow the head's branch is `ChainUnavailable`.
 */
export const isFinal = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  { final, head }: ChainHead,
  block: Block,
  isDone: (at: EvmRpc.BlockByHash) => Effect.Effect<boolean, ChainUnavailable>
): Effect.fn.Return<boolean, ChainUnavailable> {
  if (block.number > final || (yield* rpc.getBlock(block.number))?.hash !== block.hash) return false
  return yield* isDone({ hash: EvmHex.fromTrusted(head.hash) })
})
