/**
 * The call that submits a user operation, made after all checks that need no chain: the operation's account is deployed by a
 * known factory alone, and its EntryPoint is one that the operator serves.
 */
import { invalid, type ValidationError } from "@pontage/core"
import * as Effect from "effect/Effect"

import * as Eip7702 from "../primitives/Eip7702.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as AccountCalls from "./AccountCalls.ts"
import type { CounterfactualSettling } from "./CounterfactualTransfer.ts"
import type { TransferCall } from "./EvmTransferCall.ts"
import * as GuardContract from "./GuardContract.ts"
import type { BatchedOperation } from "./PackedOperations.ts"
import * as PayerDelegation from "./PayerDelegation.ts"
import * as UserOperation from "./UserOperation.ts"

/** The operations that the operator serves. */
export interface ServedOperations {
  readonly entryPoints: ReadonlySet<EvmAddress.Address>
  /** The least amount of a payment, in the smallest unit of its token: the gas may cost more than less brings. */
  readonly minimumAmount: bigint
  /** Whether every operation calls the payment guard, also one whose signature has an end: the payer's code is not asked for. */
  readonly needsGuard: boolean
  /** The account that the EntryPoint would pay the operations' fees to, if there were any. */
  readonly beneficiary: EvmAddress.Address
  /** The settler that can simulate the deployment of an account, and the known factories; without it only deployed accounts pay. */
  readonly counterfactual: CounterfactualSettling | undefined
  /** The delegations of plain accounts that are sent with their operation; without it none are. */
  readonly delegations: PayerDelegation.ServedDelegations | undefined
}

/** The operation, as far as its call depends on it. */
export interface SubmittedOperation extends BatchedOperation {
  readonly delegation: PayerDelegation.PayerDelegation | undefined
}

/** Makes the call; fails with the rule that the operation breaks. */
export const make = Effect.fnUntraced(function* (
  served: ServedOperations | undefined,
  { delegation, entryPoint, operation }: SubmittedOperation,
  amount: bigint
): Effect.fn.Return<TransferCall, ValidationError> {
  if (served === undefined) return yield* refused("unserved", "user operations are not settled here")
  if (!served.entryPoints.has(entryPoint.address)) {
    const message = `user operations of EntryPoint ${entryPoint.version} are not settled here`
    return yield* refused("entry_point", message)
  }
  if (amount < served.minimumAmount) {
    const message = `payments by user operation are of at least ${served.minimumAmount} here, and this one is of ${amount}`
    return yield* refused("minimum", message)
  }
  const { factory, factoryData = "0x", sender: payer } = operation
  const call: TransferCall = {
    to: entryPoint.address,
    data: UserOperation.handleOps([operation], served.beneficiary),
    gas: UserOperation.gasOf([operation]),
    payer,
    isByKey: false,
    plain: undefined,
    ...(entryPoint.isBatched && { operation: { entryPoint, operation } }),
    ours: [
      entryPoint.address,
      entryPoint.senderCreator,
      GuardContract.address,
      served.beneficiary,
      ...AccountCalls.multiSends
    ]
  }
  if (delegation !== undefined) return yield* delegating(served, delegation, call)
  if (factory === undefined) return call
  if (served.counterfactual === undefined) {
    return yield* refused(
      "undeployed",
      "the payer's account is not deployed yet, and such accounts are not deployed here"
    )
  }
  const { factories, settler } = served.counterfactual
  if (factories.has(factory)) return { ...call, deployment: { settler, payer, factory, factoryData } }
  const message = `the payer's account would be deployed by the factory ${EvmAddress.checksum(factory)}, which is not known here`
  return yield* refused("factory", message)
})

/** The call in a transaction that delegates the payer's account first. It shares the transaction with no other payment. */
const delegating = Effect.fnUntraced(function* (
  { delegations }: ServedOperations,
  delegation: PayerDelegation.PayerDelegation,
  submitted: TransferCall
) {
  const { operation: _, ...call } = submitted
  if (delegations === undefined) {
    return yield* refused(
      "delegation_unserved",
      "delegations of plain accounts are not sent here; delegate, then sign again"
    )
  }
  const broken = PayerDelegation.objection(delegation, call.payer, delegations)
  if (broken !== undefined) return yield* refused(...broken)
  const authorizationList = [PayerDelegation.toAuthorization(delegation)]
  return { ...call, gas: call.gas + Eip7702.gas, authorizationList }
})

const refused = (rule: string, message: string): Effect.Effect<never, ValidationError> =>
  Effect.fail(invalid("unsupported_authorization", `operation_${rule}`, message))
