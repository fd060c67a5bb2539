/**
 * What used an authorization, asked by a seller whose facilitator cannot tell: the token's own events of the last blocks.
 * That a nonce is used proves nothing, because its payer can cancel it, or burn it on another transfer.
 */
import type { ChainUnavailable, Use } from "@pontage/core"
import * as Effect from "effect/Effect"

import * as EvmAsset from "./EvmAsset.ts"
import * as EvmEnding from "./EvmEnding.ts"
import type * as EvmRpc from "./EvmRpc.ts"
import type { Held } from "./ExactEvmReading.ts"

const unseen: Use = { _tag: "Unseen" }

/**
 * Looks for the use. A node that has fallen behind does not see it.
 *
 * @category combinators
 */
export const find = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  { authorization, token }: Held
): Effect.fn.Return<Use, ChainUnavailable> {
  const expected = { token: EvmAsset.domain(token).verifyingContract, authorization }
  const [end] = yield* EvmEnding.before(rpc, [{ expected, since: yield* rpc.blockNumber }])
  if (end === undefined) return unseen
  const seen = yield* EvmEnding.reader(rpc)(expected, end)
  if (seen._tag === "Failed") return { _tag: "Burnt", error: seen.error }
  const block = seen._tag === "Settled" ? yield* rpc.getBlock(seen.block.number) : undefined
  if (seen._tag !== "Settled" || block?.hash !== seen.block.hash) return unseen
  return { _tag: "Settled", transaction: seen.transaction, time: Number(block.timestamp) }
})
