/**
 * The chain's facts, read by plain requests to the node: every transfer to our payees with the authorization that moved
 * it, every transaction of our signers, and the transactions in the pool. This module does not know how a facilitator works.
 */
import { permitSettlerAddress } from "@pontage/evm"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import { type ChainRpc, Quantity, toQuantity } from "../world/ChainRpc.ts"

/** A transfer of tokens to a payee. Addresses and hashes are in lower case. */
export interface ChainTransfer {
  readonly transaction: string
  readonly blockHash: string
  readonly blockNumber: bigint
  readonly from: string
  readonly to: string
  readonly value: bigint
  /** The nonce of the authorization (EIP-3009), user operation or Permit2's transfer that moved it; `undefined` for one by its owner. */
  readonly nonce: string | undefined
  /** Sender of the transaction. */
  readonly sender: string
}

/** A transaction of a signer that is in a block. */
export interface SignerTransaction {
  readonly hash: string
  readonly signer: string
  readonly nonce: bigint
  readonly blockNumber: bigint
  readonly reverted: boolean
  /** Wei for a unit of gas. */
  readonly gasPrice: bigint
  /** Wei. */
  readonly cost: bigint
  readonly input: string
}

/** Where a signer stands: the count of its transactions in blocks, and those that wait. */
export interface SignerStanding {
  readonly signer: string
  readonly included: bigint
  /** The nonces of its transactions in the pool. */
  readonly pooled: ReadonlyArray<bigint>
}

/** Everything. */
export interface ChainFacts {
  readonly head: bigint
  readonly transfers: ReadonlyArray<ChainTransfer>
  readonly transactions: ReadonlyArray<SignerTransaction>
  readonly standings: ReadonlyArray<SignerStanding>
}

/** The payees, signers and payers of the trial. */
export interface Parties {
  readonly token: string
  readonly payees: ReadonlyArray<string>
  readonly signers: ReadonlyArray<string>
  /** The first block that is read; default the chain's first. */
  readonly fromBlock?: bigint
}

/** Reads the chain from the first block to its head. */
export const read = Effect.fnUntraced(function* (rpc: ChainRpc, parties: Parties) {
  const head = yield* rpc.ask(Quantity, "eth_blockNumber")
  const first = parties.fromBlock ?? 0n
  const logs = yield* readLogs(rpc, parties, first, head)
  const blocks = yield* readBlocks(rpc, first, head)
  const transactions = new Map(blocks.flatMap((block) => block.transactions.map((one) => [one.hash, one])))
  const facts: ChainFacts = {
    head,
    transfers: transfersOf(logs, parties, transactions),
    transactions: transactionsOf(blocks, parties),
    standings: yield* readStandings(rpc, parties)
  }
  return facts
})

/** An event. */
export const Log = Schema.Struct({
  topics: Schema.Array(Schema.String),
  data: Schema.String,
  blockNumber: Quantity,
  blockHash: Schema.String,
  transactionHash: Schema.String,
  logIndex: Quantity
})
const Transaction = Schema.Struct({
  hash: Schema.String,
  from: Schema.String,
  to: Schema.NullOr(Schema.String),
  nonce: Quantity,
  input: Schema.String
})
const Block = Schema.Struct({ number: Quantity, transactions: Schema.Array(Transaction) })
const Receipt = Schema.Struct({
  transactionHash: Schema.String,
  status: Schema.Literals(["0x0", "0x1"]),
  gasUsed: Quantity,
  effectiveGasPrice: Quantity
})
const Receipts = Schema.Array(Receipt)
const Pool = Schema.Struct({ nonce: Quantity })
const Pooled = Schema.Record(Schema.String, Schema.Record(Schema.String, Pool))
const PoolContent = Schema.Struct({ pending: Pooled, queued: Pooled })

export type Log = typeof Log.Type
type Transaction = typeof Transaction.Type
interface FullBlock extends Schema.Schema.Type<typeof Block> {
  readonly receipts: typeof Receipts.Type
}

/** `Transfer(address indexed from, address indexed to, uint256 value)`. */
export const transferTopic = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
const entryPoint = "0x4337084d9e255ff0702461cf8895ce9e3b5ff108"
const operationTopic = "0x49628fd1471006c1482da88028e9ce4dbb080b815c9b0344d39e5a8e6ec1419f"
/** The proxy of x402 that submits transfers by Permit2, and its call of one transfer. */
const permitProxy = "0x402085c248eea27d92e8b30b2c58ed07f9e20001"
const settleSelector = "0x13cd3b53"
/** `Submitted(address,uint256)` of the contract that settles several. */
const submittedTopic = "0x1439dff93e9e1f47823f730d1ac6d0e67fd98a81c2dc5e02d6b0f7d9af4edc8a"
/** `AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)`. */
export const usedTopic = "0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5"

/** Blocks in one request. */
const stride = 256n

const readLogs = (rpc: ChainRpc, { token }: Parties, first: bigint, head: bigint) =>
  logsOf(
    rpc,
    {
      address: [token, entryPoint, permitSettlerAddress.toLowerCase()],
      topics: [[transferTopic, usedTopic, operationTopic, submittedTopic]]
    },
    first,
    head
  )

