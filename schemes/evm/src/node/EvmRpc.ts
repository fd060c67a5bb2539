/**
 * The few questions this package asks an EVM node, each with its answer decoded: what is not a proper answer is
 * `ChainUnavailable`, never a value. Nothing is retried, and nothing is remembered but how many blocks a
 * node takes in one question for events; amounts are exact `bigint`s.
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
import type { CallOutcome, SendOutcome } from "./EvmNodeError.ts"

/** Which state is asked about: a block by its number, by its hash or by its distance from the head. */
export type BlockTag = "latest" | "pending" | "safe" | "finalized" | bigint | BlockByHash

/**
 * A block by its hash, as long as it is a part of the chain (EIP-1898): a node that does not have it, or follows another
 * branch, cannot answer.
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

/** What is read of a block: its number, hash, time in seconds since 1970, and base fee in wei (EIP-1559). */
export type Block = typeof Block.Type

/** A block that is not made yet has neither number nor hash on some nodes. */
const PendingBlock = Schema.Struct({ timestamp: EvmHex.Quantity })

const Event = Schema.Struct({
  address: EvmAddress.FromNode,
  topics: Schema.Array(EvmHex.Bytes32),
  data: EvmHex.Hex
})

/** An event as a contract has logged it. */
export type Event = typeof Event.Type

const Log = Schema.Struct({
  ...Event.fields,
  blockNumber: EvmHex.Quantity,
  blockHash: EvmHex.Bytes32,
  transactionHash: EvmHex.Bytes32,
  logIndex: EvmHex.Count
})

/** An event of a transaction that is in a block. `logIndex` counts the events of the block. */
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
  status: Status,
  blockNumber: EvmHex.Quantity,
  blockHash: EvmHex.Bytes32,
  gasUsed: EvmHex.Quantity,
  /** Wei; absent where a node does not tell. */
  effectiveGasPrice: Schema.optionalKey(EvmHex.Quantity),
  /** Wei, what a rollup takes beside the gas for its data on the chain below; absent elsewhere. */
  l1Fee: Schema.optionalKey(Schema.NullOr(EvmHex.Quantity)),
  /** Of each no more than is needed: where it lies is the receipt's own place, and a batch has a hundred of them. */
  logs: Schema.Array(Event)
})

/** The receipt of a transaction that is in a block. */
export type Receipt = typeof Receipt.Type

/** Some nodes answer a receipt without a block while a transaction is pending. */
const PendingReceipt = Schema.Struct({ transactionHash: EvmHex.Bytes32, blockHash: Schema.Null })

/**
 * A call without a transaction. `gas` bounds what a hostile contract may burn of the node's time: set it. Without `to` the
 * data is run as init code, and what it returns is answered.
 */
export interface Call {
  readonly from?: EvmAddress.Address
  readonly to?: EvmAddress.Address
  readonly data: EvmHex.Hex
  readonly gas?: bigint
  /** What it offers for a unit of gas, in wei; without it the call costs nothing. `from` must own as much as it may cost. */
  readonly fees?: { readonly maximum: bigint; readonly priority: bigint }
}

/**
 * The block that a call pretends to be in: its number, and its time in seconds since 1970. Not all nodes can do that.
 */
export interface PretendedBlock {
  readonly number: bigint
  readonly time: bigint
}

/** The accounts whose code or storage a call touches; `undefined` where the call fails. */
export type Touched = ReadonlyArray<EvmAddress.Address> | undefined

/**
 * Which events to look for. An address that is a list is any of these; so is a topic, and one that is `null` may be
 * anything.
 */
export interface LogFilter {
  readonly address?: EvmAddress.Address | ReadonlyArray<EvmAddress.Address>
  readonly topics?: ReadonlyArray<EvmHex.Hex | ReadonlyArray<EvmHex.Hex> | null>
}

/**
 * The blocks that events are looked for in: from one to another, both included, or one by its hash (EIP-234), which a node
 * that does not have it cannot answer about.
 */
export type LogPlace = { readonly fromBlock: bigint; readonly toBlock: bigint } | BlockByHash

