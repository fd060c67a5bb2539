/**
 * The last word about an authorization whose validity is over: it moved the money, or it never will. Proven by a block
 * that is not reorganised any more and whose time is past the validity.
 */
import { ChainUnavailable, type Conclusion, type Survey } from "@pontage/core"
import * as Effect from "effect/Effect"

import * as Eip3009 from "./Eip3009.ts"
import * as EvmEnding from "./EvmEnding.ts"
import * as EvmHex from "./EvmHex.ts"
import type * as EvmRpc from "./EvmRpc.ts"
import type * as EvmTransferProof from "./EvmTransferProof.ts"

const readGas = 100_000n

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
  const [end] = yield* EvmEnding.after(rpc, [sought])
  const seen = end && (yield* EvmEnding.reader(rpc)(expected, end))
  if (seen !== undefined && seen._tag !== "Failed") return seen
  const own = yield* ownBefore(rpc, sought)
  if (own !== undefined && own._tag !== "Failed") return own
  const final = yield* rpc.getBlock((yield* survey).final)
  if (final === undefined || final.timestamp < expected.authorization.validBefore) return pending
  const unused: Conclusion = { _tag: "Unused", at: { number: final.number, hash: final.hash } }
  if (seen !== undefined || !(yield* hasEnded(rpc, expected, final.number))) return unused
  const [earlier] = yield* EvmEnding.before(rpc, [sought])
  return earlier === undefined ? pending : unused
})

/** The transfer of a bound payment that was brought to the chain while it was taken in. */
const ownBefore = Effect.fnUntraced(function* (rpc: EvmRpc.Shape, sought: EvmEnding.Sought) {
  if (sought.isOwn === undefined) return undefined
  const [end] = yield* EvmEnding.before(rpc, [sought])
  return yield* EvmEnding.own(rpc, sought, end)
})

/** Whether the token's state, as of a block, has the authorization as used or taken back. */
const hasEnded = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  { authorization, token }: EvmTransferProof.Expected,
  block: bigint
) {
  const data = Eip3009.encodeAuthorizationState(authorization.from, authorization.nonce)
  const outcome = yield* rpc.call({ to: token, data, gas: readGas }, block)
  if (outcome._tag === "Returned" && EvmHex.isBytes32(outcome.data)) return BigInt(outcome.data) !== 0n
  const message = `the token ${token} does not tell the state of an authorization`
  return yield* new ChainUnavailable({ network: rpc.network, message })
})
