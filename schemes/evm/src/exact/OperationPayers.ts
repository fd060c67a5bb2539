/**
 * Checks of user operations against the chain. The transaction is simulated as it will be sent, by each signer and at real prices,
 * and judged by its events as its receipt will be; and the code that it runs has to be known, or, where the operator allows any
 * code, has to pay up to the end of the validity too.
 */
import {
  type ChainHead,
  type ChainUnavailable,
  invalid,
  type PaymentError,
  refuse,
  type ValidationError
} from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import * as EvmTokenState from "../evidence/EvmTokenState.ts"
import type * as EvmTransferEvidence from "../evidence/EvmTransferEvidence.ts"
import * as UserOperationEvidence from "../evidence/UserOperationEvidence.ts"
import type * as EvmLagGuard from "../node/EvmLagGuard.ts"
import type * as EvmRpc from "../node/EvmRpc.ts"
import type { SignedAuthorization } from "../payment/ExactEvmReading.ts"
import type { SignedOperation } from "../payment/OperationReading.ts"
import type * as EvmAddress from "../primitives/EvmAddress.ts"
import type * as EvmHex from "../primitives/EvmHex.ts"
import * as CounterfactualTransfer from "../transfer/CounterfactualTransfer.ts"
import * as EvmAsset from "../transfer/EvmAsset.ts"
import * as EvmKnownCode from "../transfer/EvmKnownCode.ts"
import * as EvmRefusal from "../transfer/EvmRefusal.ts"
import * as EvmRevert from "../transfer/EvmRevert.ts"
import type { TransferCall } from "../transfer/EvmTransferCall.ts"
import * as TokenCode from "../transfer/TokenCode.ts"
import * as ContractPayers from "./ContractPayers.ts"
import * as DelegatedPayers from "./DelegatedPayers.ts"

/** Judges the call of a user operation, as `ContractPayers.Judge` does that of an authorization. */
export type Judge = (
  call: TransferCall,
  held: SignedAuthorization,
  operation: SignedOperation
) => Effect.Effect<string | undefined, PaymentError | ValidationError | ChainUnavailable>

/** Makes a judge. */
export const make = (guard: EvmLagGuard.EvmLagGuard, options: ContractPayers.Options): Judge => {
  const ownCodeOf = TokenCode.make(guard.rpc, options.signers[0])
  return Effect.fnUntraced(function* (call, held, operation) {
    if (options.policy === "none") return yield* ContractPayers.notServed
    const isKnown = options.policy === "known"
    if (!isKnown && operation.tag === undefined) return yield* unguarded
    const chainHead = yield* options.chainHead
    const able = yield* ContractPayers.withFunds(guard, options, call, chainHead)
    for (const from of able.signers) yield* paysNow(guard, call, held, operation, from, chainHead)
    if (isKnown && call.authorizationList !== undefined) return undefined
    if (isKnown) {
      const own = yield* ownCodeOf(EvmAsset.domain(held.token))
      yield* ContractPayers.isKnown(guard, able, call, own, codeOf(guard, able, call))
      return undefined
    }
    yield* paysLater(guard, able, call, held, operation, chainHead)
    // Its code is on the list of those to which payers may delegate.
    if (call.authorizationList !== undefined) return undefined
    return EvmKnownCode.fingerprint(able.known, call.payer, yield* codeOf(guard, able, call))
  })
}

/** Only a Safe's own code enforces the validity in a Safe's signature, and the policy \`any\` does not ask for it. */
const unguarded = invalid(
  "unsupported_authorization",
  "operation_endless",
  "the user operation has no call of the payment guard, and its account's code is not checked here to be a Safe's"
)

/**
 * The payer's code. Some factories make an account for the EntryPoint alone, so an account that the operation deploys is read behind
 * the simulated operation, by our own contract, which returns the code of an account that is there.
 */
const codeOf = Effect.fnUntraced(function* (
  guard: EvmLagGuard.EvmLagGuard,
  options: ContractPayers.Options,
  call: TransferCall
): Effect.fn.Return<EvmHex.Hex, ValidationError | ChainUnavailable> {
  if (call.deployment === undefined) return yield* ContractPayers.codeOfPayer(guard, options, call)
  const from = options.signers[0] && { from: options.signers[0] }
  const { data, gas, to } = call
  const calls = [
    { ...from, data, gas, to },
    { ...from, ...CounterfactualTransfer.deploy(call.deployment) }
  ]
  const [, outcome] = yield* guard.judge(
    (block) => guard.rpc.simulate(calls, block),
    ([, one]) => one?.isSuccess !== true
  )
  const code = outcome?.isSuccess === true ? CounterfactualTransfer.codeIn(outcome.data) : undefined
  return code ?? (yield* ContractPayers.unknown(call.payer))
})

const simulate = (
  { rpc }: EvmLagGuard.EvmLagGuard,
  call: TransferCall,
  from: EvmAddress.Address | undefined,
  fees: ChainHead["fees"],
  block: EvmRpc.BlockTag,
  simulated?: EvmRpc.SimulatedBlock
) => {
  const { data, gas, to } = call
  return Effect.map(
    rpc.simulate(
      [{ ...(from && { from }), to, data, gas, ...(fees && { fees }) }],
      block,
      simulated,
      DelegatedPayers.codeAfter(call)
    ),
    ([outcome = nothing]) => outcome
  )
}

const nothing: EvmRpc.SimulatedCall = { isSuccess: false, data: "0x", logs: [] }