/** The questions. All times out and all nonsense is `ChainUnavailable`. */
export interface Shape {
  readonly network: string
  /** The EIP-155 chain id. */
  readonly chainId: Effect.Effect<number, ChainUnavailable>
  readonly blockNumber: Effect.Effect<bigint, ChainUnavailable>
  /** `undefined` where there is no such block. */
  readonly getBlock: (
    block: Exclude<BlockTag, "pending" | BlockByHash>
  ) => Effect.Effect<Block | undefined, ChainUnavailable>
  /** The time of the block that would come next, in seconds since 1970; `undefined` where the node does not tell. */
  readonly pendingTime: Effect.Effect<bigint | undefined, ChainUnavailable>
  /** `eth_call`; default on the latest block's state, and in that block. */
  readonly call: (
    call: Call,
    block?: BlockTag,
    pretended?: PretendedBlock
  ) => Effect.Effect<CallOutcome, ChainUnavailable>
  /** `eth_createAccessList`; without the caller and the contracts that every chain has. */
  readonly touched: (call: Call, block?: BlockTag) => Effect.Effect<Touched, ChainUnavailable>
  /** `0x` where there is none; default at the latest block. */
  readonly getCode: (address: EvmAddress.Address, block?: BlockTag) => Effect.Effect<EvmHex.Hex, ChainUnavailable>
  /** The account's coin in wei; default at the latest block. */
  readonly getBalance: (address: EvmAddress.Address, block?: BlockTag) => Effect.Effect<bigint, ChainUnavailable>
  /** The nonce of the account's next transaction; `pending` counts those in the pool. */
  readonly getTransactionCount: (
    address: EvmAddress.Address,
    block: BlockTag
  ) => Effect.Effect<number, ChainUnavailable>
  /** Sends signed bytes. Sending the same bytes twice is harmless. */
  readonly sendRawTransaction: (transaction: EvmHex.Hex) => Effect.Effect<SendOutcome, ChainUnavailable>
  /** `undefined` while the transaction is in no block. */
  readonly getTransactionReceipt: (hash: EvmHex.Hex) => Effect.Effect<Receipt | undefined, ChainUnavailable>
  /** Oldest first. A range that is too wide for the node is asked for in parts (`EvmLogRange`). */
  readonly getLogs: (filter: LogFilter, place: LogPlace) => Effect.Effect<ReadonlyArray<Log>, ChainUnavailable>
  /** The tip a node proposes, in wei. */
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

/** Asks and decodes. A refusal that is given no meaning is the chain's unavailability. */
const makeAsk =
  ({ network, quote, send }: EvmJsonRpc.EvmNode) =>
  <S extends Schema.ConstraintDecoder<unknown>, A>(
    schema: S,
    answered: (value: S["Type"]) => A,
    refused?: (refusal: EvmJsonRpc.Refusal) => A | undefined
  ) => {
    const decode = Schema.decodeUnknownResult(schema)
    return (method: string, params: ReadonlyArray<unknown>): Effect.Effect<A, ChainUnavailable> =>
      Effect.flatMap(send(method, params), (answer): Effect.Effect<A, ChainUnavailable> => {
        if (Result.isSuccess(answer)) {
          const decoded = decode(answer.success)
          if (Result.isSuccess(decoded)) return Effect.succeed(answered(decoded.success))
          return fail(network, `answered ${method} with something else: ${quote(decoded.failure.message)}`)
        }
        const meaning = refused?.(answer.failure)
        if (meaning !== undefined) return Effect.succeed(meaning)
        return fail(network, `refused ${method}: ${answer.failure.message} (${answer.failure.code})`)
      })
  }

const same = <A>(value: A): A => value
const present = <A>(value: A | null): A | undefined => value ?? undefined
const returned = (data: EvmHex.Hex): CallOutcome => ({ _tag: "Returned", data })
const foundLogs = (logs: ReadonlyArray<Log>): EvmLogRange.RangeAnswer<Log> => ({ _tag: "Found", logs })
const failedTouch = (refusal: EvmJsonRpc.Refusal): { readonly touched: Touched } | undefined =>
  EvmNodeError.toCallOutcome(refusal) && { touched: undefined }

const AccessList = Schema.Struct({
  accessList: Schema.Array(Schema.Struct({ address: EvmAddress.FromNode })),
  error: Schema.optionalKey(Schema.NullOr(Schema.String))
})

const toTouched = ({ accessList, error }: typeof AccessList.Type): { readonly touched: Touched } => ({
  touched: error === undefined || error === null || error === "" ? accessList.map(({ address }) => address) : undefined
})

const toParameter = ({ fees, gas, ...rest }: Call) => ({
  ...rest,
  ...(gas !== undefined && { gas: EvmHex.toQuantity(gas) }),
  ...(fees && {
    maxFeePerGas: EvmHex.toQuantity(fees.maximum),
    maxPriorityFeePerGas: EvmHex.toQuantity(fees.priority)
  })
})

const toOverrides = (pretended: PretendedBlock | undefined) =>
  pretended === undefined
    ? []
    : [{}, { number: EvmHex.toQuantity(pretended.number), time: EvmHex.toQuantity(pretended.time) }]

const accepted = (hash: EvmHex.Hex): SendOutcome => ({ _tag: "Accepted", hash })

const makeShape = (node: EvmJsonRpc.EvmNode): Shape => {
  const { network } = node
  const ask = makeAsk(node)
  const quantity = ask(EvmHex.Quantity, same)
  const count = ask(EvmHex.Count, same)
  const bytes = ask(EvmHex.Hex, same)
  const block = ask(Schema.NullOr(Block), present)
  const pendingTime = ask(Schema.NullOr(PendingBlock), (found) => found?.timestamp)
  const call = ask(EvmHex.Hex, returned, EvmNodeError.toCallOutcome)
  const accessList = ask(AccessList, toTouched, failedTouch)
  const sending = ask(EvmHex.Bytes32, accepted, EvmNodeError.toSendOutcome)
  const receipt = ask(Schema.NullOr(Schema.Union([Receipt, PendingReceipt])), (value) =>
    value === null || value.blockHash === null ? undefined : value
  )
  const logs = ask(Schema.Array(Log), same)
  const range = ask(Schema.Array(Log), foundLogs, EvmNodeError.toWidthRefusal)
  const inRange = EvmLogRange.make(network, (filter: LogFilter, from, to) =>
    range("eth_getLogs", [{ ...filter, fromBlock: toTag(from), toBlock: toTag(to) }])
  )
  return {
    network,
    chainId: count("eth_chainId", []),
    blockNumber: quantity("eth_blockNumber", []),
    pendingTime: pendingTime("eth_getBlockByNumber", ["pending", false]),
    getBlock: (tag) => block("eth_getBlockByNumber", [toTag(tag), false]),
    call: (asked, tag = "latest", pretended) =>
      call("eth_call", [toParameter(asked), toTag(tag), ...toOverrides(pretended)]),
    touched: (asked, tag = "latest") =>
      Effect.map(accessList("eth_createAccessList", [toParameter(asked), toTag(tag)]), ({ touched }) => touched),
    getCode: (address, tag = "latest") => bytes("eth_getCode", [address, toTag(tag)]),
    getBalance: (address, tag = "latest") => quantity("eth_getBalance", [address, toTag(tag)]),
    getTransactionCount: (address, tag) => count("eth_getTransactionCount", [address, toTag(tag)]),
    sendRawTransaction: (transaction) => sending("eth_sendRawTransaction", [transaction]),
    getTransactionReceipt: (hash) =>
      Effect.flatMap(receipt("eth_getTransactionReceipt", [hash]), (found) =>
        found === undefined || found.transactionHash === hash.toLowerCase()
          ? Effect.succeed(found)
          : fail(network, "answered the receipt of another transaction")
      ),
    getLogs: (filter, place) =>
      "hash" in place
        ? logs("eth_getLogs", [{ ...filter, blockHash: place.hash }])
        : inRange(filter)(place.fromBlock, place.toBlock),
    maxPriorityFeePerGas: quantity("eth_maxPriorityFeePerGas", [])
  }
}

/**
 * Makes the questions to one node. Nothing is asked yet.
 *
 * @throws Misconfigured when the URL is not one of HTTP.
 */
export const make = (options: EvmJsonRpc.Options): Effect.Effect<Shape, Misconfigured> =>
  Effect.map(EvmJsonRpc.make(options), makeShape)

/** {@link make} as a layer. */
export const layer = (options: EvmJsonRpc.Options): Layer.Layer<EvmRpc, Misconfigured> =>
  Layer.effect(EvmRpc, make(options))
