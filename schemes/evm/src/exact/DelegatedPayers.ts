/**
 * Payers whose plain account delegates to code in the transaction that submits their user operation (EIP-7702). A delegation that is
 * there already, by an earlier payment or by anybody's transaction, is not sent again.
 */
import { type ChainUnavailable, invalid, type ValidationError } from "@pontage/core"
import * as Effect from "effect/Effect"

import type * as EvmLagGuard from "../node/EvmLagGuard.ts"
import * as Eip7702 from "../primitives/Eip7702.ts"
import type * as EvmHex from "../primitives/EvmHex.ts"
import type { TransferCall } from "../transfer/EvmTransferCall.ts"
import * as ContractPayers from "./ContractPayers.ts"

/** The call as it has to be sent now: with its delegation only where that is not there yet. */
export const callNow = Effect.fnUntraced(function* (
  guard: EvmLagGuard.EvmLagGuard,
  call: TransferCall
): Effect.fn.Return<TransferCall, ValidationError | ChainUnavailable> {
  const { authorizationList, ...delegated } = call
  const [authorization] = authorizationList ?? []
  if (authorization === undefined) return call
  const code = yield* ContractPayers.codeAt(guard, call.payer)
  if (code === Eip7702.delegationTo(authorization.address)) {
    return { ...delegated, gas: call.gas - Eip7702.gas }
  }
  if (code !== "0x" && !code.startsWith(designator)) return yield* otherCode
  const sent = yield* guard.judge(
    (block) => guard.rpc.getTransactionCount(call.payer, block),
    (count) => count !== authorization.nonce
  )
  return sent === authorization.nonce ? call : yield* nonceDiffers(authorization.nonce, sent)
})

const designator = "0xef0100"

/** The code that the payer's account has once the call's delegation is there; `undefined` without one. */
export const codeAfter = ({ authorizationList, payer }: TransferCall) => {
  const [authorization] = authorizationList ?? []
  return authorization && { address: payer, code: Eip7702.delegationTo(authorization.address) satisfies EvmHex.Hex }
}

const otherCode = invalid(
  "unsupported_authorization",
  "operation_delegation_account",
  "the payer's account is a contract and cannot delegate"
)

const nonceDiffers = (nonce: number, sent: number) =>
  invalid(
    "unsupported_authorization",
    "operation_delegation_nonce",
    `the delegation is for the payer's transaction count ${nonce}, and the payer has sent ${sent} transactions; sign a new payment`
  )
