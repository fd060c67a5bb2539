/**
 * The few questions this package asks a TRON full node, each with its answer decoded: what is not a proper answer is
 * `ChainUnavailable`, never a value. Nodes leave out what is 0, so every number has 0 as its default; amounts are exact
 * `bigint`s. Nothing is retried and nothing is remembered here.
 */
import type { ChainUnavailable, Misconfigured } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import * as TronAddress from "../primitives/TronAddress.ts"
import * as TronHex from "../primitives/TronHex.ts"
import * as TronBlocks from "./TronBlocks.ts"
import * as TronHttp from "./TronHttp.ts"
import * as TronRequest from "./TronRequest.ts"

const AccountAnswer = Schema.Struct({
  address: Schema.optionalKey(TronHex.FromNode),
  balance: TronRequest.OrZero,
  owner_permission: Schema.optionalKey(
    Schema.Struct({
      threshold: TronRequest.OrZero,
      keys: Schema.optionalKey(Schema.Array(Schema.Struct({ address: TronHex.FromNode, weight: TronRequest.OrZero })))
    })
  )
})

/** An account that is activated. */
export interface Account {
  /** In sun. */
  readonly balance: bigint
  /** Whether the account's own key alone may sign for its owner. */
  readonly ownsItself: boolean
}

const ResourceAnswer = Schema.Struct({
  freeNetLimit: TronRequest.OrZero,
  freeNetUsed: TronRequest.OrZero,
  NetLimit: TronRequest.OrZero,
  NetUsed: TronRequest.OrZero,
  EnergyLimit: TronRequest.OrZero,
  EnergyUsed: TronRequest.OrZero,
  TotalEnergyLimit: TronRequest.OrZero,
  TotalEnergyWeight: TronRequest.OrZero
})

