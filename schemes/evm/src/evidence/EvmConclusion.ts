/**
 * The final result of an authorization whose validity is over: it moved the money, or it never will. The proof is the token's
 * state as of a final block whose time is past the validity; the token's events are read only where that state has an end.
 */
import { ChainUnavailable, type Conclusion, type ChainHead } from "@pontage/core"
import * as Effect from "effect/Effect"

import type * as EvmLagGuard from "../node/EvmLagGuard.ts"
import type * as EvmRpc from "../node/EvmRpc.ts"
import * as EvmAuthorizationSearch from "./EvmAuthorizationSearch.ts"
import * as EvmTokenState from "./EvmTokenState.ts"
import * as EvmTransferEvidence from "./EvmTransferEvidence.ts"

const pending: Conclusion = { _tag: "Pending" }

/**
 * Concludes. The payment's transfer is found at any time, as of the newest block seen, so that a lagging node does not count.
 * A payment whose authorization was burnt by another transfer, canceled, or used before it was claimed here is `Unused`, with that
 * reason, once its end is in a final block or the final block is past the validity, and `Pending` until then. Where the state has an
 * end that no node shows by an event, the result is `ChainUnavailable` within the validity and `Pending` beyond it. The node has to
 * know the state as of the final block.
 */
export const conclude = Effect.fnUntraced(function* (
  { confirm, rpc }: EvmLagGuard.EvmLagGuard,
  chainHead: Effect.Effect<ChainHead, ChainUnavailable>,
  sought: EvmTransferEvidence.SoughtAuthorization
): Effect.fn.Return<Conclusion, ChainUnavailable> {
  const { expected } = sought
  const { isEnded, newest } = yield* confirm((newest) =>
    Effect.map(EvmTokenState.hasEnded(rpc, expected, newest), (isEnded) => ({ isEnded, newest }))
  )
  const end = isEnded ? yield* endOf(rpc, sought, newest) : undefined
  if (end?.seen._tag === "Settled") return end.seen
  const failure = end?.seen._tag === "Failed" ? { log: end.log, reason: end.seen.error } : undefined
  const block = yield* rpc.getBlock((yield* chainHead).final)
  const isOver = block !== undefined && block.timestamp >= expected.authorization.validBefore
  const isSilent = EvmTransferEvidence.isSilent(expected)
  if (isEnded && failure === undefined && !isOver) return isSilent ? pending : yield* unseen(rpc, newest)
  if (block === undefined) return pending
  const unused: Conclusion = { _tag: "Unused", at: { number: block.number, hash: block.hash } }
  if (failure !== undefined) {
    const isProven = isOver || (yield* isFinal(rpc, expected, failure.log, block.number))
    return isProven ? { ...unused, reason: failure.reason } : pending
  }
  if (isSilent && isEnded && end === undefined && isOver) {
    // The payer may use the nonce up without any event.
    const isBurnt = yield* EvmTokenState.hasEnded(rpc, expected, block.number)
    return isBurnt ? { ...unused, reason: EvmTransferEvidence.nonceBurnt(expected) } : pending
  }
  // The states as of two blocks have to agree: otherwise one node contradicts another.
  return isEnded || !isOver || (yield* EvmTokenState.hasEnded(rpc, expected, block.number)) ? pending : unused
})

/** Whether the event that ended an authorization is in a block up to the final one, as the block and the final state show. */
const isFinal = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  expected: EvmTransferEvidence.ExpectedTransfer,
  { blockHash, blockNumber }: EvmRpc.Log,
  final: bigint
): Effect.fn.Return<boolean, ChainUnavailable> {
  if (blockNumber > final) return false
  const block = yield* rpc.getBlock(blockNumber)
  return block?.hash === blockHash && (yield* EvmTokenState.hasEnded(rpc, expected, final))
})

const unseen = ({ network }: EvmRpc.Shape, newest: bigint) => {
  const message = `the token's state at block ${newest} of ${network} has the authorization as used, and no event or receipt shows by which transaction`
  return Effect.fail(new ChainUnavailable({ network, message }))
}

/**
 * The event that ended the authorization and the observation of its transaction: after a transaction was prepared for it, or before. A bound
 * one may have ended by its own transfer. For a payment without a transaction the search begins at the time of its intake.
 */
const endOf = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  sought: EvmTransferEvidence.SoughtAuthorization,
  head: bigint
) {
  const read = EvmTransferEvidence.reader(rpc)
  const [later] = yield* EvmAuthorizationSearch.after(rpc, [sought], head)
  if (later !== undefined) return { log: later, seen: yield* read(sought, later) }
  const [recent] = yield* EvmAuthorizationSearch.before(rpc, [sought])
  const { earliest } = sought
  const earlier =
    recent === undefined && earliest !== undefined
      ? yield* EvmAuthorizationSearch.fromTime(rpc, sought, earliest, head)
      : recent
  if (earlier === undefined) return undefined
  const own = yield* EvmTransferEvidence.ownTransfer(rpc, sought, earlier)
  return { log: earlier, seen: own ?? EvmTransferEvidence.usedBefore(earlier.transactionHash) }
})
