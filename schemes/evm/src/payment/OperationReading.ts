/**
 * Reads user operations as payments: from the signed bytes alone, into the form of a transfer authorization. An operation that
 * does anything else than the one transfer is refused here, before any chain is asked.
 */
import { invalid, type Network, type ValidationError } from "@pontage/core"
import * as Effect from "effect/Effect"

import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import * as EvmNetwork from "../primitives/EvmNetwork.ts"
import * as AccountCalls from "../transfer/AccountCalls.ts"
import type * as Eip3009 from "../transfer/Eip3009.ts"
import * as GuardContract from "../transfer/GuardContract.ts"
import type * as PayerDelegation from "../transfer/PayerDelegation.ts"
import * as UserOperation from "../transfer/UserOperation.ts"
import * as ExactEvm from "./ExactEvm.ts"

/** A signed operation, and what its bytes say. */
export interface SignedOperation {
  readonly operation: UserOperation.UserOperation
  readonly entryPoint: UserOperation.EntryPoint
  /** The name by which the EntryPoint logs it. */
  readonly hash: EvmHex.Hex
  readonly delegation: PayerDelegation.PayerDelegation | undefined
  readonly token: EvmAddress.Address
  /** The tag in the call of `PaymentGuard`; `undefined` where a Safe's signature has the end of the validity. */
  readonly tag: EvmHex.Hex | undefined
  /** The name of the nonce that the chain consumes (`ExactEvm.operationClaim`). */
  readonly claim: string
}

/** An operation as the payload of a payment. */
export interface OperationReading {
  readonly signature: string
  readonly authorization: Eip3009.TransferWithAuthorization
  readonly binding?: NonNullable<ExactEvm.OperationPayload["binding"]>
  readonly operation: SignedOperation
}

/** Reads an operation on a network; fails with the rule that it breaks. */
export const read = Effect.fnUntraced(function* (
  network: Network.Network,
  { binding, delegation, entryPoint: address, userOperation: operation }: ExactEvm.OperationPayload
): Effect.fn.Return<OperationReading, ValidationError> {
  const entryPoint = UserOperation.entryPointAt(address)
  if (entryPoint === undefined) {
    return yield* refused(
      "entry_point",
      `is for the EntryPoint ${EvmAddress.checksum(address)}, which is not served here`
    )
  }
  const broken = UserOperation.objection(operation)
  if (broken !== undefined) return yield* refused(...broken)
  if (delegation !== undefined && operation.factory !== undefined) {
    return yield* refused("delegation_factory", "has a delegation and a factory; a plain account needs no factory")
  }
  const calls = AccountCalls.read(operation.callData)
  if (calls === undefined) {
    return yield* refused("calls", "does not make exactly one transfer behind one call of the payment guard")
  }
  const validity = yield* validityOf(operation, calls)
  return {
    signature: operation.signature,
    authorization: {
      from: operation.sender,
      to: calls.payTo,
      value: calls.amount,
      nonce: `0x${EvmHex.toWord(operation.nonce)}`,
      ...validity
    },
    ...(binding && { binding }),
    operation: {
      operation,
      entryPoint,
      delegation,
      hash: UserOperation.hash(operation, entryPoint, EvmNetwork.chainId(network)),
      token: calls.token,
      tag: calls.guard?.tag,
      claim: ExactEvm.operationClaim(address, operation.sender, operation.nonce)
    }
  }
})

/** The validity by the guard's call, else by the signature of a Safe: there zero would be for ever. */
const validityOf = (
  { signature }: UserOperation.UserOperation,
  { guard }: AccountCalls.PaymentCalls
): Effect.Effect<Pick<Eip3009.TransferWithAuthorization, "validAfter" | "validBefore">, ValidationError> => {
  if (guard !== undefined) {
    return guard.address === GuardContract.address
      ? Effect.succeed({ validAfter: 0n, validBefore: guard.validBefore })
      : refused("guard", `calls ${EvmAddress.checksum(guard.address)}, which is not the payment guard`)
  }
  const safe = UserOperation.safeValidity(signature)
  if (safe === undefined || safe.validUntil === 0) {
    return refused("endless", "has no end of its validity: call the payment guard, or give a Safe's signature an end")
  }
  return Effect.succeed({ validAfter: BigInt(safe.validAfter), validBefore: BigInt(safe.validUntil) + 1n })
}

const refused = (rule: string, what: string): Effect.Effect<never, ValidationError> =>
  Effect.fail(invalid("unsupported_authorization", `operation_${rule}`, `the user operation ${what}`))