/** What an account may use without burning TRX, and the sums from which the price of a stake follows. */
export interface Resources {
  readonly energy: bigint
  /** Energy that the account's transactions have used and that has not come back yet: it does within 24 hours. */
  readonly energyUsed: bigint
  /** Bytes of the free quota of a day; they are never added to the staked ones. */
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

const Words = Schema.optionalKey(Schema.String)

const CallAnswer = Schema.Struct({
  result: Schema.Struct({ result: Schema.optionalKey(Schema.Boolean), code: Words, message: Words }),
  energy_used: TronRequest.OrZero,
  constant_result: Schema.optionalKey(Schema.Array(TronHex.FromNode)),
  logs: Schema.optionalKey(Schema.Array(Log)),
  transaction: Schema.optionalKey(
    Schema.Struct({ ret: Schema.optionalKey(Schema.Array(Schema.Struct({ ret: Words }))) })
  )
})

/** What became of a call that was only tried: it returned, it failed in the contract, or there is no contract. */
export type CallOutcome =
  | { readonly _tag: "Returned"; readonly data: string; readonly energy: bigint; readonly logs: ReadonlyArray<Log> }
  | { readonly _tag: "Failed"; readonly message: string }
  | { readonly _tag: "NoContract"; readonly message: string }

const InfoIdAnswer = Schema.Struct({ id: Schema.optionalKey(TronHex.Bytes32) })

const InfoAnswer = Schema.Struct({
  id: Schema.optionalKey(TronHex.Bytes32),
  blockNumber: TronRequest.OrZero,
  receipt: Schema.optionalKey(Schema.Struct({ result: Words })),
  log: Schema.optionalKey(Schema.Array(Log)),
  resMessage: Words
})

/** How a call ended that is in a block: `SUCCESS`, or the chain's word for why not. */
export interface Receipt {
  readonly block: bigint
  readonly result: string
  readonly logs: ReadonlyArray<Log>
  readonly message: string
}

/** The ends of a contract's call as the chain counts them (`contractResult`), without the one that says nothing. */
const endings = new Set([
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

const BroadcastAnswer = Schema.Struct({
  result: Schema.optionalKey(Schema.Boolean),
  code: Words,
  message: Words,
  txid: Words
})

/** A node's word on bytes that it was sent. */
export interface Broadcast {
  /** `SUCCESS`, or the node's code for why not. */
  readonly code: string
  readonly message: string
}

const ParametersAnswer = Schema.Struct({
  chainParameter: Schema.Array(Schema.Struct({ key: Schema.String, value: Schema.optionalKey(Schema.Unknown) }))
})

/** What the chain charges, in sun. */
export interface Prices {
  /** For a unit of energy. */
  readonly energy: bigint
  /** For a byte of a transaction. */
  readonly bandwidth: bigint
}

const TransactionAnswer = Schema.Struct({ txID: Schema.optionalKey(TronHex.Bytes32) })

const DelegationAnswer = Schema.Struct({
  delegatedResource: Schema.optionalKey(Schema.Array(Schema.Struct({ frozen_balance_for_energy: TronRequest.OrZero })))
})

const LendableAnswer = Schema.Struct({ max_size: TronRequest.OrZero })

const ReceiversAnswer = Schema.Struct({ toAccounts: Schema.optionalKey(Schema.Array(TronHex.FromNode)) })

/** The questions. All times out and all nonsense is `ChainUnavailable`. */
export interface TronRpc extends TronBlocks.TronBlocks {
  readonly network: string
  /** `undefined` while the account is not activated. */
  readonly account: (address: TronAddress.Address) => Effect.Effect<Account | undefined, ChainUnavailable>
  readonly resources: (address: TronAddress.Address) => Effect.Effect<Resources, ChainUnavailable>
  /** Whether the node has a transaction, in a block or waiting for one. */
  readonly isKnown: (id: string) => Effect.Effect<boolean, ChainUnavailable>
  /** Whether a transaction of any kind is in a block. */
  readonly isIncluded: (id: string) => Effect.Effect<boolean, ChainUnavailable>
  /** How a contract's call ended; `undefined` while it is in no block, or in none that is solidified. */
  readonly receipt: (
    id: string,
    where: "included" | "solidified"
  ) => Effect.Effect<Receipt | undefined, ChainUnavailable>
  /** Tries a call without sending it. */
  readonly call: (
    owner: TronAddress.Address,
    contract: TronAddress.Address,
    data: string
  ) => Effect.Effect<CallOutcome, ChainUnavailable>
  readonly prices: Effect.Effect<Prices, ChainUnavailable>
  /** Sends signed bytes as they are. Sending the same bytes twice is harmless. */
  readonly broadcast: (id: string, signedHex: string) => Effect.Effect<Broadcast, ChainUnavailable>
  /** How much stake for energy an account could lend now, in sun. */
  readonly lendable: (from: TronAddress.Address) => Effect.Effect<bigint, ChainUnavailable>
  /** How much stake for energy one account has lent another, in sun. */
  readonly delegated: (from: TronAddress.Address, to: TronAddress.Address) => Effect.Effect<bigint, ChainUnavailable>
  /** To whom an account has lent anything. */
  readonly receivers: (from: TronAddress.Address) => Effect.Effect<ReadonlyArray<TronAddress.Address>, ChainUnavailable>
}

const readLog = ({ address, data = "", topics = [] }: typeof Log.Type): Log => ({
  address: TronAddress.fromTail(address),
  topics,
  data
})

/** Nodes write their words in hexadecimal here. */
const wordsOf = (text: string | undefined): string => {
  const words = text ?? ""
  return TronHex.isHex(words.toLowerCase()) && words !== ""
    ? new TextDecoder().decode(TronHex.toBytes(words.toLowerCase()))
    : words
}

/** The chain's words for a contract that is not there; any other refusal is the node's own trouble. */
const noContract = /contract is not exist|No contract or not a (?:valid )?smart contract/i

type Quote = TronHttp.TronNode["quote"]

const readCall =
  (quote: Quote) =>
  (answer: typeof CallAnswer.Type): CallOutcome | TronRequest.Nonsense => {
    const { constant_result: returned = [], energy_used: energy, logs = [], result, transaction } = answer
    if (result.result !== true) {
      const message = `${result.code ?? ""} ${wordsOf(result.message)}`
      return noContract.test(message)
        ? { _tag: "NoContract", message: quote(message) }
        : new TronRequest.Nonsense(message)
    }
    const ends = transaction?.ret ?? []
    return ends.some(({ ret }) => ret !== undefined && ret !== "SUCESS" && ret !== "SUCCESS")
      ? { _tag: "Failed", message: quote(wordsOf(result.message)) }
      : { _tag: "Returned", data: returned.join(""), energy, logs: logs.map(readLog) }
  }

const readReceipt =
  (quote: Quote, id: string) =>
  ({ id: answered, blockNumber, log = [], receipt, resMessage }: typeof InfoAnswer.Type) => {
    if (answered === undefined) return undefined
    if (answered !== id) return new TronRequest.Nonsense("the receipt of another transaction")
    const result = receipt?.result ?? ""
    if (!endings.has(result)) return new TronRequest.Nonsense(`a receipt with the result "${result.slice(0, 40)}"`)
    return { block: blockNumber, result, logs: log.map(readLog), message: quote(wordsOf(resMessage)) }
  }

const readAccount =
  (asked: TronAddress.Address) =>
  ({
    address,
    balance,
    owner_permission: permission
  }: typeof AccountAnswer.Type): Account | undefined | TronRequest.Nonsense => {
    if (address === undefined) return undefined
    if (address !== asked) return new TronRequest.Nonsense("another account")
    const weight = permission?.keys?.find((key) => key.address === asked)?.weight ?? 0n
    return { balance, ownsItself: permission === undefined || permission.threshold <= weight }
  }

const left = (limit: bigint, used: bigint): bigint => (limit > used ? limit - used : 0n)

const readResources = (answer: typeof ResourceAnswer.Type): Resources => ({
  energy: left(answer.EnergyLimit, answer.EnergyUsed),
  energyUsed: answer.EnergyUsed,
  freeBandwidth: left(answer.freeNetLimit, answer.freeNetUsed),
  stakedBandwidth: left(answer.NetLimit, answer.NetUsed),
  totalEnergyLimit: answer.TotalEnergyLimit,
  totalEnergyWeight: answer.TotalEnergyWeight
})

const readPrices = ({ chainParameter }: typeof ParametersAnswer.Type): Prices | TronRequest.Nonsense => {
  const of = (name: string) => {
    const value = chainParameter.find(({ key }) => key === name)?.value
    return typeof value === "number" && Number.isInteger(value) && value > 0 ? BigInt(value) : undefined
  }
  const energy = of("getEnergyFee")
  const bandwidth = of("getTransactionFee")
  return energy === undefined || bandwidth === undefined
    ? new TronRequest.Nonsense("parameters without the prices of energy and bandwidth")
    : { energy, bandwidth }
}

const readBroadcast =
  (quote: Quote, id: string) =>
  ({ code = "", message, result = false, txid }: typeof BroadcastAnswer.Type): Broadcast | TronRequest.Nonsense => {
    if (txid !== undefined && txid !== "" && txid.toLowerCase() !== id)
      return new TronRequest.Nonsense("another transaction")
    if (result) return { code: "SUCCESS", message: "" }
    return code === "" || code === "SUCCESS"
      ? new TronRequest.Nonsense("neither a result nor a code")
      : { code: quote(code), message: quote(message ?? "") }
  }

/**
 * Makes the questions to one node. Nothing is asked yet.
 *
 * @throws Misconfigured when the URL is not one of HTTP.
 */
export const make = (options: TronHttp.Options): Effect.Effect<TronRpc, Misconfigured> =>
  Effect.map(TronHttp.make(options), makeQuestions)

const makeQuestions = (node: TronHttp.TronNode): TronRpc => {
  const { network, quote } = node
  const ask = <S extends Schema.ConstraintDecoder<unknown>, A>(
    schema: S,
    read: (answer: S["Type"]) => A | TronRequest.Nonsense
  ) => TronRequest.make(node, schema, read)
  const resources = ask(ResourceAnswer, readResources)
  const delegation = ask(DelegationAnswer, ({ delegatedResource = [] }) =>
    delegatedResource.reduce((sum, one) => sum + one.frozen_balance_for_energy, 0n)
  )
  const lendable = ask(LendableAnswer, ({ max_size }) => max_size)
  const receivers = ask(ReceiversAnswer, ({ toAccounts = [] }) => toAccounts.map(TronAddress.fromTail))
  return {
    network,
    ...TronBlocks.make(node),
    account: (address) => ask(AccountAnswer, readAccount(address))("wallet/getaccount", { address, visible: false }),
    resources: (address) => resources("wallet/getaccountresource", { address, visible: false }),
    isKnown: (id) =>
      ask(TransactionAnswer, ({ txID }) =>
        txID === undefined || txID === id ? txID !== undefined : new TronRequest.Nonsense("another transaction")
      )("wallet/gettransactionbyid", { value: id }),
    isIncluded: (id) =>
      ask(InfoIdAnswer, ({ id: found }) =>
        found === undefined || found === id ? found !== undefined : new TronRequest.Nonsense("another transaction")
      )("wallet/gettransactioninfobyid", { value: id }),
    receipt: (id, where) =>
      ask(InfoAnswer, readReceipt(quote, id))(
        `${where === "solidified" ? "walletsolidity" : "wallet"}/gettransactioninfobyid`,
        { value: id }
      ),
    call: (owner, contract, data) =>
      ask(CallAnswer, readCall(quote))("wallet/triggerconstantcontract", {
        owner_address: owner,
        contract_address: contract,
        data,
        visible: false
      }),
    prices: ask(ParametersAnswer, readPrices)("wallet/getchainparameters", {}),
    broadcast: (id, transaction) =>
      ask(BroadcastAnswer, readBroadcast(quote, id))("wallet/broadcasthex", { transaction }),
    lendable: (from) => lendable("wallet/getcandelegatedmaxsize", { owner_address: from, type: 1, visible: false }),
    delegated: (from, to) =>
      delegation("wallet/getdelegatedresourcev2", { fromAddress: from, toAddress: to, visible: false }),
    receivers: (from) => receivers("wallet/getdelegatedresourceaccountindexv2", { value: from, visible: false })
  }
}
