/**
 * The last word about an authorization whose validity is over: it moved the money, or it never will. Proven by the token's
 * state as of a block that is not reorganised any more and whose time is past the validity; its events are looked for only
 * where that says that there is one.
 */
import type { ChainUnavailable, Conclusion, Survey } from "@pontage/core"
import * as Effect from "effect/Effect"

import * as EvmEnding from "./EvmEnding.ts"
import type * as EvmRpc from "./EvmRpc.ts"
import * as EvmTokenState from "./EvmTokenState.ts"

const pending: Conclusion = { _tag: "Pending" }

/**
 * Concludes. The payment's transfer is found at any time. A payment that was burnt on something else, taken back, or used
 * before it was claimed here will not be made: it is `Unused`, once the final block is past the validity. `Pending` until
 * then, and where the state knows an end that no event shows. The node has to know the state as of the final block.
 *
 * @category combinators
 */
export const conclude = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  survey: Effect.Effect<Survey, ChainUnavailable>,
  sought: EvmEnding.Sought
): Effect.fn.Return<Conclusion, ChainUnavailable> {
  const { expected } = sought
  const { final, head } = yield* survey
  const isEnded = yield* EvmTokenState.hasEnded(rpc, expected, head.number)
  const seen = isEnded ? yield* endOf(rpc, sought, head.number) : undefined
  if (seen?._tag === "Settled") return seen
  const block = yield* rpc.getBlock(final)
  if (block === undefined || block.timestamp < expected.authorization.validBefore) return pending
  const unused: Conclusion = { _tag: "Unused", at: { number: block.number, hash: block.hash } }
  if (isEnded) return seen?._tag === "Failed" ? unused : pending
  // Two blocks say the same, or no more than that one node contradicts another.
  return (yield* EvmTokenState.hasEnded(rpc, expected, block.number)) ? pending : unused
})

/** What has ended it: after it was prepared for, or before; a bound one perhaps by its own transfer. */
const endOf = Effect.fnUntraced(function* (rpc: EvmRpc.Shape, sought: EvmEnding.Sought, head: bigint) {
  const read = EvmEnding.reader(rpc)
  const [later] = yield* EvmEnding.after(rpc, [sought], head)
  if (later !== undefined) return yield* read(sought.expected, later)
  const [earlier] = yield* EvmEnding.before(rpc, [sought])
  if (earlier === undefined) return undefined
  return (yield* EvmEnding.own(rpc, sought, earlier)) ?? EvmEnding.usedBefore(earlier.transactionHash)
})
