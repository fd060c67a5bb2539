/**
 * Deployment and calls of contracts, and the charge for their energy. Here the caller pays all of it, whatever share a contract's
 * owner has promised.
 */
import { keccak_256 } from "@noble/hashes/sha3.js"
import { bytesToHex, hexToBytes } from "@noble/hashes/utils.js"
import * as Effect from "effect/Effect"

import type { Tvm, TvmBlock, TvmCall, TvmResult } from "../machine/Tvm.ts"
import type { ContractOf } from "../messages/TronContract.ts"
import * as NodeRefusal from "../node/NodeRefusal.ts"
import type { NodeTransaction } from "../node/NodeTransaction.ts"
import type { CallReceipt } from "./ExecutionReceipt.ts"
import * as TronAccount from "./TronAccount.ts"
import type { DeployedContract, TronLedger } from "./TronLedger.ts"

/** The contracts of this file. */
export type SmartContract = ContractOf<"TriggerSmartContract"> | ContractOf<"CreateSmartContract">

/** The scale of a contract's energy factor. */
const factorScale = 10_000n

/** Total energy of a call, with the penalty of a popular contract. */
export const withPenalty = (energy: bigint, contract: DeployedContract | undefined): bigint =>
  (energy * (factorScale + (contract?.energyFactor ?? 0n))) / factorScale

/** The address of the contract that a transaction deploys. */
export const addressOf = (id: string, owner: string): string =>
  `41${bytesToHex(keccak_256(hexToBytes(`${id}${owner}`)).subarray(12))}`

/** Executes a contract; a failed call is executed and charged too. */
export const execute = Effect.fnUntraced(function* (
  ledger: TronLedger,
  tvm: Tvm,
  transaction: NodeTransaction,
  contract: SmartContract,
  owner: TronAccount.TronAccount,
  block: TvmBlock
) {
  const { parameters } = ledger
  const value = contract._tag === "CreateSmartContract" ? contract.new_contract.call_value : contract.call_value
  if (contract.call_token_value !== 0n) return yield* NodeRefusal.invalid("the local node does not support TRC-10")
  if (value < 0n) return yield* NodeRefusal.invalid("callValue must be >= 0")
  if (transaction.feeLimit < 0n || transaction.feeLimit > parameters.maxFeeLimit) {
    return yield* NodeRefusal.invalid(`feeLimit must be >= 0 and <= ${parameters.maxFeeLimit}`)
  }
  if (owner.balance < value) {
    return yield* NodeRefusal.invalid("Validate InternalTransfer error, balance is not sufficient.")
  }
  const staked = TronAccount.leftOf(owner, "ENERGY", parameters, block.timestamp)
  const limit = least(
    transaction.feeLimit / parameters.energyFee,
    staked + (owner.balance - value) / parameters.energyFee
  )
  const target =
    contract._tag === "CreateSmartContract" ? addressOf(transaction.id, owner.address) : contract.contract_address
  const deployed = ledger.contracts.get(target)
  const problem = problemOf(ledger, contract, deployed, target)
  if (problem !== undefined) return yield* NodeRefusal.invalid(problem)
  const call = callOf(contract, target, value, (limit * factorScale) / withPenalty(factorScale, deployed))
  if (contract._tag === "CreateSmartContract") deploy(ledger, contract, target, block.timestamp)
  const result = yield* tvm.run(call, block)
  if (contract._tag === "CreateSmartContract" && result.ending !== "SUCCESS") undeploy(ledger, target)
  return charge(ledger, { owner: owner.address, target, deployed, limit, staked, result, now: block.timestamp })
})

const least = (one: bigint, other: bigint) => (one < other ? one : other)

const problemOf = (
  ledger: TronLedger,
  contract: SmartContract,
  deployed: DeployedContract | undefined,
  target: string
): string | undefined => {
  if (contract._tag === "TriggerSmartContract") {
    return deployed === undefined ? "No contract or not a smart contract" : undefined
  }
  const created = contract.new_contract
  if (created.origin_address !== contract.owner_address) return "OwnerAddress is not equals OriginAddress"
  if (created.consume_user_resource_percent < 0n || created.consume_user_resource_percent > 100n) {
    return "percent must be >= 0 and <= 100"
  }
  if (created.origin_energy_limit <= 0n) return "The originEnergyLimit must be > 0"
  return ledger.accounts.get(target) === undefined
    ? undefined
    : "Trying to create a contract with existing contract address"
}

const callOf = (contract: SmartContract, target: string, value: bigint, limit: bigint): TvmCall => ({
  owner: contract.owner_address,
  contract: target,
  value,
  limit,
  ...(contract._tag === "CreateSmartContract"
    ? { data: "", code: contract.new_contract.bytecode }
    : { data: contract.data })
})

const deploy = (
  ledger: TronLedger,
  { new_contract: created, owner_address: origin }: ContractOf<"CreateSmartContract">,
  address: string,
  now: number
) => {
  const { abi, bytecode, name } = created
  ledger.contracts.set(address, { address, origin, name, abi, bytecode, energyFactor: 0n })
  ledger.accounts.set(address, TronAccount.make(address, now, true))
}

const undeploy = (ledger: TronLedger, address: string) => {
  ledger.contracts.delete(address)
  ledger.accounts.delete(address)
}

interface CallCharge {
  readonly owner: string
  readonly target: string
  readonly deployed: DeployedContract | undefined
  readonly limit: bigint
  readonly staked: bigint
  readonly result: TvmResult
  readonly now: number
}

/** Charges the energy to the stake first and burns sun for the rest; a call that ran out of energy pays its whole limit. */
const charge = (
  ledger: TronLedger,
  { deployed, limit, now, owner, result, staked, target }: CallCharge
): CallReceipt => {
  const isMetered = result.ending === "SUCCESS" || result.ending === "REVERT" || result.ending === "TRANSFER_FAILED"
  const energyTotal = isMetered ? withPenalty(result.energy, deployed) : limit
  const energyUsage = least(energyTotal, staked)
  const energyFee = (energyTotal - energyUsage) * ledger.parameters.energyFee
  ledger.update(owner, (account) => {
    const spent = TronAccount.spending(account, "ENERGY", energyUsage, now)
    return { ...spent, balance: spent.balance - energyFee }
  })
  return {
    contract: target,
    ending: result.ending,
    output: result.output,
    logs: result.logs,
    energyUsage,
    energyFee,
    energyTotal,
    energyPenalty: energyTotal - result.energy
  }
}
