/**
 * The endpoints that run contracts without a transaction, and those that build transactions for a client to sign.
 */
import { keccak_256 } from "@noble/hashes/sha3.js"
import { bytesToHex } from "@noble/hashes/utils.js"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import { addressOf, withPenalty } from "../ledger/ContractCalls.ts"
import * as DevBlock from "../ledger/DevBlock.ts"
import type { DevChain } from "../ledger/DevChain.ts"
import { failureOf } from "../ledger/ExecutionReceipt.ts"
import * as TronContract from "../messages/TronContract.ts"
import * as TronMessage from "../messages/TronMessage.ts"
import { type ContractName, contracts, raw as rawTable } from "../messages/TronMessageTable.ts"
import * as NodeAddress from "./NodeAddress.ts"
import { effectful, type Endpoint, type Endpoints } from "./NodeEndpoint.ts"
import * as NodeResponses from "./NodeResponses.ts"
import * as NodeTransaction from "./NodeTransaction.ts"

/** `vm.maxEnergyLimitForConstant`. */
const constantLimit = 100_000_000n
const validityMillis = 60_000n

const Call = Schema.StructWithRest(
  Schema.Struct({
    function_selector: Schema.optionalKey(Schema.String),
    parameter: Schema.optionalKey(Schema.String),
    data: Schema.optionalKey(Schema.String),
    fee_limit: Schema.optionalKey(Schema.Union([Schema.Finite, Schema.String])),
    Permission_id: Schema.optionalKey(Schema.Int),
    extra_data: Schema.optionalKey(Schema.String),
    visible: Schema.optionalKey(Schema.Boolean)
  }),
  [Schema.Record(Schema.String, Schema.Unknown)]
)

type Asked = typeof Call.Type

/** A selector and its parameters win over plain data. */
const dataOf = ({ data, function_selector: selector, parameter }: Asked): string =>
  selector === undefined || selector === ""
    ? (data ?? "")
    : `${bytesToHex(keccak_256(new TextEncoder().encode(selector)).subarray(0, 4))}${parameter ?? ""}`

const readCall = Effect.fnUntraced(function* (asked: Asked) {
  const parameter = yield* TronMessage.fromJson(contracts.TriggerSmartContract, { ...asked, data: dataOf(asked) })
  const contract = yield* TronContract.fromMessage("TriggerSmartContract", parameter)
  if (contract._tag !== "TriggerSmartContract") return yield* new TronMessage.MessageMalformed({ message: "no call" })
  return { contract, parameter }
})

const refused = (message: string, code = "CONTRACT_VALIDATE_ERROR") => ({
  result: { code, message: NodeResponses.hexOfText(message) }
})

/** Runs a call, or what deploys a contract where none is named. */
const look = Effect.fnUntraced(function* (chain: DevChain, asked: Asked) {
  const { contract } = yield* readCall(asked)
  if (!NodeAddress.is(contract.owner_address)) return refused("Invalid ownerAddress", "OTHER_ERROR")
  const isCreation = contract.contract_address === ""
  const deployed = chain.ledger.contracts.get(contract.contract_address)
  if (!isCreation && deployed === undefined) return refused("Smart contract is not exist.")
  const owner = contract.owner_address
  const call = {
    owner,
    contract: isCreation ? addressOf("00".repeat(32), owner) : contract.contract_address,
    data: contract.data,
    value: contract.call_value,
    limit: constantLimit,
    ...(isCreation && { code: contract.data })
  }
  const { ending, energy, logs, output } = yield* chain.exclusively(chain.tvm.look(call, chain.head))
  const failure = failureOf(ending)
  if (failure !== undefined && ending !== "REVERT") return refused(`class ${ending} : ${failure}`, "OTHER_ERROR")
  const total = withPenalty(energy, deployed)
  return {
    result: NodeResponses.present({
      result: true,
      message: failure === undefined ? "" : NodeResponses.hexOfText(failure)
    }),
    ...NodeResponses.present({ energy_used: total, energy_penalty: total - energy }),
    constant_result: [output],
    ...(logs.length > 0 && { logs: logs.map((log) => NodeResponses.present({ ...log })) }),
    transaction: {
      ret: [failure === undefined ? {} : { ret: "FAILED" }],
      ...(yield* build(chain, "TriggerSmartContract", asked))
    }
  }
})

/** A transaction as tools expect it: it refers to the newest block and is valid for a minute. */
const build = Effect.fnUntraced(function* (chain: DevChain, name: ContractName, asked: Asked) {
  const data = name === "TriggerSmartContract" ? { data: dataOf(asked) } : {}
  const parameter = yield* TronMessage.fromJson(contracts[name], { ...asked, ...data })
  const reference = DevBlock.referenceOf(chain.head)
  const { fee_limit: fee = 0n } = yield* TronMessage.fromJson(rawTable, { fee_limit: asked.fee_limit })
  const raw: TronMessage.Message = {
    contract: [
      {
        type: name,
        parameter: NodeTransaction.pack(name, parameter),
        Permission_id: BigInt(asked.Permission_id ?? 0)
      }
    ],
    ref_block_bytes: reference.bytes,
    ref_block_hash: reference.hash,
    expiration: BigInt(chain.head.timestamp) + validityMillis,
    timestamp: BigInt(chain.now()),
    fee_limit: fee,
    ...(asked.extra_data !== undefined && { data: NodeResponses.hexOfText(asked.extra_data) })
  }
  const visible = asked.visible === true
  return { visible, ...NodeTransaction.toJson(yield* NodeTransaction.make(raw, []), visible) }
})

/** The endpoints, by name. */
export const make = (chain: DevChain): Endpoints => {
  const builder = (name: ContractName): Endpoint => effectful(Call, (asked) => build(chain, name, asked))
  return {
    triggerconstantcontract: effectful(Call, (asked) => look(chain, asked)),
    estimateenergy: effectful(Call, (asked) =>
      Effect.map(look(chain, asked), (answer) =>
        "energy_used" in answer
          ? { result: answer.result, energy_required: answer["energy_used"] }
          : { result: answer.result }
      )
    ),
    triggersmartcontract: effectful(Call, (asked) =>
      Effect.map(build(chain, "TriggerSmartContract", asked), (transaction) => ({
        result: { result: true },
        transaction
      }))
    ),
    deploycontract: builder("CreateSmartContract"),
    createtransaction: builder("TransferContract"),
    createaccount: builder("AccountCreateContract"),
    accountpermissionupdate: builder("AccountPermissionUpdateContract"),
    freezebalancev2: builder("FreezeBalanceV2Contract"),
    unfreezebalancev2: builder("UnfreezeBalanceV2Contract"),
    delegateresource: builder("DelegateResourceContract"),
    undelegateresource: builder("UnDelegateResourceContract")
  }
}
