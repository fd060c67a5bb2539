/**
 * The token's own state of an authorization as of a block: the proof that it has not been used by then. Events only show by
 * which transaction it was used.
 */
import { ChainUnavailable } from "@pontage/core"
import * as Effect from "effect/Effect"

import type * as EvmRpc from "../node/EvmRpc.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import * as Eip3009 from "../transfer/Eip3009.ts"
import * as Permit2 from "../transfer/Permit2.ts"
import * as UserOperation from "../transfer/UserOperation.ts"
import type * as EvmTransferEvidence from "./EvmTransferEvidence.ts"
import type { ExpectedOperation } from "./UserOperationEvidence.ts"

const readGas = 100_000n

/** Whether the EntryPoint's next nonce under the operation's key is beyond the operation's own. */
export const isNonceUsed = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  operation: ExpectedOperation,
  block: bigint | EvmRpc.BlockByHash
): Effect.fn.Return<boolean, ChainUnavailable> {
  const data = UserOperation.encodeGetNonce(operation)
  const outcome = yield* rpc.call({ to: operation.entryPoint, data, gas: readGas }, block)
  if (outcome._tag === "Returned" && EvmHex.isBytes32(outcome.data)) return BigInt(outcome.data) > operation.nonce
  const message = `the EntryPoint ${operation.entryPoint} returned no valid nonce`
  return yield* new ChainUnavailable({ network: rpc.network, message })
})

/** Whether Permit2's bit of a nonce is set. */
const isBitSet = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  permit: Permit2.PermitTransfer,
  block: bigint | EvmRpc.BlockByHash
): Effect.fn.Return<boolean, ChainUnavailable> {
  const data = Permit2.encodeNonceBitmap(permit)
  const outcome = yield* rpc.call({ to: Permit2.address, data, gas: readGas }, block)
  if (outcome._tag === "Returned" && EvmHex.isBytes32(outcome.data))
    return (BigInt(outcome.data) & Permit2.bitOf(permit).mask) !== 0n
  return yield* new ChainUnavailable({ network: rpc.network, message: "Permit2 returned no valid nonceBitmap" })
})

/**
 * Whether the authorization is used or canceled in the token's state as of a block. A node that lacks the block is
 * `ChainUnavailable`.
 */
export const hasEnded = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  { authorization, operation, permit, token }: EvmTransferEvidence.ExpectedTransfer,
  block: bigint | EvmRpc.BlockByHash
): Effect.fn.Return<boolean, ChainUnavailable> {
  if (operation !== undefined) return yield* isNonceUsed(rpc, operation, block)
  if (permit !== undefined) return yield* isBitSet(rpc, permit, block)
  const data = Eip3009.encodeAuthorizationState(authorization.from, authorization.nonce)
  const outcome = yield* rpc.call({ to: token, data, gas: readGas }, block)
  if (outcome._tag === "Returned" && EvmHex.isBytes32(outcome.data)) return BigInt(outcome.data) !== 0n
  const message = `the token ${token} returned no valid authorizationState`
  return yield* new ChainUnavailable({ network: rpc.network, message })
})
