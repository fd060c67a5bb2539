/**
 * The requests of this package to an EVM node, with decoded results: an improper response is `ChainUnavailable`, never a
 * value. Nothing is retried, and nothing is cached but the number of blocks that a node accepts in one request for events;
 * amounts are exact `bigint`s.
 */
import { ChainUnavailable, type Misconfigured } from "@pontage/core"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaTransformation from "effect/SchemaTransformation"

import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import * as EvmJsonRpc from "./EvmJsonRpc.ts"
import * as EvmLogRange from "./EvmLogRange.ts"
import * as EvmNodeError from "./EvmNodeError.ts"
import type { CallOutcome, GasOutcome, SendOutcome } from "./EvmNodeError.ts"

/** The state to read: that of a block by its number, by its hash or by its distance from the head. */
export type BlockTag = "latest" | "pending" | "safe" | "finalized" | bigint | BlockByHash

/**
 * A block by its hash, as long as it is part of the chain (EIP-1898): a node that lacks it, or follows another branch,
 * returns an error.
 */
export interface BlockByHash {
  readonly hash: EvmHex.Hex
}

const Block = Schema.Struct({
  number: EvmHex.Quantity,
  hash: EvmHex.Bytes32,
  /** Seconds since 1970. */
  timestamp: EvmHex.Quantity,
  /** Wei; absent on chains without EIP-1559. */
  baseFeePerGas: Schema.optionalKey(EvmHex.Quantity)
})

/** The fields in use of a block: its number, hash, time in seconds since 1970, and base fee in wei (EIP-1559). */
export type Block = typeof Block.Type

/** A pending block has neither number nor hash on some nodes. */
const PendingBlock = Schema.Struct({ timestamp: EvmHex.Quantity })

const Event = Schema.Struct({
  address: EvmAddress.FromNode,
  topics: Schema.Array(EvmHex.Bytes32),
  data: EvmHex.Hex
})

/** A contract's event. */
export type Event = typeof Event.Type

const Log = Schema.Struct({
  ...Event.fields,
  blockNumber: EvmHex.Quantity,
  blockHash: EvmHex.Bytes32,
  transactionHash: EvmHex.Bytes32,
  logIndex: EvmHex.Count
})

/** An event of an included transaction. `logIndex` counts the events of the block. */
export type Log = typeof Log.Type

const Status = Schema.Literals(["0x0", "0x1"]).pipe(
  Schema.decodeTo(
    Schema.Literals(["reverted", "success"]),
    SchemaTransformation.transform({
      decode: (status) => (status === "0x1" ? "success" : "reverted"),
      encode: (status) => (status === "success" ? "0x1" : "0x0")
    })
  )
)

const Receipt = Schema.Struct({
  transactionHash: EvmHex.Bytes32,
  /** The account that sent it; some nodes may leave it out. */
  from: Schema.optionalKey(EvmAddress.FromNode),
  status: Status,
  blockNumber: EvmHex.Quantity,
  blockHash: EvmHex.Bytes32,
  gasUsed: EvmHex.Quantity,
  /** Wei; some nodes leave it out. */
  effectiveGasPrice: Schema.optionalKey(EvmHex.Quantity),
  /** Wei: a rollup's fee for its data on the chain below, beside the gas; absent elsewhere. */
  l1Fee: Schema.optionalKey(Schema.NullOr(EvmHex.Quantity)),
  /** Only the fields in use: the block is the receipt's own, and a batch has a hundred events. */
  logs: Schema.Array(Event)
})

/** The receipt of an included transaction. */
export type Receipt = typeof Receipt.Type

const Transaction = Schema.Struct({
  hash: EvmHex.Bytes32,
  /** `null` for a transaction that deploys a contract. */
  to: Schema.NullOr(EvmAddress.FromNode),
  input: EvmHex.Hex
})

/** The call of a transaction. */
export type Transaction = typeof Transaction.Type

/** Some nodes return a receipt without a block while a transaction is pending. */
const PendingReceipt = Schema.Struct({ transactionHash: EvmHex.Bytes32, blockHash: Schema.Null })

/**
 * A call without a transaction. `gas` bounds the node's time that a hostile contract may use: set it. Without `to` the data
 * runs as init code, and the result is the bytes that it returns.
 */
export interface Call {
  readonly from?: EvmAddress.Address
  readonly to?: EvmAddress.Address
  readonly data: EvmHex.Hex
  readonly gas?: bigint
  /** Coin that the call brings, in wei; `from` must own it. */
  readonly value?: bigint
  /** Wei offered per unit of gas; without it the call costs nothing. `from` must own the most that it may cost. */
  readonly fees?: { readonly maximum: bigint; readonly priority: bigint }
}

