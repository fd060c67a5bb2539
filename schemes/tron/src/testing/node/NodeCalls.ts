/** The endpoints that simulate contract calls, and those that build transactions for a client to sign. */
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

type CallRequest = typeof Call.Type

/** The call data; a selector and its parameters win over plain data. */
const dataOf = ({ data, function_selector: selector, parameter }: CallRequest): string =>
  selector === undefined || selector === ""
    ? (data ?? "")
    : `${bytesToHex(keccak_256(new TextEncoder().encode(selector)).subarray(0, 4))}${parameter ?? ""}`

const readCall = Effect.fnUntraced(function* (request: CallRequest) {
  const parameter = yield* TronMessage.fromJson(contracts.TriggerSmartContract, { ...request, data: dataOf(request) })
  const contract = yield* TronContract.fromMessage("TriggerSmartContract", parameter)
  if (contract._tag !== "TriggerSmartContract") {
    return yield* new TronMessage.MessageMalformed({ message: "the request is not a call" })
  }
  return { contract, parameter }
})

const refused = (message: string, code = "CONTRACT_VALIDATE_ERROR") => ({
  result: { code, message: NodeResponses.hexOfText(message) }
})

/** Simulates a call, or a deployment if no contract is named. */
const simulate = Effect.fnUntraced(function* (chain: DevChain, request: CallRequest) {
  const { contract } = yield* readCall(request)
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
  const { ending, energy, logs, output } = yield* chain.exclusively(chain.tvm.simulate(call, chain.head))
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
      ...(yield* build(chain, "TriggerSmartContract", request))
    }
  }
})

/** Builds a transaction as tools expect it: it refers to the newest block and is valid for a minute. */
const build = Effect.fnUntraced(function* (chain: DevChain, name: ContractName, request: CallRequest) {
  const data = name === "TriggerSmartContract" ? { data: dataOf(request) } : {}
  const parameter = yield* TronMessage.fromJson(contracts[name], { ...request, ...data })
  const reference = DevBlock.referenceOf(chain.head)
  const { fee_limit: fee = 0n } = yield* TronMessage.fromJson(rawTable, { fee_limit: request.fee_limit })
  const raw: TronMessage.Message = {
    contract: [
      {
        type: name,
        parameter: NodeTransaction.pack(name, parameter),
        Permission_id: BigInt(request.Permission_id ?? 0)
      }
    ],
    ref_block_bytes: reference.bytes,
    ref_block_hash: reference.hash,
    expiration: BigInt(chain.head.timestamp) + validityMillis,
    timestamp: BigInt(chain.now()),
    fee_limit: fee,
    ...(request.extra_data !== undefined && { data: NodeResponses.hexOfText(request.extra_data) })
  }
  const visible = request.visible === true
  return { visible, ...NodeTransaction.toJson(yield* NodeTransaction.make(raw, []), visible) }
})

/** The endpoints, by name. */
export const make = (chain: DevChain): Endpoints => {
  const builder = (name: ContractName): Endpoint => effectful(Call, (request) => build(chain, name, request))
  return {
    triggerconstantcontract: effectful(Call, (request) => simulate(chain, request)),
    estimateenergy: effectful(Call, (request) =>
      Effect.map(simulate(chain, request), (response) =>
        "energy_used" in response
          ? { result: response.result, energy_required: response["energy_used"] }
          : { result: response.result }
      )
    ),
    triggersmartcontract: effectful(Call, (request) =>
      Effect.map(build(chain, "TriggerSmartContract", request), (transaction) => ({
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
