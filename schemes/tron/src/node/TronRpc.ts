/**
 * The requests that this package sends to a TRON full node, with their decoded responses: an invalid response is
 * `ChainUnavailable`, never a value. Nodes leave out fields that are 0, so every number defaults to 0; amounts are exact
 * `bigint`s. This module neither retries nor remembers.
 */
import type { ChainUnavailable, Misconfigured } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import * as TronAddress from "../primitives/TronAddress.ts"
import * as TronHex from "../primitives/TronHex.ts"
import * as TronBlocks from "./TronBlocks.ts"
import * as TronHttp from "./TronHttp.ts"
import * as TronRequest from "./TronRequest.ts"

const AccountResponse = Schema.Struct({
  address: Schema.optionalKey(TronHex.FromNode),
  balance: TronRequest.OrZero,
  owner_permission: Schema.optionalKey(
    Schema.Struct({
      threshold: TronRequest.OrZero,
      keys: Schema.optionalKey(Schema.Array(Schema.Struct({ address: TronHex.FromNode, weight: TronRequest.OrZero })))
    })
  )
})

/** An activated account. */
export interface Account {
  /** In sun. */
  readonly balance: bigint
  /** Whether the account's own key alone has its owner permission. */
  readonly ownsItself: boolean
}

const ResourceResponse = Schema.Struct({
  freeNetLimit: TronRequest.OrZero,
  freeNetUsed: TronRequest.OrZero,
  NetLimit: TronRequest.OrZero,
  NetUsed: TronRequest.OrZero,
  EnergyLimit: TronRequest.OrZero,
  EnergyUsed: TronRequest.OrZero,
  TotalEnergyLimit: TronRequest.OrZero,
  TotalEnergyWeight: TronRequest.OrZero
})

/** The resources that an account may use without burning TRX, and the totals that determine the energy of a stake. */
export interface Resources {
  readonly energy: bigint
  /** Energy that the account's transactions have used and that has not returned yet; it returns within 24 hours. */
  readonly energyUsed: bigint
  /** Bytes left of the day's free quota; they are never added to the staked ones. */
  readonly freeBandwidth: bigint
  /** Bytes. */
  readonly stakedBandwidth: bigint
  readonly totalEnergyLimit: bigint
  /** In TRX. */
  readonly totalEnergyWeight: bigint
}

const Log = Schema.Struct({
  address: TronHex.FromNode,
  topics: Schema.optionalKey(Schema.Array(TronHex.Bytes32)),
  data: Schema.optionalKey(TronHex.FromNode)
})

/** An event of a contract. */
export interface Log {
  readonly address: TronAddress.Address
  readonly topics: ReadonlyArray<string>
  readonly data: string
}

const Text = Schema.optionalKey(Schema.String)

const CallResponse = Schema.Struct({
  result: Schema.Struct({ result: Schema.optionalKey(Schema.Boolean), code: Text, message: Text }),
  energy_used: TronRequest.OrZero,
  constant_result: Schema.optionalKey(Schema.Array(TronHex.FromNode)),
  logs: Schema.optionalKey(Schema.Array(Log)),
  transaction: Schema.optionalKey(
    Schema.Struct({ ret: Schema.optionalKey(Schema.Array(Schema.Struct({ ret: Text }))) })
  )
})

/** The outcome of a simulated call: it returned, it failed in the contract, or the contract does not exist. */
export type CallOutcome =
  | { readonly _tag: "Returned"; readonly data: string; readonly energy: bigint; readonly logs: ReadonlyArray<Log> }
  | { readonly _tag: "Failed"; readonly message: string }
  | { readonly _tag: "NoContract"; readonly message: string }

const InfoIdResponse = Schema.Struct({ id: Schema.optionalKey(TronHex.Bytes32) })