/**
 * The block that a call is simulated in: its number, and its time in seconds since 1970. Not all nodes support it.
 */
export interface SimulatedBlock {
  readonly number: bigint
  readonly time: bigint
}

/** An account, and the code that it has in a simulation. */
export interface AccountWithCode {
  readonly address: EvmAddress.Address
  readonly code: EvmHex.Hex
}

/** The outcome of a simulated transaction, with its events; `data` is what it returned, or reverted with. */
export interface SimulatedCall {
  readonly isSuccess: boolean
  readonly data: EvmHex.Hex
  readonly logs: ReadonlyArray<Event>
}

/** The accounts whose code or storage a call reads or writes; `undefined` where the call fails. */
export type Touched = ReadonlyArray<EvmAddress.Address> | undefined

/**
 * The events to find. A list as an address or a topic matches any of its members; a topic of `null` matches anything.
 */
export interface LogFilter {
  readonly address?: EvmAddress.Address | ReadonlyArray<EvmAddress.Address>
  readonly topics?: ReadonlyArray<EvmHex.Hex | ReadonlyArray<EvmHex.Hex> | null>
}

/**
 * The blocks to search for events: from one to another, both included, or one by its hash (EIP-234); a node that lacks that
 * block returns an error.
 */
export type LogPlace = { readonly fromBlock: bigint; readonly toBlock: bigint } | BlockByHash

/** The requests. Each has a timeout; a timeout and an improper response are `ChainUnavailable`. */
export interface Shape {
  readonly network: string
  /** The EIP-155 chain id. */
  readonly chainId: Effect.Effect<number, ChainUnavailable>
  readonly blockNumber: Effect.Effect<bigint, ChainUnavailable>
  /** `undefined` for an unknown block. */
  readonly getBlock: (
    block: Exclude<BlockTag, "pending" | BlockByHash>
  ) => Effect.Effect<Block | undefined, ChainUnavailable>
  /** The time of the next block, in seconds since 1970; `undefined` where the node does not support it. */
  readonly pendingTime: Effect.Effect<bigint | undefined, ChainUnavailable>
  /** `eth_call`; by default on the state of the latest block, and in that block. */
  readonly call: (
    call: Call,
    block?: BlockTag,
    simulated?: SimulatedBlock
  ) => Effect.Effect<CallOutcome, ChainUnavailable>
  /**
   * `eth_simulateV1`: the calls as transactions, one after the other, on the state of a block, by default in the next one. The
   * outcomes are as many as the calls. Not all nodes have it. `account` has other code in the simulation.
   */
  readonly simulate: (
    calls: ReadonlyArray<Call>,
    block?: BlockTag,
    simulated?: SimulatedBlock,
    account?: AccountWithCode
  ) => Effect.Effect<ReadonlyArray<SimulatedCall>, ChainUnavailable>
  /** `eth_estimateGas`: the least gas with which the call succeeds as a transaction; by default on the state of the latest block. */
  readonly estimateGas: (call: Call, block?: BlockTag) => Effect.Effect<GasOutcome, ChainUnavailable>
  /** `eth_createAccessList`; without the caller and the precompiled contracts. */
  readonly touched: (call: Call, block?: BlockTag) => Effect.Effect<Touched, ChainUnavailable>
  /** `0x` for an account without code; by default at the latest block. */
  readonly getCode: (address: EvmAddress.Address, block?: BlockTag) => Effect.Effect<EvmHex.Hex, ChainUnavailable>
  /** The account's coin in wei; by default at the latest block. */
  readonly getBalance: (address: EvmAddress.Address, block?: BlockTag) => Effect.Effect<bigint, ChainUnavailable>
  /** The nonce of the account's next transaction; `pending` counts those in the pool. */
  readonly getTransactionCount: (
    address: EvmAddress.Address,
    block: BlockTag
  ) => Effect.Effect<number, ChainUnavailable>
  /** Sends signed bytes. Sending the same bytes twice is harmless. */
  readonly sendRawTransaction: (transaction: EvmHex.Hex) => Effect.Effect<SendOutcome, ChainUnavailable>
  /** `undefined` for an unknown transaction. */
  readonly getTransaction: (hash: EvmHex.Hex) => Effect.Effect<Transaction | undefined, ChainUnavailable>
  /** `undefined` while the transaction is not included. */
  readonly getTransactionReceipt: (hash: EvmHex.Hex) => Effect.Effect<Receipt | undefined, ChainUnavailable>
  /** Oldest first. A range that is too wide for the node is read in parts (`EvmLogRange`). */
  readonly getLogs: (filter: LogFilter, place: LogPlace) => Effect.Effect<ReadonlyArray<Log>, ChainUnavailable>
  /** The tip that the node proposes, in wei per unit of gas. */
  readonly maxPriorityFeePerGas: Effect.Effect<bigint, ChainUnavailable>
}

