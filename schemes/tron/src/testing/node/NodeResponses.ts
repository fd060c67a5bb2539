/** The node's responses about blocks, transactions and accounts, as the JSON of java-tron: zero and empty fields are left out. */
import { bytesToHex } from "@noble/hashes/utils.js"

import type { ChainParameters } from "../ledger/ChainParameters.ts"
import { type DevBlock, witness } from "../ledger/DevBlock.ts"
import type { Found } from "../ledger/DevChain.ts"
import { failureOf } from "../ledger/ExecutionReceipt.ts"
import { permissionOf } from "../ledger/SignatureWeight.ts"
import * as TronAccount from "../ledger/TronAccount.ts"
import type { Permission, Resource } from "../messages/TronContract.ts"
import * as NodeAddress from "./NodeAddress.ts"
import * as NodeTransaction from "./NodeTransaction.ts"

/** A JSON object. */
export type Json = Readonly<Record<string, unknown>>

/** An object without absent, zero and empty fields, as protocol buffers print it. */
export const present = (json: Json): Json =>
  Object.fromEntries(
    Object.entries(json).filter(
      ([, value]) => value !== undefined && value !== 0n && value !== 0 && value !== "" && value !== false
    )
  )

/** Text in hexadecimal. */
export const hexOfText = (text: string): string => bytesToHex(new TextEncoder().encode(text))

const headerVersion = 31

/** A block, with or without its transactions. */
export const block = (found: DevBlock, detailed: boolean, visible: boolean): Json => ({
  blockID: found.id,
  block_header: {
    raw_data: present({
      number: found.number,
      txTrieRoot: "00".repeat(32),
      witness_address: NodeAddress.shown(witness, visible),
      parentHash: found.parentId,
      version: headerVersion,
      timestamp: found.timestamp
    }),
    witness_signature: "00".repeat(65)
  },
  ...(detailed &&
    found.transactions.length > 0 && {
      transactions: found.transactions.map((each) => transaction({ ...each, block: found }, visible))
    })
})

/** A transaction with its result. */
export const transaction = ({ receipt, transaction: sent }: Found, visible: boolean): Json => ({
  ret: [present({ contractRet: receipt.call?.ending ?? "SUCCESS" })],
  ...NodeTransaction.toJson(sent, visible)
})

/** The information about a transaction in a block. */
export const information = ({ receipt, transaction: { id } }: Found, at: DevBlock): Json => {
  const { call, fee, netFee, netUsage } = receipt
  const failure = call === undefined ? undefined : failureOf(call.ending)
  return {
    ...present({ id, fee, blockNumber: at.number, blockTimeStamp: at.timestamp }),
    contractResult: [call?.output ?? ""],
    ...present({ contract_address: call?.contract }),
    receipt: present({
      energy_usage: call?.energyUsage,
      energy_fee: call?.energyFee,
      energy_usage_total: call?.energyTotal,
      net_usage: netUsage,
      net_fee: netFee,
      result: call?.ending,
      energy_penalty_total: call?.energyPenalty
    }),
    ...(call !== undefined && call.logs.length > 0 && { log: call.logs.map((log) => present({ ...log })) }),
    ...(failure !== undefined && { result: "FAILED", resMessage: hexOfText(failure) })
  }
}

const permissionJson = (
  { id, keys, operations, permission_name: name, threshold, type }: Permission,
  visible: boolean
) => ({
  ...present({ type: type === "Owner" ? "" : type, id, permission_name: name, threshold, operations }),
  keys: keys.map(({ address, weight }) => ({ address: NodeAddress.shown(address, visible), weight }))
})

/** An account. */
export const account = (found: TronAccount.TronAccount, now: number, visible: boolean): Json => {
  const { ENERGY: energy, BANDWIDTH: net } = found.stakes
  const ids = found.permissions === undefined ? [0, 2] : [...found.permissions.keys()]
  const permissions = ids.flatMap((id) => permissionOf(found.address, found, id) ?? [])
  const shown = (type: Permission["type"]) =>
    permissions.filter((each) => each.type === type).map((each) => permissionJson(each, visible))
  return {
    ...present({
      address: NodeAddress.shown(found.address, visible),
      type: found.isContract ? "Contract" : "",
      balance: found.balance,
      create_time: found.createdAt,
      net_usage: TronAccount.usedAt(net.usage, now),
      free_net_usage: TronAccount.usedAt(found.freeNet, now),
      delegated_frozenV2_balance_for_bandwidth: net.delegated,
      acquired_delegated_frozenV2_balance_for_bandwidth: net.acquired
    }),
    account_resource: present({
      energy_usage: TronAccount.usedAt(energy.usage, now),
      delegated_frozenV2_balance_for_energy: energy.delegated,
      acquired_delegated_frozenV2_balance_for_energy: energy.acquired
    }),
    ...(!found.isContract && { owner_permission: shown("Owner")[0], active_permission: shown("Active") }),
    frozenV2: [
      present({ amount: net.own }),
      present({ type: "ENERGY", amount: energy.own }),
      present({ type: "TRON_POWER" })
    ],
    ...(found.unfreezing.length > 0 && {
      unfrozenV2: found.unfreezing.map(({ amount, at, resource }) =>
        present({ type: named(resource), unfreeze_amount: amount, unfreeze_expire_time: at })
      )
    })
  }
}

const named = (resource: Resource) => (resource === "ENERGY" ? resource : "")

/** The resources of an account. */
export const resources = (found: TronAccount.TronAccount, parameters: ChainParameters, now: number): Json =>
  present({
    freeNetUsed: TronAccount.usedAt(found.freeNet, now),
    freeNetLimit: parameters.freeNetLimit,
    NetUsed: TronAccount.usedAt(found.stakes.BANDWIDTH.usage, now),
    NetLimit: TronAccount.limitOf(found, "BANDWIDTH", parameters),
    TotalNetLimit: parameters.totalNetLimit,
    TotalNetWeight: parameters.totalNetWeight,
    EnergyUsed: TronAccount.usedAt(found.stakes.ENERGY.usage, now),
    EnergyLimit: TronAccount.limitOf(found, "ENERGY", parameters),
    TotalEnergyLimit: parameters.totalEnergyLimit,
    TotalEnergyWeight: parameters.totalEnergyWeight
  })

/** The chain's parameters, by the names of their proposals. */
export const parameters = (found: ChainParameters): Json => ({
  chainParameter: [
    { key: "getTransactionFee", value: found.transactionFee },
    { key: "getEnergyFee", value: found.energyFee },
    { key: "getMaxFeeLimit", value: found.maxFeeLimit },
    { key: "getMemoFee", value: found.memoFee },
    { key: "getMultiSignFee", value: found.multiSignFee },
    { key: "getFreeNetLimit", value: found.freeNetLimit },
    { key: "getCreateAccountFee", value: found.createAccountFee },
    { key: "getCreateNewAccountFeeInSystemContract", value: found.createNewAccountFee },
    { key: "getUpdateAccountPermissionFee", value: found.updateAccountPermissionFee },
    { key: "getTotalEnergyCurrentLimit", value: found.totalEnergyLimit },
    { key: "getTotalNetLimit", value: found.totalNetLimit },
    { key: "getUnfreezeDelayDays", value: 14 },
    { key: "getAllowDelegateResource", value: 1 },
    { key: "getAllowTvmCompatibleEvm" }
  ]
})

/** Replacer for `JSON.stringify` that writes `bigint`s as numbers. Beyond 2^53 digits are lost, as in all JavaScript readers. */
export const numbers = (_: string, value: unknown): unknown => (typeof value === "bigint" ? Number(value) : value)