const InfoResponse = Schema.Struct({
  id: Schema.optionalKey(TronHex.Bytes32),
  blockNumber: TronRequest.OrZero,
  receipt: Schema.optionalKey(Schema.Struct({ result: Text })),
  log: Schema.optionalKey(Schema.Array(Log)),
  resMessage: Text
})

/** The receipt of a contract call in a block. */
export interface Receipt {
  readonly block: bigint
  /** `SUCCESS`, or the chain's name of the failure. */
  readonly result: string
  readonly logs: ReadonlyArray<Log>
  readonly message: string
}

/** The results of a contract call (`contractResult` of java-tron) without `DEFAULT`, which says nothing. */
const results = new Set([
  "SUCCESS",
  "REVERT",
  "BAD_JUMP_DESTINATION",
  "OUT_OF_MEMORY",
  "PRECOMPILED_CONTRACT",
  "STACK_TOO_SMALL",
  "STACK_TOO_LARGE",
  "ILLEGAL_OPERATION",
  "STACK_OVERFLOW",
  "OUT_OF_ENERGY",
  "OUT_OF_TIME",
  "JVM_STACK_OVER_FLOW",
  "UNKNOWN",
  "TRANSFER_FAILED",
  "INVALID_CODE"
])

const BroadcastResponse = Schema.Struct({
  result: Schema.optionalKey(Schema.Boolean),
  code: Text,
  message: Text,
  txid: Text
})

/** A node's response to broadcast bytes. */
export interface Broadcast {
  /** `SUCCESS`, or the node's error code. */
  readonly code: string
  readonly message: string
}

const ParametersResponse = Schema.Struct({
  chainParameter: Schema.Array(Schema.Struct({ key: Schema.String, value: Schema.optionalKey(Schema.Unknown) }))
})

/** The chain's prices, in sun. */
export interface Prices {
  /** Price of a unit of energy. */
  readonly energy: bigint
  /** Price of a byte of a transaction. */
  readonly bandwidth: bigint
}

const TransactionResponse = Schema.Struct({ txID: Schema.optionalKey(TronHex.Bytes32) })

const DelegationResponse = Schema.Struct({
  delegatedResource: Schema.optionalKey(Schema.Array(Schema.Struct({ frozen_balance_for_energy: TronRequest.OrZero })))
})

const LendableResponse = Schema.Struct({ max_size: TronRequest.OrZero })

const ReceiversResponse = Schema.Struct({ toAccounts: Schema.optionalKey(Schema.Array(TronHex.FromNode)) })

/** The requests. A timeout or an invalid response is `ChainUnavailable`. */
export interface TronRpc extends TronBlocks.TronBlocks {
  readonly network: string
  /** Reads an account; `undefined` while it is not activated. */
  readonly account: (address: TronAddress.Address) => Effect.Effect<Account | undefined, ChainUnavailable>
  readonly resources: (address: TronAddress.Address) => Effect.Effect<Resources, ChainUnavailable>
  /** Whether the node has a transaction, in a block or pending. */
  readonly isKnown: (id: string) => Effect.Effect<boolean, ChainUnavailable>
  /** Whether a transaction of any kind is in a block. */
  readonly isIncluded: (id: string) => Effect.Effect<boolean, ChainUnavailable>
  /** Receipt of a contract call; `undefined` while it is in no block, or in no solidified one. */
  readonly receipt: (
    id: string,
    where: "included" | "solidified"
  ) => Effect.Effect<Receipt | undefined, ChainUnavailable>
  /** Simulates a call. */
  readonly call: (
    owner: TronAddress.Address,
    contract: TronAddress.Address,
    data: string
  ) => Effect.Effect<CallOutcome, ChainUnavailable>
  readonly prices: Effect.Effect<Prices, ChainUnavailable>
  /** Broadcasts signed bytes unchanged; to broadcast the same bytes twice is harmless. */
  readonly broadcast: (id: string, signedHex: string) => Effect.Effect<Broadcast, ChainUnavailable>
  /** Stake for energy that an account could lend now, in sun. */
  readonly lendable: (from: TronAddress.Address) => Effect.Effect<bigint, ChainUnavailable>
  /** Stake for energy that one account has lent another, in sun. */
  readonly delegated: (from: TronAddress.Address, to: TronAddress.Address) => Effect.Effect<bigint, ChainUnavailable>
  /** The accounts to which an account has lent anything. */
  readonly receivers: (from: TronAddress.Address) => Effect.Effect<ReadonlyArray<TronAddress.Address>, ChainUnavailable>
}

