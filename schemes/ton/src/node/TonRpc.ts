/**
 * The requests that this package sends to a node, in the dialect of toncenter's API (v2), each response read by its shape: the
 * state of accounts (`TonState`), blocks, and transactions, which payers do not need.
 */
import { type Block, type ChainUnavailable, type Misconfigured, Shape } from "@pontage/core"
import type { Cell } from "@ton/core"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import type * as TonAddress from "../primitives/TonAddress.ts"
import * as TonBoc from "../primitives/TonBoc.ts"
import * as TonJsonRpc from "./TonJsonRpc.ts"
import * as TonState from "./TonState.ts"
import * as TonTransaction from "./TonTransaction.ts"

export type { Account, GetResult } from "./TonState.ts"

/** The node's response to a message. */
export type SendResult = { readonly _tag: "Taken" } | { readonly _tag: "Refused"; readonly message: string }

type Response<A> = Effect.Effect<A, ChainUnavailable>

/** The requests. */
export interface TonRpc extends TonState.TonState {
  /** The root hash of the chain's zero state, base64: it identifies the chain. */
  readonly zeroState: Response<string>
  /** The chain's configuration: prices and limits. */
  readonly config: Response<Cell>
  /** The masterchain block of this number; `undefined` where the node does not know it. */
  readonly block: (number: bigint) => Response<Block | undefined>
  /** The masterchain block that was current at this logical time. */
  readonly blockAt: (lt: bigint) => Response<Block | undefined>
  /** An account's transactions from this one backwards, newest first, at least that one, without a gap. */
  readonly transactions: (
    address: TonAddress.Address,
    from: { readonly lt: bigint; readonly hash: string },
    limit: number
  ) => Response<ReadonlyArray<TonTransaction.TonTransaction>>
  /** The transaction that exactly this message caused; `undefined` while there is none. Any other one counts as malformed. */
  readonly result: (
    source: TonAddress.Address,
    destination: TonAddress.Address,
    createdLt: bigint
  ) => Response<TonTransaction.TonTransaction | undefined>
  /** The transaction that sent exactly this message. */
  readonly origin: (
    source: TonAddress.Address,
    destination: TonAddress.Address,
    createdLt: bigint
  ) => Response<TonTransaction.TonTransaction | undefined>
  /** Sends an external message: a bag of cells in base64. */
  readonly send: (boc: string) => Response<SendResult>
}

interface TransactionResponse {
  readonly data: string
  readonly transaction_id: TonState.TransactionId
}

const headResponse = Shape.struct<{ readonly init: { readonly root_hash: string } }>({
  init: Shape.struct<{ readonly root_hash: string }>({ root_hash: TonState.digest })
})
const configResponse = Shape.struct<{ readonly config: { readonly bytes: string } }>({
  config: Shape.struct<{ readonly bytes: string }>({ bytes: Shape.text })
})
const transactionResponse = Shape.struct<TransactionResponse>({
  data: Shape.text,
  transaction_id: TonState.transactionId
})
const transactionsResponse = Shape.list(transactionResponse)

/** The only shard of the masterchain. */
const masterchain = { workchain: -1, shard: "-9223372036854775808" }

/** Reads a transaction from its own bytes, whose hash must be the one that the node names. */
const toTransaction = ({ data, transaction_id: id }: TransactionResponse) => {
  const cell = TonBoc.fromNode(data)
  const read = cell && TonBoc.attempt(() => TonTransaction.read(cell))
  return read?.hash === TonState.toHex(id.hash) && `${read.lt}` === id.lt ? read : undefined
}

const fromRequest = (request: TonJsonRpc.Request, network: string): TonRpc => {
  const { optional, required } = TonState.makeRequests(request, network)
  const config = required(configResponse, ({ config: { bytes } }) => TonBoc.fromNode(bytes))
  const zeroState = required(headResponse, ({ init }) => init.root_hash)
  const block = optional(TonState.blockId, TonState.toBlock)
  const blockOf = (number: bigint) =>
    optional(TonState.blockId, (id) => (BigInt(id.seqno) === number ? TonState.toBlock(id) : undefined))
  const located = (isIt: (transaction: TonTransaction.TonTransaction) => boolean) =>
    optional(transactionResponse, (response) => {
      const read = toTransaction(response)
      return read !== undefined && isIt(read) ? read : undefined
    })
  const history = (address: TonAddress.Address, from: TonTransaction.TonTransaction["previous"]) =>
    required(transactionsResponse, (responses) => {
      const read = responses.map(toTransaction).filter((one) => one !== undefined)
      return read.length === responses.length && TonTransaction.isHistory(read, address, from) ? read : undefined
    })
  return {
    ...TonState.fromRequest(request, network),
    zeroState: zeroState("getMasterchainInfo", {}),
    config: config("getConfigAll", {}),
    block: (number) => blockOf(number)("lookupBlock", { ...masterchain, seqno: Number(number) }),
    blockAt: (lt) => block("lookupBlock", { ...masterchain, lt: `${lt}` }),
    transactions: (address, from, limit) =>
      history(address, from)("getTransactions", {
        address,
        limit,
        lt: `${from.lt}`,
        hash: from.hash,
        archival: false
      }),
    result: (source, destination, createdLt) =>
      located((found) => TonTransaction.isResult(found, source, destination, createdLt))("tryLocateResultTx", {
        source,
        destination,
        created_lt: `${createdLt}`
      }),
    origin: (source, destination, createdLt) =>
      located((found) => TonTransaction.isOrigin(found, source, destination, createdLt))("tryLocateSourceTx", {
        source,
        destination,
        created_lt: `${createdLt}`
      }),
    send: (boc) =>
      Effect.map(request("sendBoc", { boc }), (response): SendResult =>
        Result.isSuccess(response) ? { _tag: "Taken" } : { _tag: "Refused", message: response.failure }
      )
  }
}

/**
 * Makes the requests to one node. It sends nothing yet.
 *
 * @throws Misconfigured when the URL is not an HTTP URL.
 */
export const make = (options: TonJsonRpc.Options): Effect.Effect<TonRpc, Misconfigured> =>
  Effect.map(TonJsonRpc.make(options), (request) => fromRequest(request, options.network))
