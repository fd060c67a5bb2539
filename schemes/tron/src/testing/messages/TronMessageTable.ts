/** The messages that the local node supports, by field number, as `protocol/src/main/protos` of java-tron declares them. */
import type { Table } from "./TronMessage.ts"

const resource = { names: { 0: "BANDWIDTH", 1: "ENERGY", 2: "TRON_POWER" } } as const

const parameter: Table = {
  1: { name: "indexed", kind: "boolean" },
  2: { name: "name", kind: "text" },
  3: { name: "type", kind: "text" }
}

const entryTypes = ["UnknownEntryType", "Constructor", "Function", "Event", "Fallback", "Receive", "Error"]
const mutabilities = ["UnknownMutabilityType", "Pure", "View", "Nonpayable", "Payable"]

const entry: Table = {
  1: { name: "anonymous", kind: "boolean" },
  2: { name: "constant", kind: "boolean" },
  3: { name: "name", kind: "text" },
  4: { name: "inputs", kind: { table: parameter }, isList: true },
  5: { name: "outputs", kind: { table: parameter }, isList: true },
  6: { name: "type", kind: { names: entryTypes } },
  7: { name: "payable", kind: "boolean" },
  8: { name: "stateMutability", kind: { names: mutabilities } }
}

/** The interface with which a contract was deployed. */
export const abi: Table = { 1: { name: "entrys", kind: { table: entry }, isList: true } }

const smartContract: Table = {
  1: { name: "origin_address", kind: "address" },
  2: { name: "contract_address", kind: "address" },
  3: { name: "abi", kind: { table: abi } },
  4: { name: "bytecode", kind: "bytes" },
  5: { name: "call_value", kind: "integer" },
  6: { name: "consume_user_resource_percent", kind: "integer" },
  7: { name: "name", kind: "text" },
  8: { name: "origin_energy_limit", kind: "integer" }
}

const key: Table = { 1: { name: "address", kind: "address" }, 2: { name: "weight", kind: "integer" } }

const permission: Table = {
  1: { name: "type", kind: { names: { 0: "Owner", 1: "Witness", 2: "Active" } } },
  2: { name: "id", kind: "integer" },
  3: { name: "permission_name", kind: "text" },
  4: { name: "threshold", kind: "integer" },
  5: { name: "parent_id", kind: "integer" },
  6: { name: "operations", kind: "bytes" },
  7: { name: "keys", kind: { table: key }, isList: true }
}

const owner = { name: "owner_address", kind: "address" } as const
const receiver = { name: "receiver_address", kind: "address" } as const

/** The contracts of the local node: the message in a transaction's parameter, by the name of its type. */
export const contracts = {
  AccountCreateContract: {
    1: owner,
    2: { name: "account_address", kind: "address" },
    3: { name: "type", kind: { names: { 0: "Normal", 1: "AssetIssue", 2: "Contract" } } }
  },
  TransferContract: { 1: owner, 2: { name: "to_address", kind: "address" }, 3: { name: "amount", kind: "integer" } },
  CreateSmartContract: {
    1: owner,
    2: { name: "new_contract", kind: { table: smartContract } },
    3: { name: "call_token_value", kind: "integer" },
    4: { name: "token_id", kind: "integer" }
  },
  TriggerSmartContract: {
    1: owner,
    2: { name: "contract_address", kind: "address" },
    3: { name: "call_value", kind: "integer" },
    4: { name: "data", kind: "bytes" },
    5: { name: "call_token_value", kind: "integer" },
    6: { name: "token_id", kind: "integer" }
  },
  AccountPermissionUpdateContract: {
    1: owner,
    2: { name: "owner", kind: { table: permission } },
    3: { name: "witness", kind: { table: permission } },
    4: { name: "actives", kind: { table: permission }, isList: true }
  },
  FreezeBalanceV2Contract: {
    1: owner,
    2: { name: "frozen_balance", kind: "integer" },
    3: { name: "resource", kind: resource }
  },
  UnfreezeBalanceV2Contract: {
    1: owner,
    2: { name: "unfreeze_balance", kind: "integer" },
    3: { name: "resource", kind: resource }
  },
  DelegateResourceContract: {
    1: owner,
    2: { name: "resource", kind: resource },
    3: { name: "balance", kind: "integer" },
    4: receiver,
    5: { name: "lock", kind: "boolean" },
    6: { name: "lock_period", kind: "integer" }
  },
  UnDelegateResourceContract: {
    1: owner,
    2: { name: "resource", kind: resource },
    3: { name: "balance", kind: "integer" },
    4: receiver
  }
} as const satisfies Readonly<Record<string, Table>>

/** The name of a type of contract. */
export type ContractName = keyof typeof contracts

const contractNumbers: Readonly<Record<number, ContractName>> = {
  0: "AccountCreateContract",
  1: "TransferContract",
  30: "CreateSmartContract",
  31: "TriggerSmartContract",
  46: "AccountPermissionUpdateContract",
  54: "FreezeBalanceV2Contract",
  55: "UnfreezeBalanceV2Contract",
  57: "DelegateResourceContract",
  58: "UnDelegateResourceContract"
}

/** The number of a type of contract. */
export const numberOf = (name: ContractName): number =>
  Number(Object.entries(contractNumbers).find(([, known]) => known === name)?.[0])

/** Whether the node supports a type of contract. */
export const isContractName = (name: string): name is ContractName => Object.hasOwn(contracts, name)

const any: Table = { 1: { name: "type_url", kind: "text" }, 2: { name: "value", kind: "bytes" } }

const contract: Table = {
  1: { name: "type", kind: { names: contractNumbers } },
  2: { name: "parameter", kind: { table: any } },
  3: { name: "provider", kind: "bytes" },
  4: { name: "ContractName", kind: "bytes" },
  5: { name: "Permission_id", kind: "integer" }
}

/** The signed part of a transaction. */
export const raw: Table = {
  1: { name: "ref_block_bytes", kind: "bytes" },
  3: { name: "ref_block_num", kind: "integer" },
  4: { name: "ref_block_hash", kind: "bytes" },
  8: { name: "expiration", kind: "integer" },
  10: { name: "data", kind: "bytes" },
  11: { name: "contract", kind: { table: contract }, isList: true },
  12: { name: "scripts", kind: "bytes" },
  14: { name: "timestamp", kind: "integer" },
  18: { name: "fee_limit", kind: "integer" }
}

/** A transaction with its signatures, without the results that a sender may add (field 5). */
export const transaction: Table = {
  1: { name: "raw_data", kind: { table: raw } },
  2: { name: "signature", kind: "bytes", isList: true }
}