/** The events of these contracts from the first block to the last. */
export const logsOf = Effect.fnUntraced(function* (
  rpc: ChainRpc,
  filter: { readonly address: ReadonlyArray<string>; readonly topics: ReadonlyArray<ReadonlyArray<string>> },
  first: bigint,
  last: bigint
) {
  const found: Array<Log> = []
  for (let from = first; from <= last; from += stride) {
    const to = from + stride - 1n < last ? from + stride - 1n : last
    const range = { ...filter, fromBlock: toQuantity(from), toBlock: toQuantity(to) }
    found.push(...(yield* rpc.ask(Schema.Array(Log), "eth_getLogs", [range])))
  }
  return found
})

const readBlocks = (rpc: ChainRpc, first: bigint, head: bigint) =>
  Effect.forEach(
    Array.from({ length: Number(head - first) + 1 }, (_, index) => first + BigInt(index)),
    Effect.fnUntraced(function* (number) {
      const block = yield* rpc.ask(Block, "eth_getBlockByNumber", [toQuantity(number), true])
      const empty = block.transactions.length === 0
      const receipts = empty ? [] : yield* rpc.ask(Receipts, "eth_getBlockReceipts", [toQuantity(number)])
      return { ...block, receipts } satisfies FullBlock
    }),
    { concurrency: 8 }
  )

/** The address in a topic, in lower case. */
export const addressOf = (topic: string | undefined): string => `0x${(topic ?? "").slice(-40).toLowerCase()}`

/** The nonce of the user operation whose end is logged right behind the transfer that its sender made. */
const operationNonce = (transfer: Log, next: Log | undefined): string | undefined => {
  if (next?.topics[0] !== operationTopic || next.transactionHash !== transfer.transactionHash) return undefined
  const sender = addressOf(next.topics[2])
  if (sender !== addressOf(transfer.topics[1])) return undefined
  return `userop:${entryPoint}:${sender}:${BigInt(next.data.slice(0, 66))}`
}

/** The nonce of Permit2's transfer: by the event behind it, or by the call of the proxy, whose third word it is. */
const permitNonce = (transfer: Log, next: Log | undefined, by: Transaction | undefined): string | undefined => {
  const owner = addressOf(transfer.topics[1])
  if (next?.topics[0] === submittedTopic && next.transactionHash === transfer.transactionHash)
    return addressOf(next.topics[1]) === owner ? `permit2:${owner}:${BigInt(next.topics[2] ?? "0x0")}` : undefined
  if (by?.to?.toLowerCase() !== permitProxy || !by.input.startsWith(settleSelector)) return undefined
  return `permit2:${owner}:${BigInt(`0x${by.input.slice(10 + 128, 10 + 192)}`)}`
}

/** The token tells of an authorization's use right before the transfer that it made, in the same transaction. */
const transfersOf = (
  logs: ReadonlyArray<Log>,
  { payees }: Parties,
  transactions: ReadonlyMap<string, Transaction>
): ReadonlyArray<ChainTransfer> => {
  const ours = new Set(payees.map((payee) => payee.toLowerCase()))
  return logs.flatMap((log, index) => {
    const [topic, from, to] = log.topics
    if (topic !== transferTopic || !ours.has(addressOf(to))) return []
    const before = logs[index - 1]
    const next = logs[index + 1]
    const by = transactions.get(log.transactionHash)
    const used = before?.transactionHash === log.transactionHash && before.topics[0] === usedTopic
    const byAuthorization = used && addressOf(before.topics[1]) === addressOf(from)
    return {
      transaction: log.transactionHash.toLowerCase(),
      blockHash: log.blockHash.toLowerCase(),
      blockNumber: log.blockNumber,
      from: addressOf(from),
      to: addressOf(to),
      value: BigInt(log.data),
      nonce: byAuthorization
        ? before.topics[2]?.toLowerCase()
        : (operationNonce(log, next) ?? permitNonce(log, next, by)),
      sender: (by?.from ?? "").toLowerCase()
    }
  })
}

const transactionsOf = (blocks: ReadonlyArray<FullBlock>, { signers }: Parties): ReadonlyArray<SignerTransaction> => {
  const ours = new Set(signers.map((signer) => signer.toLowerCase()))
  return blocks.flatMap(({ number, receipts, transactions }) =>
    transactions.flatMap(({ from, hash, input, nonce }) => {
      const receipt = receipts.find(({ transactionHash }) => transactionHash === hash)
      if (receipt === undefined || !ours.has(from.toLowerCase())) return []
      return {
        hash: hash.toLowerCase(),
        signer: from.toLowerCase(),
        nonce,
        blockNumber: number,
        reverted: receipt.status === "0x0",
        gasPrice: receipt.effectiveGasPrice,
        cost: receipt.effectiveGasPrice * receipt.gasUsed,
        input: input.toLowerCase()
      }
    })
  )
}

const readStandings = Effect.fnUntraced(function* (rpc: ChainRpc, { signers }: Parties) {
  const { pending, queued } = yield* rpc.ask(PoolContent, "txpool_content")
  const waiting = [...Object.entries(pending), ...Object.entries(queued)]
  return yield* Effect.forEach(signers, (signer) =>
    Effect.map(rpc.ask(Quantity, "eth_getTransactionCount", [signer, "latest"]), (included): SignerStanding => ({
      signer: signer.toLowerCase(),
      included,
      pooled: waiting
        .filter(([address]) => address.toLowerCase() === signer.toLowerCase())
        .flatMap(([, transactions]) => Object.values(transactions).map(({ nonce }) => nonce))
    }))
  )
})