const readLog = ({ address, data = "", topics = [] }: typeof Log.Type): Log => ({
  address: TronAddress.fromTail(address),
  topics,
  data
})

/** Decodes a message that nodes may write in hexadecimal. */
const decodeMessage = (text = ""): string => {
  const hex = text.toLowerCase()
  return TronHex.isHex(hex) && hex !== "" ? new TextDecoder().decode(TronHex.toBytes(hex)) : text
}

/** The chain's messages for a missing contract; any other error is the node's own. */
const noContract = /contract is not exist|No contract or not a (?:valid )?smart contract/i

type Quote = TronHttp.TronNode["quote"]

const readCall =
  (quote: Quote) =>
  (response: typeof CallResponse.Type): CallOutcome | TronRequest.InvalidResponse => {
    const { constant_result: returned = [], energy_used: energy, logs = [], result, transaction } = response
    if (result.result !== true) {
      const message = `${result.code ?? ""} ${decodeMessage(result.message)}`
      return noContract.test(message)
        ? { _tag: "NoContract", message: quote(message) }
        : new TronRequest.InvalidResponse(message)
    }
    const ends = transaction?.ret ?? []
    return ends.some(({ ret }) => ret !== undefined && ret !== "SUCESS" && ret !== "SUCCESS")
      ? { _tag: "Failed", message: quote(decodeMessage(result.message)) }
      : { _tag: "Returned", data: returned.join(""), energy, logs: logs.map(readLog) }
  }

const readReceipt =
  (quote: Quote, id: string) =>
  ({ id: found, blockNumber, log = [], receipt, resMessage }: typeof InfoResponse.Type) => {
    if (found === undefined) return undefined
    if (found !== id) return new TronRequest.InvalidResponse("the receipt of another transaction")
    const result = receipt?.result ?? ""
    if (!results.has(result))
      return new TronRequest.InvalidResponse(`a receipt with the result "${result.slice(0, 40)}"`)
    return { block: blockNumber, result, logs: log.map(readLog), message: quote(decodeMessage(resMessage)) }
  }

const readAccount =
  (expected: TronAddress.Address) =>
  ({
    address,
    balance,
    owner_permission: permission
  }: typeof AccountResponse.Type): Account | undefined | TronRequest.InvalidResponse => {
    if (address === undefined) return undefined
    if (address !== expected) return new TronRequest.InvalidResponse("another account")
    const weight = permission?.keys?.find((key) => key.address === expected)?.weight ?? 0n
    return { balance, ownsItself: permission === undefined || permission.threshold <= weight }
  }

const left = (limit: bigint, used: bigint): bigint => (limit > used ? limit - used : 0n)

const readResources = (response: typeof ResourceResponse.Type): Resources => ({
  energy: left(response.EnergyLimit, response.EnergyUsed),
  energyUsed: response.EnergyUsed,
  freeBandwidth: left(response.freeNetLimit, response.freeNetUsed),
  stakedBandwidth: left(response.NetLimit, response.NetUsed),
  totalEnergyLimit: response.TotalEnergyLimit,
  totalEnergyWeight: response.TotalEnergyWeight
})