/** A node of one network. */
export class EvmRpc extends Context.Service<EvmRpc, Shape>()("@pontage/evm/EvmRpc") {}

const toTag = (block: BlockTag) => {
  if (typeof block === "bigint") return EvmHex.toQuantity(block)
  return typeof block === "string" ? block : { blockHash: block.hash, requireCanonical: true }
}

const fail = (network: string, what: string): Effect.Effect<never, ChainUnavailable> =>
  Effect.fail(new ChainUnavailable({ network, message: `The node of ${network} ${what}` }))

/** The failure of a read that needs a block which the node lacks: the node lags, or has dropped it. */
export const unknownBlock = (
  { network }: Pick<Shape, "network">,
  number: bigint
): Effect.Effect<never, ChainUnavailable> => fail(network, `does not know block ${number}`)

/** Sends a request and decodes its result. An error without a known meaning is `ChainUnavailable`. */
const makeRequest =
  ({ network, quote, send }: EvmJsonRpc.EvmNode) =>
  <S extends Schema.ConstraintDecoder<unknown>, A>(
    schema: S,
    onResult: (value: S["Type"]) => A,
    onError?: (error: EvmJsonRpc.RpcError) => A | undefined
  ) => {
    const decode = Schema.decodeUnknownResult(schema)
    return (method: string, params: ReadonlyArray<unknown>): Effect.Effect<A, ChainUnavailable> =>
      Effect.flatMap(send(method, params), (response): Effect.Effect<A, ChainUnavailable> => {
        if (Result.isSuccess(response)) {
          const decoded = decode(response.success)
          if (Result.isSuccess(decoded)) return Effect.succeed(onResult(decoded.success))
          return fail(network, `responded to ${method} with something else: ${quote(decoded.failure.message)}`)
        }
        const meaning = onError?.(response.failure)
        if (meaning !== undefined) return Effect.succeed(meaning)
        return fail(network, `refused ${method}: ${response.failure.message} (${response.failure.code})`)
      })
  }

const same = <A>(value: A): A => value
const present = <A>(value: A | null): A | undefined => value ?? undefined
const returned = (data: EvmHex.Hex): CallOutcome => ({ _tag: "Returned", data })
const foundLogs = (logs: ReadonlyArray<Log>): EvmLogRange.RangeResponse<Log> => ({ _tag: "Found", logs })
const failedTouch = (error: EvmJsonRpc.RpcError): { readonly touched: Touched } | undefined =>
  EvmNodeError.toCallOutcome(error) && { touched: undefined }

const AccessList = Schema.Struct({
  accessList: Schema.Array(Schema.Struct({ address: EvmAddress.FromNode })),
  error: Schema.optionalKey(Schema.NullOr(Schema.String))
})

const toTouched = ({ accessList, error }: typeof AccessList.Type): { readonly touched: Touched } => ({
  touched: error === undefined || error === null || error === "" ? accessList.map(({ address }) => address) : undefined
})

const toParameter = ({ fees, gas, value, ...rest }: Call) => ({
  ...rest,
  ...(gas !== undefined && { gas: EvmHex.toQuantity(gas) }),
  ...(value !== undefined && { value: EvmHex.toQuantity(value) }),
  ...(fees && {
    maxFeePerGas: EvmHex.toQuantity(fees.maximum),
    maxPriorityFeePerGas: EvmHex.toQuantity(fees.priority)
  })
})

const SimulatedBlocks = Schema.Tuple([
  Schema.Struct({
    calls: Schema.Array(Schema.Struct({ status: Status, returnData: EvmHex.Hex, logs: Schema.Array(Event) }))
  })
])

const toSimulated = ([{ calls }]: typeof SimulatedBlocks.Type): ReadonlyArray<SimulatedCall> =>
  calls.map(({ logs, returnData, status }) => ({ isSuccess: status === "success", data: returnData, logs }))

const toBlockCalls = (
  calls: ReadonlyArray<Call>,
  simulated: SimulatedBlock | undefined,
  account: AccountWithCode | undefined
) => ({
  calls: calls.map(toParameter),
  ...(account && { stateOverrides: { [account.address]: { code: account.code } } }),
  ...(simulated && {
    blockOverrides: { number: EvmHex.toQuantity(simulated.number), time: EvmHex.toQuantity(simulated.time) }
  })
})

const toOverrides = (simulated: SimulatedBlock | undefined) =>
  simulated === undefined
    ? []
    : [{}, { number: EvmHex.toQuantity(simulated.number), time: EvmHex.toQuantity(simulated.time) }]

