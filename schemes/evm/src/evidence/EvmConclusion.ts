/**
 * The last word about an authorization whose validity is over: it moved the money, or it never will. Proven by the token's
 * state as of a block that is not reorganised any more and whose time is past the validity; its events are looked for only
 * where that says that there is one.
 */
import { ChainUnavailable, type Conclusion, type ChainHead } from "@pontage/core"
import * as Effect from "effect/Effect"

import type * as EvmHead from "../node/EvmHead.ts"
import type * as EvmRpc from "../node/EvmRpc.ts"
import * as EvmAuthorizationSearch from "./EvmAuthorizationSearch.ts"
import * as EvmTokenState from "./EvmTokenState.ts"

const pending: Conclusion = { _tag: "Pending" }

/**
 * Concludes. The payment's transfer is found at any time, as of the newest block that was seen: a node that is behind is not
 * believed. A payment that was burnt on something else, taken back, or used before it was claimed here will not be made: it is
 * `Unused`, once the final block is past the validity. `Pending` until then. Where the state knows an end that no node shows by
 * an event, nothing is known; what stays so beyond the validity is `Pending`. The node has to know the state as of the final
 * block.
 */
export const conclude = Effect.fnUntraced(function* (
  { confirm, rpc }: EvmHead.EvmHead,
  chainHead: Effect.Effect<ChainHead, ChainUnavailable>,
  sought: EvmAuthorizationSearch.Sought
): Effect.fn.Return<Conclusion, ChainUnavailable> {
  const { expected } = sought
  const { isEnded, newest } = yield* confirm((newest) =>
    Effect.map(EvmTokenState.hasEnded(rpc, expected, newest), (isEnded) => ({ isEnded, newest }))
  )
  const seen = isEnded ? yield* endOf(rpc, sought, newest) : undefined
  if (seen?._tag === "Settled") return seen
  const block = yield* rpc.getBlock((yield* chainHead).final)
  if (block === undefined || block.timestamp < expected.authorization.validBefore) {
    return isEnded && seen?._tag !== "Failed" ? yield* unseen(rpc, newest) : pending
  }
  const unused: Conclusion = { _tag: "Unused", at: { number: block.number, hash: block.hash } }
  if (isEnded) return seen?._tag === "Failed" ? unused : pending
  // Two blocks say the same, or no more than that one node contradicts another.
  return (yield* EvmTokenState.hasEnded(rpc, expected, block.number)) ? pending : unused
})

const unseen = ({ network }: EvmRpc.Shape, newest: bigint) => {
  const message = `the token's state at block ${newest} of ${network} has the authorization as used, and no event or receipt shows by what`
  return Effect.fail(new ChainUnavailable({ network, message }))
}

/**
 * What has ended it: after it was prepared for, or before; a bound one perhaps by its own transfer. One that nothing was prepared
 * for is looked for from the time on at which it was taken in.
 */
const endOf = Effect.fnUntraced(function* (rpc: EvmRpc.Shape, sought: EvmAuthorizationSearch.Sought, head: bigint) {
  const read = EvmAuthorizationSearch.reader(rpc)
  const [later] = yield* EvmAuthorizationSearch.after(rpc, [sought], head)
  if (later !== undefined) return yield* read(sought.expected, later)
  const [recent] = yield* EvmAuthorizationSearch.before(rpc, [sought])
  const { earliest } = sought
  const earlier =
    recent === undefined && earliest !== undefined
      ? yield* EvmAuthorizationSearch.fromTime(rpc, sought, earliest, head)
      : recent
  if (earlier === undefined) return undefined
  return (
    (yield* EvmAuthorizationSearch.own(rpc, sought, earlier)) ??
    EvmAuthorizationSearch.usedBefore(earlier.transactionHash)
  )
})