const readPrices = ({ chainParameter }: typeof ParametersResponse.Type): Prices | TronRequest.InvalidResponse => {
  const of = (name: string) => {
    const value = chainParameter.find(({ key }) => key === name)?.value
    return typeof value === "number" && Number.isInteger(value) && value > 0 ? BigInt(value) : undefined
  }
  const energy = of("getEnergyFee")
  const bandwidth = of("getTransactionFee")
  return energy === undefined || bandwidth === undefined
    ? new TronRequest.InvalidResponse("parameters without the prices of energy and bandwidth")
    : { energy, bandwidth }
}

const readBroadcast =
  (quote: Quote, id: string) =>
  ({
    code = "",
    message,
    result = false,
    txid
  }: typeof BroadcastResponse.Type): Broadcast | TronRequest.InvalidResponse => {
    if (txid !== undefined && txid !== "" && txid.toLowerCase() !== id)
      return new TronRequest.InvalidResponse("another transaction")
    if (result) return { code: "SUCCESS", message: "" }
    return code === "" || code === "SUCCESS"
      ? new TronRequest.InvalidResponse("neither a result nor a code")
      : { code: quote(code), message: quote(message ?? "") }
  }

/**
 * Makes the requests to one node; sends none yet.
 *
 * @throws Misconfigured if the URL is not one of HTTP.
 */
export const make = (options: TronHttp.Options): Effect.Effect<TronRpc, Misconfigured> =>
  Effect.map(TronHttp.make(options), makeRequests)

const makeRequests = (node: TronHttp.TronNode): TronRpc => {
  const { network, quote } = node
  const request = <S extends Schema.ConstraintDecoder<unknown>, A>(
    schema: S,
    read: (response: S["Type"]) => A | TronRequest.InvalidResponse
  ) => TronRequest.make(node, TronRequest.bySchema(schema), read)
  const resources = request(ResourceResponse, readResources)
  const delegation = request(DelegationResponse, ({ delegatedResource = [] }) =>
    delegatedResource.reduce((sum, one) => sum + one.frozen_balance_for_energy, 0n)
  )
  const lendable = request(LendableResponse, ({ max_size }) => max_size)
  const receivers = request(ReceiversResponse, ({ toAccounts = [] }) => toAccounts.map(TronAddress.fromTail))
  return {
    network,
    ...TronBlocks.make(node),
    account: (address) =>
      request(AccountResponse, readAccount(address))("wallet/getaccount", { address, visible: false }),
    resources: (address) => resources("wallet/getaccountresource", { address, visible: false }),
    isKnown: (id) =>
      request(TransactionResponse, ({ txID }) =>
        txID === undefined || txID === id ? txID !== undefined : new TronRequest.InvalidResponse("another transaction")
      )("wallet/gettransactionbyid", { value: id }),
    isIncluded: (id) =>
      request(InfoIdResponse, ({ id: found }) =>
        found === undefined || found === id
          ? found !== undefined
          : new TronRequest.InvalidResponse("another transaction")
      )("wallet/gettransactioninfobyid", { value: id }),
    receipt: (id, where) =>
      request(InfoResponse, readReceipt(quote, id))(
        `${where === "solidified" ? "walletsolidity" : "wallet"}/gettransactioninfobyid`,
        { value: id }
      ),
    call: (owner, contract, data) =>
      request(CallResponse, readCall(quote))("wallet/triggerconstantcontract", {
        owner_address: owner,
        contract_address: contract,
        data,
        visible: false
      }),
    prices: request(ParametersResponse, readPrices)("wallet/getchainparameters", {}),
    broadcast: (id, transaction) =>
      request(BroadcastResponse, readBroadcast(quote, id))("wallet/broadcasthex", { transaction }),
    lendable: (from) => lendable("wallet/getcandelegatedmaxsize", { owner_address: from, type: 1, visible: false }),
    delegated: (from, to) =>
      delegation("wallet/getdelegatedresourcev2", { fromAddress: from, toAddress: to, visible: false }),
    receivers: (from) => receivers("wallet/getdelegatedresourceaccountindexv2", { value: from, visible: false })
  }
}
