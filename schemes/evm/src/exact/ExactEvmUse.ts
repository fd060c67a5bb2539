/**
 * The transaction that used an authorization, for a seller whose facilitator cannot name it: found by the token's own events,
 * back to the time at which the payment was taken. A used nonce alone proves nothing, because its payer can cancel it, or burn
 * it by another transfer.
 */
import type { ChainUnavailable, Use } from "@pontage/core"
import * as Effect from "effect/Effect"

import * as EvmAuthorizationSearch from "../evidence/EvmAuthorizationSearch.ts"
import * as EvmTransferEvidence from "../evidence/EvmTransferEvidence.ts"
import type * as EvmRpc from "../node/EvmRpc.ts"
import type { SignedAuthorization } from "../payment/ExactEvmReading.ts"
import * as OperationPayers from "./OperationPayers.ts"

const unseen: Use = { _tag: "Unseen" }

/** The most searches, each of a thousand blocks further back: over two hours at four blocks a second. */
const searches = 32

/**
 * Looks for the use, the newest blocks first, back to `since` (Unix seconds). A lagging node may not show it.
 */
export const find = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  payment: SignedAuthorization,
  since: number
): Effect.fn.Return<Use, ChainUnavailable> {
  const expected = OperationPayers.expectedTransfer(payment)
  let newest = yield* rpc.blockNumber
  for (let search = 0; search < searches; search++) {
    const [end] = yield* EvmAuthorizationSearch.before(rpc, [{ expected, since: newest }])
    if (end !== undefined) return yield* useBy(rpc, expected, end)
    newest -= EvmAuthorizationSearch.blocksBefore
    const oldest = newest > 0n ? yield* rpc.getBlock(newest) : undefined
    if (oldest === undefined || oldest.timestamp < BigInt(since)) return unseen
  }
  return unseen
})

const useBy = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  expected: EvmTransferEvidence.ExpectedTransfer,
  end: EvmRpc.Log
): Effect.fn.Return<Use, ChainUnavailable> {
  const seen = yield* EvmTransferEvidence.reader(rpc)({ expected, isOurs: () => false }, end)
  if (seen._tag === "Failed") return { _tag: "Burnt", error: seen.error }
  const block = seen._tag === "Settled" ? yield* rpc.getBlock(seen.block.number) : undefined
  if (seen._tag !== "Settled" || block?.hash !== seen.block.hash) return unseen
  return { _tag: "Settled", transaction: seen.transaction, time: Number(block.timestamp) }
})