const estimated = (gas: bigint): GasOutcome => ({ _tag: "Estimated", gas })

const accepted = (hash: EvmHex.Hex): SendOutcome => ({ _tag: "Accepted", hash })

const makeShape = (node: EvmJsonRpc.EvmNode): Shape => {
  const { network } = node
  const request = makeRequest(node)
  const quantity = request(EvmHex.Quantity, same)
  const count = request(EvmHex.Count, same)
  const bytes = request(EvmHex.Hex, same)
  const block = request(Schema.NullOr(Block), present)
  const pendingTime = request(Schema.NullOr(PendingBlock), (found) => found?.timestamp)
  const call = request(EvmHex.Hex, returned, EvmNodeError.toCallOutcome)
  const gas = request(EvmHex.Quantity, estimated, EvmNodeError.toCallOutcome)
  const simulation = request(SimulatedBlocks, toSimulated)
  const accessList = request(AccessList, toTouched, failedTouch)
  const sending = request(EvmHex.Bytes32, accepted, EvmNodeError.toSendOutcome)
  const receipt = request(Schema.NullOr(Schema.Union([Receipt, PendingReceipt])), (value) =>
    value === null || value.blockHash === null ? undefined : value
  )
  const transaction = request(Schema.NullOr(Transaction), present)
  const logs = request(Schema.Array(Log), same)
  const range = request(Schema.Array(Log), foundLogs, EvmNodeError.toTooWide)
  const inRange = EvmLogRange.make(network, (filter: LogFilter, from, to) =>
    range("eth_getLogs", [{ ...filter, fromBlock: toTag(from), toBlock: toTag(to) }])
  )
  return {
    network,
    chainId: count("eth_chainId", []),
    blockNumber: quantity("eth_blockNumber", []),
    pendingTime: pendingTime("eth_getBlockByNumber", ["pending", false]),
    getBlock: (tag) => block("eth_getBlockByNumber", [toTag(tag), false]),
    call: (given, tag = "latest", simulated) =>
      call("eth_call", [toParameter(given), toTag(tag), ...toOverrides(simulated)]),
    simulate: (given, tag = "latest", simulated, account) =>
      Effect.flatMap(
        simulation("eth_simulateV1", [
          { blockStateCalls: [toBlockCalls(given, simulated, account)], validation: false },
          toTag(tag)
        ]),
        (outcomes) =>
          outcomes.length === given.length
            ? Effect.succeed(outcomes)
            : fail(network, "simulated another number of calls")
      ),
    estimateGas: (given, tag = "latest") => gas("eth_estimateGas", [toParameter(given), toTag(tag)]),
    touched: (given, tag = "latest") =>
      Effect.map(accessList("eth_createAccessList", [toParameter(given), toTag(tag)]), ({ touched }) => touched),
    getCode: (address, tag = "latest") => bytes("eth_getCode", [address, toTag(tag)]),
    getBalance: (address, tag = "latest") => quantity("eth_getBalance", [address, toTag(tag)]),
    getTransactionCount: (address, tag) => count("eth_getTransactionCount", [address, toTag(tag)]),
    sendRawTransaction: (transaction) => sending("eth_sendRawTransaction", [transaction]),
    getTransaction: (hash) =>
      Effect.flatMap(transaction("eth_getTransactionByHash", [hash]), (found) =>
        found === undefined || found.hash === hash.toLowerCase()
          ? Effect.succeed(found)
          : fail(network, "responded with another transaction")
      ),
    getTransactionReceipt: (hash) =>
      Effect.flatMap(receipt("eth_getTransactionReceipt", [hash]), (found) =>
        found === undefined || found.transactionHash === hash.toLowerCase()
          ? Effect.succeed(found)
          : fail(network, "responded with the receipt of another transaction")
      ),
    getLogs: (filter, place) =>
      "hash" in place
        ? logs("eth_getLogs", [{ ...filter, blockHash: place.hash }])
        : inRange(filter)(place.fromBlock, place.toBlock),
    maxPriorityFeePerGas: quantity("eth_maxPriorityFeePerGas", [])
  }
}

/**
 * Makes a client of one node. It sends nothing yet.
 *
 * @throws Misconfigured when the URL is not an HTTP one.
 */
export const make = (options: EvmJsonRpc.Options): Effect.Effect<Shape, Misconfigured> =>
  Effect.map(EvmJsonRpc.make(options), makeShape)

/** {@link make} as a layer. */
export const layer = (options: EvmJsonRpc.Options): Layer.Layer<EvmRpc, Misconfigured> =>
  Layer.effect(EvmRpc, make(options))
