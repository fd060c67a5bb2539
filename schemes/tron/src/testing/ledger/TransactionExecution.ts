/**
 * Executes a transaction on the ledger: bandwidth and fixed fees, then its contract. A rejected transaction leaves no trace; a
 * failed contract call is executed, and its owner pays.
 */
import * as Effect from "effect/Effect"

import type { Tvm, TvmBlock } from "../machine/Tvm.ts"
import * as NodeAddress from "../node/NodeAddress.ts"
import * as NodeRefusal from "../node/NodeRefusal.ts"
import type { NodeTransaction } from "../node/NodeTransaction.ts"
import * as ContractCalls from "./ContractCalls.ts"
import type { ExecutionReceipt } from "./ExecutionReceipt.ts"
import * as NetBill from "./NetBill.ts"
import * as SystemContracts from "./SystemContracts.ts"
import type { TronLedger } from "./TronLedger.ts"

/** Executes a transaction whose signatures, reference and time were checked before. */
export const execute = (
  ledger: TronLedger,
  tvm: Tvm,
  transaction: NodeTransaction,
  block: TvmBlock
): Effect.Effect<ExecutionReceipt, NodeRefusal.NodeRefusal> =>
  Effect.suspend(() => {
    const mark = ledger.log.mark()
    return run(ledger, tvm, transaction, block).pipe(Effect.onError(() => Effect.sync(() => ledger.log.rollback(mark))))
  })

const run = Effect.fnUntraced(function* (ledger: TronLedger, tvm: Tvm, transaction: NodeTransaction, block: TvmBlock) {
  const { contract, contracts } = transaction
  if (contract === undefined || contracts !== 1) {
    const what = `contract size should be exactly 1, this is extend feature ,actual :${contracts}`
    return yield* NodeRefusal.invalid(`tx ${transaction.id} ${what}`)
  }
  const account = ledger.accounts.get(contract.owner_address)
  if (account === undefined) {
    return yield* NodeRefusal.invalid(`account [${NodeAddress.toBase58(contract.owner_address)}] does not exist`)
  }
  const bill = yield* NetBill.charge(ledger, transaction, account, block.timestamp)
  const owner = ledger.accountAt(contract.owner_address, block.timestamp)
  const { netFee, netUsage } = bill
  const fixed = netFee + bill.extraFee
  if (contract._tag === "TriggerSmartContract" || contract._tag === "CreateSmartContract") {
    const call = yield* ContractCalls.execute(ledger, tvm, transaction, contract, owner, block)
    const receipt: ExecutionReceipt = { fee: fixed + call.energyFee, netUsage, netFee, call }
    return receipt
  }
  const fee = yield* SystemContracts.execute(ledger, contract, owner, block.timestamp)
  const receipt: ExecutionReceipt = { fee: fixed + fee, netUsage, netFee }
  return receipt
})