const verdictOf = (
  { logs, isSuccess }: EvmRpc.SimulatedCall,
  { authorization: { to, value } }: SignedAuthorization,
  operation: SignedOperation
): UserOperationEvidence.OperationVerdict =>
  isSuccess ? UserOperationEvidence.judge(expectedOf(operation), { token: operation.token, to, value }, logs) : "absent"

/** The operation as it is looked for in events. */
export const expectedOf = ({
  entryPoint,
  hash,
  operation
}: SignedOperation): UserOperationEvidence.ExpectedOperation => ({
  entryPoint: entryPoint.address,
  hash,
  sender: operation.sender,
  nonce: operation.nonce
})

/** A payment's transfer as it is looked for in events. */
export const expectedTransfer = ({
  authorization,
  operation,
  permit,
  route,
  token
}: SignedAuthorization): EvmTransferEvidence.ExpectedTransfer => ({
  token: EvmAsset.domain(token).verifyingContract,
  authorization,
  operation: operation && expectedOf(operation),
  permit: permit?.transfer,
  isRouted: route !== undefined
})

const paysNow = Effect.fnUntraced(function* (
  guard: EvmLagGuard.EvmLagGuard,
  call: TransferCall,
  held: SignedAuthorization,
  operation: SignedOperation,
  from: EvmAddress.Address,
  { fees }: ChainHead
) {
  const outcome = yield* guard.judge(
    (block) => simulate(guard, call, from, fees, block),
    (one) => verdictOf(one, held, operation) !== "paid"
  )
  if (verdictOf(outcome, held, operation) === "paid") return
  const data = outcome.isSuccess ? UserOperationEvidence.revertIn(expectedOf(operation), outcome.logs) : outcome.data
  return yield* refusal(guard, held, operation, outcome.isSuccess, data)
})

/** Expired(uint256) of the payment guard; some accounts put it into an error of their own. */
const guardExpired = "f80dbaea"

const nonceUsed = invalid(
  "already_used",
  "nonce_used",
  "the payer's account has used the user operation's nonce already; sign a new one"
)

const nonceTooHigh = invalid(
  "unsupported_authorization",
  "operation_nonce",
  "the user operation's nonce is not the next one under its key: one before it is missing"
)

/** The error for an operation that would not pay. Many tokens give no reason, so the balance is read. */
const refusal = Effect.fnUntraced(function* (
  { confirm, judge, rpc }: EvmLagGuard.EvmLagGuard,
  { authorization, token }: SignedAuthorization,
  operation: SignedOperation,
  isExecuted: boolean,
  data: EvmHex.Hex = "0x"
) {
  if (data.includes(guardExpired)) {
    return yield* refuse(
      "EXPIRED_PAYMENT",
      "expired",
      "the user operation has expired by the chain's clock; sign a new one"
    )
  }
  const revert = yield* EvmRevert.explain({ data, message: "" })
  if (revert._tag === "UsedOrCanceled") {
    const isUsed = yield* confirm((block) => EvmTokenState.isNonceUsed(rpc, expectedOf(operation), block))
    return yield* isUsed ? nonceUsed : nonceTooHigh
  }
  if (revert._tag === "InvalidSignature" && !isExecuted) {
    const message = "the payer's account does not accept the signature of the user operation"
    return yield* refuse("INVALID_SIGNATURE", "account_refused", message)
  }
  if (revert._tag !== "Other") return yield* EvmRefusal.fromRevert(rpc.network, revert)
  const to = EvmAsset.domain(token).verifyingContract
  const balanceOf: EvmHex.Hex = `0x70a08231${authorization.from.slice(2).padStart(64, "0")}`
  const balance = yield* judge(
    (block) => rpc.call({ to, data: balanceOf, gas: 100_000n }, block),
    (one) => one._tag === "Returned"
  )
  if (
    balance._tag === "Returned" &&
    /^0x[0-9a-f]{64}$/.test(balance.data) &&
    BigInt(balance.data) < authorization.value
  ) {
    return yield* EvmRefusal.fromRevert(rpc.network, { _tag: "InsufficientBalance" })
  }
  const message = `the user operation ${isExecuted ? "does not make its transfer" : "is refused by the EntryPoint"}: ${revert.message}`
  return yield* invalid("unsupported_authorization", "operation_refused", message)
})

/** Simulates in the next block, and at the end of the validity: an operation that pays now has to pay then. */
const paysLater = Effect.fnUntraced(function* (
  guard: EvmLagGuard.EvmLagGuard,
  { signers: [from] }: ContractPayers.Options,
  call: TransferCall,
  held: SignedAuthorization,
  operation: SignedOperation,
  { fees, head }: ChainHead
) {
  const now = BigInt(Math.floor((yield* Clock.currentTimeMillis) / 1000))
  const soon = BigInt(head.time) >= now ? BigInt(head.time) + 1n : now
  const end = held.authorization.validBefore - 1n
  const late = end < soon + ContractPayers.longWait ? end : soon + ContractPayers.longWait
  const highest = fees && { ...fees, priority: fees.maximum }
  for (const [simulated, offered] of [
    [{ number: head.number + 1n, time: soon }, fees],
    [{ number: head.number + ContractPayers.manyBlocks, time: late > soon ? late : soon }, highest]
  ] as const) {
    const outcome = yield* guard.judge(
      (block) => simulate(guard, call, from, offered, block, simulated),
      (one) => verdictOf(one, held, operation) !== "paid"
    )
    if (verdictOf(outcome, held, operation) === "paid") continue
    const message = "the payer's code pays now, but not in every block and at every price up to the end of its validity"
    return yield* invalid("unsupported_authorization", "payer_code_sways", message)
  }
})
