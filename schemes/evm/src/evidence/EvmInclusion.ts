/**
 * Receipts that are believed: those of a block that is part of the chain. A node that has fallen behind, has followed
 * another branch, or lies, may show a receipt of a block that is not; that is no proof of anything, good or bad.
 */
import type { ChainUnavailable } from "@pontage/core"
import * as Effect from "effect/Effect"

import type * as EvmRpc from "../node/EvmRpc.ts"
import type * as EvmHex from "../primitives/EvmHex.ts"

/** The receipt of a transaction; `undefined` while it is in no block of the chain. */
export const receipt = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  transaction: EvmHex.Hex
): Effect.fn.Return<EvmRpc.Receipt | undefined, ChainUnavailable> {
  const found = yield* rpc.getTransactionReceipt(transaction)
  if (found === undefined) return undefined
  const block = yield* rpc.getBlock(found.blockNumber)
  return block?.hash === found.blockHash ? found : undefined
})
